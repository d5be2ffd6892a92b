// Functions of float and double, with the names that ops.h uses. They give the same bits on GPUs and in the interpreter,
// and differ from the C library's in the last bit or two at most.
#pragma once
#include "types.cuh"

FN float SQRT(float x) {
	float r;
	asm("sqrt.rn.f32 %0, %1;" : "=f"(r) : "f"(x));
	return r;
}
FN double SQRT(double x) {
	double r;
	asm("sqrt.rn.f64 %0, %1;" : "=d"(r) : "d"(x));
	return r;
}
FN float FABS(float x) { return real(bits(x) & 0x7fffffffu); }
FN double FABS(double x) { return real(bits(x) & 0x7fffffffffffffffull); }
FN float COPYSIGN(float x, float y) { return real((bits(x) & 0x7fffffffu) | (bits(y) & 0x80000000u)); }
FN double COPYSIGN(double x, double y) { return real((bits(x) & 0x7fffffffffffffffull) | (bits(y) & 0x8000000000000000ull)); }
FN float nearest(float x) {
	float r;
	asm("cvt.rni.f32.f32 %0, %1;" : "=f"(r) : "f"(x));
	return r;
}
FN double nearest(double x) {
	double r;
	asm("cvt.rni.f64.f64 %0, %1;" : "=d"(r) : "d"(x));
	return r;
}

// x·2ᵏ, in two steps, because 2ᵏ alone may overflow or underflow.
FN float scaled(float x, int k) {
	int half = k >> 1;
	return x * real((uint32_t)(half + 127) << 23) * real((uint32_t)(k - half + 127) << 23);
}
FN double scaled(double x, int k) {
	int half = k >> 1;
	return x * real((uint64_t)(half + 1023) << 52) * real((uint64_t)(k - half + 1023) << 52);
}

// eˣ: with x = k·ln 2 + r, eʳ by a polynomial (Cephes' expf).
FN float EXP(float x) {
	if (x != x)
		return x;
	if (x > 88.72283f)
		return real(0x7f800000u);
	if (x < -103.97f)
		return 0;
	float k = nearest(x * 1.44269504f), r = fma(k, 2.12194440e-4f, fma(k, -0.693359375f, x));
	float p = fma(fma(fma(fma(fma(1.98756915e-4f, r, 1.39819995e-3f), r, 8.33345191e-3f), r, 4.16657959e-2f), r, 1.66666655e-1f), r, 5.00000012e-1f);
	return scaled(fma(p, r * r, r) + 1, (int)k);
}
// With the rational function of FreeBSD's e_exp.c.
FN double EXP(double x) {
	if (x != x)
		return x;
	if (x > 709.782712893383973096)
		return real(0x7ff0000000000000ull);
	if (x < -745.133219101941108420)
		return 0;
	double k = nearest(x * 1.44269504088896338700), hi = x - k * 6.93147180369123816490e-01, lo = k * 1.90821492927058770002e-10;
	double r = hi - lo, t = r * r;
	double c = r - t * (1.66666666666666657415e-01 + t * (-2.77777777770155933842e-03 + t * (6.61375632143793436117e-05 + t * (-1.65339022054652515390e-06 + t * 4.13813679705723846039e-08))));
	return scaled(1 - ((lo - (r * c) / (2 - c)) - hi), (int)k);
}

