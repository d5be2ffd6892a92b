// Losses. Each row or block writes a partial sum; the last block to finish adds them in a fixed order.
#include "last_block.cuh"
#include "fault.cuh"
#include "math.cuh"

struct Labelled {
	const void *x, *labels;
	void *loss, *dx;
	int64_t *correct; // counts the rows whose maximum is at their label; may be null
	double *part;  // losses of the rows, if there are any, then whether each is correct
	Fault *fault;
	uint32_t *counter;
	int64_t rows, cols, row, col, dx_row, dx_col, step, size, sign;
};

FN int64_t label(const Labelled &a, int64_t i) {
	int64_t at = i * a.step;
	switch (a.size) {
	case 1: return a.sign ? (int64_t)((const int8_t *)a.labels)[at] : (int64_t)((const uint8_t *)a.labels)[at];
	case 2: return a.sign ? (int64_t)((const int16_t *)a.labels)[at] : (int64_t)((const uint16_t *)a.labels)[at];
	case 4: return a.sign ? (int64_t)((const int32_t *)a.labels)[at] : (int64_t)((const uint32_t *)a.labels)[at];
	}
	return ((const int64_t *)a.labels)[at]; // a uint64_t too large for int64_t becomes negative
}
FN bool wrong(const Labelled &a, int64_t label) { return label < 0 || label >= a.cols; }

template <class T> struct Row {
	const void *p;
	int64_t at, step;
	__device__ __forceinline__ Calc<T> operator[](int64_t j) const { return get<T>(p, at + j * step); }
};

// Goes through the rows with a warp for each.
#define ROWS(i) for (int64_t lane = threadIdx.x % 32, i = (blockIdx.x * blockDim.x + threadIdx.x) / 32; i < a.rows; i += gridDim.x * blockDim.x / 32)

// 1 if the first maximum of a row, or its first NaN, is at its label, else 0; NaN if the label is not a class.
template <class T> FN double hit(const Labelled &a, Row<T> x, Calc<T> top, int64_t lane, int64_t label) {
	int64_t at = a.cols;
	for (int64_t j = lane; j < a.cols; j += 32) {
		Calc<T> v = x[j];
		if (j < at && (v == top || (top != top && v != v)))
			at = j;
	}
	at = together<32>(at, Smaller());
	return wrong(a, label) ? not_a_number() : at == label;
}

// The sum over all rows, by one block. The first row whose label is not a class, marked by NaN, is
// reported as a fault.
FN double rows_together(const Labelled &a, const double *part) {
	double sum = 0;
	int64_t first = a.rows;
	for (int64_t i = threadIdx.x; i < a.rows; i += 256) {
		double x = part[i];
		sum += x;
		if (x != x && i < first && wrong(a, label(a, i)))
			first = i;
	}
	sum = together<256>(sum, Plus());
	first = together<256>(first, Smaller());
	if (threadIdx.x == 0 && first < a.rows)
		refuse(a.fault, {first, label(a, first), a.cols});
	return sum;
}
FN void count_hits(const Labelled &a, const double *part) {
	double sum = rows_together(a, part);
	if (threadIdx.x == 0)
		*a.correct = (int64_t)sum;
}

template <class T> FN void cross_entropy(const Labelled &a) {
	ROWS(i) {
		Row<T> x = {a.x, i * a.row, a.col};
		int64_t l = label(a, i);
		Calc<T> top = -(Calc<T>)infinity(), sum = 0;
		for (int64_t j = lane; j < a.cols; j += 32)
			top = Larger()(top, x[j]);
		top = together<32>(top, Larger());
		for (int64_t j = lane; j < a.cols; j += 32)
			sum += EXP(x[j] - top);
		sum = together<32>(sum, Plus());
		if (a.dx) {
			for (int64_t j = lane; j < a.cols; j += 32)
				put<T>(a.dx, i * a.dx_row + j * a.dx_col, (EXP(x[j] - top) / sum - (j == l ? 1 : 0)) / (Calc<T>)a.rows);
		}
		double at = a.correct ? hit(a, x, top, lane, l) : 0;
		if (lane != 0)
			continue;
		a.part[i] = wrong(a, l) ? not_a_number() : -((double)(x[l] - top) - (double)LOG(sum));
		if (a.correct)
			a.part[a.rows + i] = at;
	}
	if (!is_last_block(gridDim.x, a.counter))
		return;
	double sum = rows_together(a, a.part);
	if (threadIdx.x == 0)
		put<T>(a.loss, 0, sum / (double)a.rows);
	if (a.correct)
		count_hits(a, a.part + a.rows);
}
FLOATS(cross_entropy, Labelled)

template <class T> FN void correct(const Labelled &a) {
	ROWS(i) {
		Row<T> x = {a.x, i * a.row, a.col};
		Calc<T> top = -(Calc<T>)infinity();
		for (int64_t j = lane; j < a.cols; j += 32)
			top = Larger()(top, x[j]);
		double at = hit(a, x, together<32>(top, Larger()), lane, label(a, i));
		if (lane == 0)
			a.part[i] = at;
	}
	if (is_last_block(gridDim.x, a.counter))
		count_hits(a, a.part);
}
FLOATS(correct, Labelled)

struct LabelMask {
	Labelled in; // labels, rows, cols and fault
	void *y;
	int64_t y_step, ignore, ignores;
};

// Sets y to 1 for labels that are classes and to 0 for the label to ignore. The thread of the first invalid label reports it.
template <class T> FN void label_mask(const LabelMask &a) {
	auto bad = [&](int64_t l) { return wrong(a.in, l) && !(a.ignores && l == a.ignore); };
	for (int64_t i = (int64_t)blockIdx.x * 256 + threadIdx.x; i < a.in.rows; i += (int64_t)gridDim.x * 256) {
		int64_t l = label(a.in, i), first = i;
		put<T>(a.y, i * a.y_step, a.ignores && l == a.ignore ? 0.f : 1.f);
		if (!bad(l))
			continue;
		for (int64_t k = 0; k < first; k++) {
			if (bad(label(a.in, k)))
				first = k;
		}
		if (first == i)
			refuse(a.in.fault, {i, l, a.in.cols});
	}
}
FLOATS(label_mask, LabelMask)

struct SquaredError {
	const void *x, *y;
	void *dx, *loss;
	double *part; // a partial sum for each block
	uint32_t *counter;
	int64_t n;
	double all; // number of elements
	Grid g;     // of x, y, dx
};

template <class T> FN void squared_error(const SquaredError &a) {
	double sum = 0;
	for (uint64_t i = blockIdx.x * 256 + threadIdx.x; i < (uint64_t)a.n; i += gridDim.x * 256) {
		Places<3> p = places<3>(a.g, i);
		Calc<T> d = get<T>(a.x, p.at[0]) - get<T>(a.y, p.at[1]);
		sum += (double)d * (double)d;
		if (a.dx)
			put<T>(a.dx, p.at[2], 2 * d / (Calc<T>)a.all);
	}
	sum = together<256>(sum, Plus());
	if (threadIdx.x == 0)
		a.part[blockIdx.x] = sum;
	if (!is_last_block(gridDim.x, a.counter))
		return;
	sum = 0;
	for (uint32_t i = threadIdx.x; i < gridDim.x; i += 256)
		sum += a.part[i];
	sum = together<256>(sum, Plus());
	if (threadIdx.x == 0)
		put<T>(a.loss, 0, sum / a.all);
}
FLOATS(squared_error, SquaredError)
