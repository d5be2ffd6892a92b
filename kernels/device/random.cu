// Random numbers; random.go defines them.
#include "math.cuh"

struct Draw {
	void *y;
	const void *x;        // of dropout
	const uint64_t *base; // added to stream, unless null
	uint64_t seed, stream;
	double a, b;
	int64_t index, n; // the index of the first element, and the number of elements
	Grid g;           // of y, x, and row-major indices
};

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

// The random word of element i, and the two words of its pair.
struct Drawn {
	uint32_t own, first, second;
	bool odd;
};
FN Drawn drawn(const Draw &a, uint64_t i) {
	Words w = philox(a.seed, a.base ? a.stream + *a.base : a.stream, i / 4);
	bool upper = i & 2, odd = i & 1;
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
	REAL v = quarter & 1 ? -SIN(angle) : COS(angle);
	return quarter & 2 ? -v : v;
}

template <class REAL> FN REAL normal_of(const Draw &a, Drawn w, REAL) {
	REAL radius = SQRT(-2 * LOG((REAL)5.9604644775390625e-08 * (REAL)(int32_t)((w.first >> 8) + 1)));
	return (REAL)a.a + (REAL)a.b * (radius * wave<REAL>(w.second >> 8, w.odd));
}

template <class REAL> FN REAL dropout_of(const Draw &a, Drawn w, REAL x) { return (w.own >> 8) < (uint32_t)a.a ? 0 : x * (REAL)a.b; }

#define DRAW(name) \
	template <class T> FN void name(const Draw &a) { \
		EACH(i, (uint32_t)a.n) { \
			Places<3> p = places<3>(a.g, i); \
			Calc<T> x = a.x ? get<T>(a.x, p.at[1]) : 0; \
			put<T>(a.y, p.at[0], name##_of<Calc<T>>(a, drawn(a, (uint64_t)(a.index + p.at[2])), x)); \
		} \
	} \
	FLOATS(name, Draw)
DRAW(uniform)
DRAW(normal)
DRAW(dropout)
#undef DRAW