// ln x: with x = m·2ᵏ and m in [√½, √2), ln m by a polynomial (Cephes' logf).
FN float LOG(float x) {
	if (x != x || x < 0)
		return real(0x7fc00000u);
	if (x == 0)
		return real(0xff800000u);
	if (bits(x) == 0x7f800000u)
		return x;
	int k = 0;
	if (x < 1.17549435e-38f)
		x *= 8388608, k = -23;
	uint32_t b = bits(x);
	k += (int)(b >> 23) - 126;
	float m = real((b & 0x7fffffu) | 0x3f000000u);
	if (m < 0.707106781f)
		m += m, k--;
	float f = m - 1, z = f * f, e = (float)k;
	float p = fma(fma(fma(fma(7.0376836292e-2f, f, -1.1514610310e-1f), f, 1.1676998740e-1f), f, -1.2420140846e-1f), f, 1.4249322787e-1f);
	p = fma(fma(fma(fma(p, f, -1.6668057665e-1f), f, 2.0000714765e-1f), f, -2.4999993993e-1f), f, 3.3333331174e-1f);
	float y = fma(-2.12194440e-4f, e, f * z * p);
	return fma(0.693359375f, e, f + fma(-0.5f, z, y));
}
// With the polynomial of FreeBSD's e_log.c.
FN double LOG(double x) {
	if (x != x || x < 0)
		return real(0x7ff8000000000000ull);
	if (x == 0)
		return real(0xfff0000000000000ull);
	if (bits(x) == 0x7ff0000000000000ull)
		return x;
	int k = 0;
	if (x < 2.2250738585072014e-308)
		x *= 4503599627370496., k = -52;
	uint64_t b = bits(x);
	k += (int)(b >> 52) - 1022;
	double m = real((b & 0xfffffffffffffull) | 0x3fe0000000000000ull);
	if (m < 0.70710678118654752440)
		m += m, k--;
	double f = m - 1, e = k, s = f / (2 + f), z = s * s, w = z * z;
	double t1 = z * (6.666666666666735130e-01 + w * (2.857142874366239149e-01 + w * (1.818357216161805012e-01 + w * 1.479819860511658591e-01)));
	double t2 = w * (3.999999999940941908e-01 + w * (2.222219843214978396e-01 + w * 1.531383769920937332e-01));
	double h = 0.5 * f * f;
	return e * 6.93147180369123816490e-01 - ((h - (s * (h + t1 + t2) + e * 1.90821492927058770002e-10)) - f);
}

// tanh x (Cephes).
FN float TANH(float x) {
	float a = FABS(x), s = x * x;
	if (a >= 0.625f) {
		float r = a > 44 ? 1 : 1 - 2 / (EXP(a + a) + 1);
		return x < 0 ? -r : r;
	}
	float p = fma(fma(fma(fma(-5.70498872745e-3f, s, 2.06390887954e-2f), s, -5.37397155531e-2f), s, 1.33314422036e-1f), s, -3.33332819422e-1f);
	return fma(p * s, x, x);
}
FN double TANH(double x) {
	double a = FABS(x), s = x * x;
	if (a >= 0.625) {
		double r = a > 44.014845965556527 ? 1 : 1 - 2 / (EXP(a + a) + 1);
		return x < 0 ? -r : r;
	}
	double p = (-9.64399179425052238628e-1 * s - 9.92877231001918586564e1) * s - 1.61468768441708447952e3;
	double q = ((s + 1.12811678491632931402e2) * s + 2.23548839060100448583e3) * s + 4.84406305325125486048e3;
	return x + x * s * p / q;
}

// cos and sin of x in [-π/4, π/4] (Cephes).
FN float cos_near(float x) {
	float z = x * x;
	return fma(fma(fma(2.443315711809948e-5f, z, -1.388731625493765e-3f), z, 4.166664568298827e-2f), z * z, fma(-0.5f, z, 1.f));
}
FN float sin_near(float x) {
	float z = x * x;
	return fma(fma(fma(-1.9515295891e-4f, z, 8.3321608736e-3f), z, -1.6666654611e-1f), z * x, x);
}
FN double cos_near(double x) {
	double z = x * x;
	double p = ((((-1.13585365213876817300e-11 * z + 2.08757008419747316778e-9) * z - 2.75573141792967388112e-7) * z + 2.48015872888517045348e-5) * z - 1.38888888888730564116e-3) * z + 4.16666666666665929218e-2;
	return 1 - 0.5 * z + z * z * p;
}
FN double sin_near(double x) {
	double z = x * x;
	double p = ((((1.58962301576546568060e-10 * z - 2.50507477628578072866e-8) * z + 2.75573136213857245213e-6) * z - 1.98412698295895385996e-4) * z + 8.33333333332211858878e-3) * z - 1.66666666666666307295e-1;
	return x + x * z * p;
}

