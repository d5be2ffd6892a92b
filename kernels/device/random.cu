// Random numbers; random.go defines them.
#include "math.cuh"

struct Draw {
	void *y;
	const void *x;        // of dropout
	const uint64_t *base; // added to stream, unless null
	uint64_t seed, stream;
	double a, b;
	int64_t index, n; // the index of the first element, and the number of units
	int64_t fours, step[2], wide; // whether units are four elements of one block of random words, step apart in y
	                              // and x; bits 0 and 1 of wide: adjacent and aligned there
	Grid g;                       // of the units of y, x, and row-major indices
};

// Philox4x32-10 (Salmon et al., SC11, doi:10.1145/2063384.2063405).
struct Words {
	uint32_t w[4];
};
FN Words philox(uint64_t seed, uint64_t stream, uint64_t index) {
	uint32_t a = (uint32_t)index, b = (uint32_t)(index >> 32), c = (uint32_t)stream, d = (uint32_t)(stream >> 32);
	uint32_t k0 = (uint32_t)seed, k1 = (uint32_t)(seed >> 32);
	UNROLL for (int round = 0; round < 10; round++) {
		uint64_t p = (uint64_t)0xD2511F53u * a, q = (uint64_t)0xCD9E8D57u * c;
		a = (uint32_t)(q >> 32) ^ b ^ k0, b = (uint32_t)q;
		c = (uint32_t)(p >> 32) ^ d ^ k1, d = (uint32_t)p;
		k0 += 0x9E3779B9u, k1 += 0xBB67AE85u;
	}
	return {{a, b, c, d}};
}

FN Words words(const Draw &a, uint64_t i) { return philox(a.seed, a.base ? a.stream + *a.base : a.stream, i / 4); }

// A random word, and the two words of its pair.
struct Drawn {
	uint32_t own, first, second;
	bool odd;
};
FN Drawn drawn(Words w, uint32_t k) {
	bool upper = k & 2, odd = k & 1;
	uint32_t first = upper ? w.w[2] : w.w[0], second = upper ? w.w[3] : w.w[1];
	return {odd ? second : first, first, second, odd};
}

template <class REAL> FN REAL uniform_of(const Draw &a, Drawn w, REAL) {
	REAL lo = (REAL)a.a, hi = (REAL)a.b;
	return lo + (hi - lo) * ((REAL)5.9604644775390625e-08 * (REAL)(int32_t)(w.own >> 8));
}

// cos φ, or sin φ for the second of a pair, for φ in units of 2⁻²⁴ turns. The nearest multiple of a quarter
// turn is subtracted exactly.
template <class REAL> FN REAL wave(uint32_t turn, bool sine) {
	uint32_t quarter = (turn + (1u << 21)) >> 22;
	REAL angle = (REAL)(int32_t)(turn - (quarter << 22)) * (REAL)(6.283185307179586 / (1 << 24));
	if (sine)
		quarter += 3; // sin φ = cos(φ - ¼ turn)
	REAL v = quarter & 1 ? -sin_near(angle) : cos_near(angle);
	return quarter & 2 ? -v : v;
}

template <class REAL> FN REAL normal_of(const Draw &a, Drawn w, REAL) {
	REAL radius = SQRT(-2 * LOG((REAL)5.9604644775390625e-08 * (REAL)(int32_t)((w.first >> 8) + 1)));
	return (REAL)a.a + (REAL)a.b * (radius * wave<REAL>(w.second >> 8, w.odd));
}

template <class REAL> FN REAL dropout_of(const Draw &a, Drawn w, REAL x) { return (w.own >> 8) < (uint32_t)a.a ? 0 : x * (REAL)a.b; }

// Four elements from x[at] on: adjacent and aligned if wide, else step apart.
template <class T> FN Pack<T, 4> four(const void *x, int64_t at, int64_t step, bool wide) {
	const T *from = (const T *)x + at;
	if (wide)
		return row_of<4>(from);
	return {{from[0], from[step], from[2 * step], from[3 * step]}};
}
template <class T> FN void set_four(void *y, int64_t at, int64_t step, bool wide, Pack<Calc<T>, 4> v) {
	T *to = (T *)y + at;
	if (wide)
		lay(to, v);
	else
		UNROLL for (int k = 0; k < 4; k++) to[k * step] = (T)v.at[k];
}

// Sets y to f(random words, x). A unit of four elements computes their words once.
template <class T, class F> FN void draw(const Draw &a, F f) {
	EACH(i, (uint32_t)a.n) {
		Places<3> p = places<3>(a.g, i);
		uint64_t index = (uint64_t)(a.index + p.at[2]);
		Words w = words(a, index);
		if (a.fours) {
			Pack<T, 4> x;
			UNROLL for (int k = 0; k < 4; k++) x.at[k] = (T)(Calc<T>)0;
			if (a.x)
				x = four<T>(a.x, p.at[1], a.step[1], a.wide & 2);
			Pack<Calc<T>, 4> y;
			UNROLL for (uint32_t k = 0; k < 4; k++) y.at[k] = f(drawn(w, k), (Calc<T>)x.at[k]);
			set_four<T>(a.y, p.at[0], a.step[0], a.wide & 1, y);
		} else {
			put<T>(a.y, p.at[0], f(drawn(w, (uint32_t)index), a.x ? get<T>(a.x, p.at[1]) : 0));
		}
	}
}

#define DRAW(name) \
	template <class T> FN void name(const Draw &a) { \
		draw<T>(a, [&](Drawn w, Calc<T> x) { return name##_of<Calc<T>>(a, w, x); }); \
	} \
	FLOATS(name, Draw)
DRAW(uniform)
DRAW(normal)
DRAW(dropout)
#undef DRAW