// The error function. With polynomials for float, and as FreeBSD's s_erf.c for double.
FN float ERF(float x) {
	float a = FABS(x), s = x * x;
	if (!(a > 0.927734375f)) {
		float p = fma(fma(fma(fma(fma(-5.96761703e-4f, s, 4.99119423e-3f), s, -2.67681349e-2f), s, 1.12819925e-1f), s, -3.76125336e-1f), s, 1.28379166e-1f);
		return fma(p, x, x);
	}
	float p = fma(fma(-1.72853470e-5f, a, 3.83197126e-4f), s, fma(-3.88396438e-3f, a, 2.42546219e-2f));
	p = fma(fma(fma(fma(p, a, -1.06777877e-1f), a, -6.34846687e-1f), a, -1.28717512e-1f), a, -a);
	float r = 1 - EXP(p);
	return x < 0 ? -r : r;
}
// 1 − erf a for a from 1.25 on.
FN double erf_tail(double a) {
	if (a > 27.3)
		return 0;
	double s = 1 / (a * a), r, q;
	if (a < 1 / 0.35) {
		r = (-9.86494403484714822705e-03 + s * (-6.93858572707181764372e-01 + s * (-1.05586262253232909814e+01 + s * (-6.23753324503260060396e+01 + s * (-1.62396669462573470355e+02 + s * (-1.84605092906711035994e+02 + s * (-8.12874355063065934246e+01 + s * -9.81432934416914548592e+00)))))));
		q = 1 + s * (1.96512716674392571292e+01 + s * (1.37657754143519042600e+02 + s * (4.34565877475229228821e+02 + s * (6.45387271733267880336e+02 + s * (4.29008140027567833386e+02 + s * (1.08635005541779435134e+02 + s * (6.57024977031928170135e+00 + s * -6.04244152148580987438e-02)))))));
	} else {
		r = (-9.86494292470009928597e-03 + s * (-7.99283237680523006574e-01 + s * (-1.77579549177547519889e+01 + s * (-1.60636384855821916062e+02 + s * (-6.37566443368389627722e+02 + s * (-1.02509513161107724954e+03 + s * -4.83519191608651397019e+02))))));
		q = 1 + s * (3.03380607434824582924e+01 + s * (3.25792512996573918826e+02 + s * (1.53672958608443695994e+03 + s * (3.19985821950859553908e+03 + s * (2.55305040643316442583e+03 + s * (4.74528541206955367215e+02 + s * -2.24409524465858183362e+01))))));
	}
	double z = real(bits(a) & 0xffffffff00000000ull);
	return EXP(-z * z - 0.5625) * EXP((z - a) * (z + a) + r / q) / a;
}
FN double erf_near(double x) { // of |x| < 1.25
	if (!(FABS(x) < 0.84375)) {
		double s = FABS(x) - 1;
		return COPYSIGN(8.45062911510467529297e-01 + (-2.36211856075265944077e-03 + s * (4.14856118683748331666e-01 + s * (-3.72207876035701323847e-01 + s * (3.18346619901161753674e-01 + s * (-1.10894694282396677476e-01 + s * (3.54783043256182359371e-02 + s * -2.16637559486879084300e-03)))))) / (1 + s * (1.06420880400844228286e-01 + s * (5.40397917702171048937e-01 + s * (7.18286544141962662868e-02 + s * (1.26171219808761642112e-01 + s * (1.36370839120290507362e-02 + s * 1.19844998467991074170e-02)))))), x);
	}
	double z = x * x;
	return x + x * ((1.28379167095512558561e-01 + z * (-3.25042107247001499370e-01 + z * (-2.84817495755985104766e-02 + z * (-5.77027029648944159157e-03 + z * -2.37630166566501626084e-05)))) / (1 + z * (3.97917223959155352819e-01 + z * (6.50222499887672944485e-02 + z * (5.08130628187576562776e-03 + z * (1.32494738004321644526e-04 + z * -3.96022827877536812320e-06))))));
}
FN double ERF(double x) { return FABS(x) >= 1.25 ? COPYSIGN(1 - erf_tail(FABS(x)), x) : erf_near(x); }
FN double ERFC(double x) {
	if (FABS(x) >= 1.25) {
		double tail = erf_tail(FABS(x));
		return x < 0 ? 2 - tail : tail;
	}
	double y = erf_near(x);
	return x < 0.5 ? 1 - y : x < 0.84375 ? 0.5 - (y - 0.5) : 1 - 8.45062911510467529297e-01 - (y - 8.45062911510467529297e-01);
}

// The other functions of float are those of double, rounded.
#define ROUNDED(name) \
	FN float name(float x) { return (float)name((double)x); }
#define ROUNDED2(name) \
	FN float name(float x, float y) { return (float)name((double)x, (double)y); }
ROUNDED(ERFC)

#define INTEGRAL(name, mode) \
	FN float name(float x) { \
		float r; \
		asm("cvt." mode ".f32.f32 %0, %1;" : "=f"(r) : "f"(x)); \
		return r; \
	} \
	FN double name(double x) { \
		double r; \
		asm("cvt." mode ".f64.f64 %0, %1;" : "=d"(r) : "d"(x)); \
		return r; \
	}
INTEGRAL(RINT, "rni")
INTEGRAL(FLOOR, "rmi")
INTEGRAL(CEIL, "rpi")
INTEGRAL(TRUNC, "rzi")

FN double EXP2(double x) {
	if (x != x || x > 1024 || x < -1080)
		return x < 0 ? 0 : x > 0 ? real(0x7ff0000000000000ull) : x;
	double k = nearest(x);
	return scaled(EXP((x - k) * 6.93147180559945309417e-01), (int)k);
}
ROUNDED(EXP2)
// 2t/(1 − t) with t = tanh(x/2) loses no digits near 0.
FN double EXPM1(double x) {
	if (FABS(x) >= 1)
		return EXP(x) - 1;
	double t = TANH(0.5 * x);
	return 2 * t / (1 - t);
}
ROUNDED(EXPM1)
// The rounding error of w = 1 + x is in both factors of x·ln(w)/(w − 1) (Goldberg, doi:10.1145/103162.103163, theorem 4).
FN double LOG1P(double x) {
	double w = 1 + x;
	return w == 1 || w == real(0x7ff0000000000000ull) ? x : LOG(w) * (x / (w - 1));
}
ROUNDED(LOG1P)
FN double LOG2(double x) {
	uint64_t b = bits(x);
	if (!(b & 0xfffffffffffffull) && b > 0 && b < 0x7ff0000000000000ull) // a power of 2
		return (double)((int)(b >> 52) - 1023);
	return LOG(x) * 1.44269504088896340736;
}
ROUNDED(LOG2)
FN double LOG10(double x) { return LOG(x) * 4.34294481903251816668e-01; }
ROUNDED(LOG10)

// 64 bits of 4/π·2⁻⁶⁴ from 64·i on.
FN uint64_t four_over_pi(int i) {
	switch (i) {
	case 0: return 0x0000000000000001ull;
	case 1: return 0x45f306dc9c882a53ull;
	case 2: return 0xf84eafa3ea69bb81ull;
	case 3: return 0xb6c52b3278872083ull;
	case 4: return 0xfca2c757bd778ac3ull;
	case 5: return 0x6e48dc74849ba5c0ull;
	case 6: return 0x0c925dd413a32439ull;
	case 7: return 0xfc3bd63962534e7dull;
	case 8: return 0xd1046bea5d768909ull;
	case 9: return 0xd338e04d68befc82ull;
	case 10: return 0x7323ac7306a673e9ull;
	case 11: return 0x3908bf177bf25076ull;
	case 12: return 0x3ff12fffbc0b301full;
	case 13: return 0xde5e2316b414da3eull;
	case 14: return 0xda6cfd9e4f96136eull;
	case 15: return 0x9e8c7ecd3cbfd45aull;
	case 16: return 0xea4f758fd7cbe2f6ull;
	case 17: return 0x7a0e73ef14a525d4ull;
	case 18: return 0xd7f6bf623f1aba10ull;
	default: return 0xac06608df8f6d757ull;
	}
}

// x as quadrant·π/2 + r + tail, with |r| ≤ π/4, for x ≥ 0: by three parts of π/2, or from 10⁶ on by those of the digits of
// 2/π that matter (Payne and Hanek, doi:10.1145/1057600.1057602).
struct Angle {
	double r, tail;
	int quadrant;
};
FN Angle reduced(double x) {
	const double part1 = 1.57079632679489655800e+00, part2 = 6.12323399573676603587e-17, part3 = -1.49738490485919160000e-33;
	if (x < 1e6) {
		double k = nearest(x * 6.36619772367581382433e-01), hi = fma(-k, part1, x), r = fma(-k, part2, hi);
		return {r, fma(-k, part3, fma(-k, part2, hi - r)), (int)k & 3};
	}
	int e = (int)(bits(x) >> 52) - 1075, from = (e + 61) >> 6, shift = (e + 61) & 63; // x = m·2ᵉ
	uint64_t m = (bits(x) & 0xfffffffffffffull) | 0x10000000000000ull, low = 0, high = 0, word = four_over_pi(from);
	ROLLED for (int k = 0; k < 3; k++) { // x·2/π mod 4, over 4: m times 192 bits, of which the first 128 stay
		uint64_t next = four_over_pi(from + k + 1), w = word << shift | next >> 1 >> (63 - shift), product = m * w;
		word = next;
		if (k == 0)
			high = product;
		else if (k == 1)
			low = product, high += HIGH(m, w);
		else
			low += HIGH(m, w), high += low < HIGH(m, w);
	}
	int quadrant = (int)(high >> 62);
	high = high << 2 | low >> 62, low <<= 2;
	bool above = high >> 63; // of half a quadrant
	if (above)
		quadrant++, low = 0 - low, high = ~high + (low == 0);
	double first = (double)(high >> 32) * 0x1p-32, rest = (double)(uint32_t)high * 0x1p-64 + (double)low * 0x1p-128;
	double turn = first + rest, error = rest - (turn - first), r = turn * part1, tail = fma(turn, part1, -r) + turn * part2 + error * part1;
	return {above ? -r : r, above ? -tail : tail, quadrant & 3};
}
struct Circle {
	double sin, cos;
};
FN Circle circle(double x) { // of x ≥ 0
	if (!(x < real(0x7ff0000000000000ull)))
		return {real(0x7ff8000000000000ull), real(0x7ff8000000000000ull)};
	Angle a = reduced(x);
	double s = sin_near(a.r), c = cos_near(a.r), sin = s + a.tail * c, cos = c - a.tail * s;
	if (a.quadrant & 1) {
		double swap = sin;
		sin = cos, cos = -swap;
	}
	return a.quadrant & 2 ? Circle{-sin, -cos} : Circle{sin, cos};
}
FN double SIN(double x) { return COPYSIGN(1, x) * circle(FABS(x)).sin; }
FN double COS(double x) { return circle(FABS(x)).cos; }
FN double TAN(double x) {
	Circle c = circle(FABS(x));
	return COPYSIGN(1, x) * (c.sin / c.cos);
}
ROUNDED(SIN)
ROUNDED(COS)
ROUNDED(TAN)

// Cephes.
FN double atan_near(double x) {
	double z = x * x;
	double p = (((-8.750608600031904122785e-01 * z - 1.615753718733365076637e+01) * z - 7.500855792314704667340e+01) * z - 1.228866684490136173410e+02) * z - 6.485021904942025371773e+01;
	double q = ((((z + 2.485846490142306297962e+01) * z + 1.650270098316988542046e+02) * z + 4.328810604912902668951e+02) * z + 4.853903996359136964868e+02) * z + 1.945506571482613964425e+02;
	return x * z * (p / q) + x;
}
FN double ATAN(double x) {
	double a = FABS(x), y;
	if (!(a > 0.66))
		return atan_near(x);
	if (a > 2.41421356237309504880)
		y = 1.57079632679489655800e+00 - (atan_near(1 / a) - 6.12323399573676603587e-17);
	else
		y = 7.85398163397448278999e-01 + (atan_near((a - 1) / (a + 1)) + 3.06161699786838301793e-17);
	return COPYSIGN(y, x);
}
FN double ASIN(double x) { return ATAN(x / SQRT((1 - x) * (1 + x))); }
FN double ACOS(double x) { return 2 * ATAN(SQRT((1 - x) / (1 + x))); }
FN double ATAN2(double y, double x) {
	double a = FABS(x), b = FABS(y);
	if (x != x || y != y)
		return x + y;
	double r = b == 0 ? 0 : a == b ? 7.85398163397448278999e-01 : ATAN(b / a);
	return COPYSIGN(bits(x) >> 63 ? 3.14159265358979311600e+00 - (r - 1.22464679914735320717e-16) : r, y);
}
ROUNDED(ATAN)
ROUNDED(ASIN)
ROUNDED(ACOS)
ROUNDED2(ATAN2)

FN double SINH(double x) {
	double a = FABS(x), t = EXPM1(a), half = EXP(0.5 * a);
	return COPYSIGN(a < 22 ? 0.5 * (t + t / (t + 1)) : 0.5 * half * half, x);
}
FN double COSH(double x) {
	double half = EXP(0.5 * FABS(x));
	return x != x ? x : 0.5 * half * half + 0.5 / half / half;
}
FN double ASINH(double x) {
	double a = FABS(x), square = a * a, y = LOG(a) + 6.93147180559945309417e-01;
	if (!(a > 268435456))
		y = LOG1P(a + square / (1 + SQRT(1 + square)));
	return COPYSIGN(y, x);
}
FN double ACOSH(double x) {
	double t = x - 1;
	if (t < 0)
		return real(0x7ff8000000000000ull);
	return x > 268435456 ? LOG(x) + 6.93147180559945309417e-01 : LOG1P(t + SQRT(2 * t + t * t));
}
FN double ATANH(double x) {
	double a = FABS(x);
	return COPYSIGN(0.5 * LOG1P(2 * a / (1 - a)), x);
}
ROUNDED(SINH)
ROUNDED(COSH)
ROUNDED(ASINH)
ROUNDED(ACOSH)
ROUNDED(ATANH)

FN double HYPOT(double x, double y) {
	double a = FABS(x), b = FABS(y), infinite = real(0x7ff0000000000000ull);
	if (a == infinite || b == infinite)
		return infinite;
	double m = a > b ? a : b, n = (a > b ? b : a) / m;
	return m == 0 && x == x && y == y ? 0 : m * SQRT(1 + n * n) + (x != x || y != y ? x + y : 0);
}
ROUNDED2(HYPOT)

// x to the power of y, as C defines it for zeros, infinities and NaN: whole powers up to 64 by multiplications, others by
// logarithms, whose error of 10⁻¹³ is largest for results near the largest number.
FN double POW(double x, double y) {
	bool whole = TRUNC(y) == y, odd = whole && FABS(y) < 9007199254740992. && ((int64_t)y & 1);
	if (y == 0 || x == 1 || (x == -1 && FABS(y) == real(0x7ff0000000000000ull)))
		return 1;
	if (whole && FABS(y) <= 64) {
		double z = 1, square = x;
		for (int n = (int)FABS(y); n; n >>= 1, square *= square)
			z *= n & 1 ? square : 1;
		return y < 0 ? 1 / z : z;
	}
	double z = EXP(y * LOG(FABS(x)));
	if (bits(x) >> 63 && !whole && x != 0 && FABS(x) != real(0x7ff0000000000000ull))
		return real(0x7ff8000000000000ull);
	return x != x || y != y ? x + y : odd ? COPYSIGN(z, x) : z;
}
ROUNDED2(POW)
FN int64_t POW(int64_t x, int64_t y) {
	uint64_t z = 1, square = (uint64_t)x;
	if (y < 0)
		return x == 1 ? 1 : x != -1 ? 0 : y & 1 ? -1 : 1;
	for (; y; y >>= 1, square *= square)
		z *= y & 1 ? square : 1;
	return (int64_t)z;
}
FN uint64_t POW(uint64_t x, uint64_t y) {
	uint64_t z = 1;
	for (; y; y >>= 1, x *= x)
		z *= y & 1 ? x : 1;
	return z;
}

FN int exponent(double x) { return x < 0x1p-1022 ? (int)(bits(x * 0x1p54) >> 52) - 54 : (int)(bits(x) >> 52); } // of x > 0, plus 1023

// What is left of x after all y, exactly: with b·2ᵏ ≤ a < b·2ᵏ⁺¹ each difference is.
FN double FMOD(double x, double y) {
	double a = FABS(x), b = FABS(y);
	if (!(a < real(0x7ff0000000000000ull)) || y != y || b == 0)
		return real(0x7ff8000000000000ull);
	while (a >= b) {
		int k = exponent(a) - exponent(b);
		double t = scaled(scaled(b, k / 2), k - k / 2);
		a -= t > a ? 0.5 * t : t;
	}
	return COPYSIGN(a, x);
}
ROUNDED2(FMOD)
FN int64_t FMOD(int64_t x, int64_t y) { return y == 0 || y == -1 ? 0 : x % y; }
FN uint64_t FMOD(uint64_t x, uint64_t y) { return y == 0 ? 0 : x % y; }

// The remainder of a division that rounds towards −∞, which has the sign of y, and its quotient, as Python's.
template <class T> FN T REMAINDER(T x, T y) {
	T r = FMOD(x, y);
	return r != 0 && (r < 0) != (y < 0) ? r + y : r;
}
template <class T> FN T FLOOR_DIV(T x, T y) {
	T r = FMOD(x, y), q = (x - r) / y;
	if (y == 0)
		return x / y;
	if (r != 0 && (r < 0) != (y < 0))
		q -= 1;
	T whole = FLOOR(q);
	return q == 0 ? COPYSIGN(0, x / y) : q - whole > T(0.5) ? whole + 1 : whole;
}
FN int64_t FLOOR_DIV(int64_t x, int64_t y) {
	if (y == 0 || y == -1)
		return y == 0 ? 0 : (int64_t)(0 - (uint64_t)x);
	return x / y - (x % y != 0 && (x < 0) != (y < 0));
}
FN uint64_t FLOOR_DIV(uint64_t x, uint64_t y) { return y == 0 ? 0 : x / y; }

// Shifts by fewer than 0 or more than all bits leave none, or the sign.
FN int64_t SHIFT_LEFT(int64_t x, int64_t y) { return (uint64_t)y < 64 ? (int64_t)((uint64_t)x << y) : 0; }
FN uint64_t SHIFT_LEFT(uint64_t x, uint64_t y) { return y < 64 ? x << y : 0; }
FN int64_t SHIFT_RIGHT(int64_t x, int64_t y) { return x >> ((uint64_t)y < 64 ? y : 63); }
FN uint64_t SHIFT_RIGHT(uint64_t x, uint64_t y) { return y < 64 ? x >> y : 0; }
