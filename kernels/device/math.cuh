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
FN float COS(float x) {
	float z = x * x;
	return fma(fma(fma(2.443315711809948e-5f, z, -1.388731625493765e-3f), z, 4.166664568298827e-2f), z * z, fma(-0.5f, z, 1.f));
}
FN float SIN(float x) {
	float z = x * x;
	return fma(fma(fma(-1.9515295891e-4f, z, 8.3321608736e-3f), z, -1.6666654611e-1f), z * x, x);
}
FN double COS(double x) {
	double z = x * x;
	double p = ((((-1.13585365213876817300e-11 * z + 2.08757008419747316778e-9) * z - 2.75573141792967388112e-7) * z + 2.48015872888517045348e-5) * z - 1.38888888888730564116e-3) * z + 4.16666666666665929218e-2;
	return 1 - 0.5 * z + z * z * p;
}
FN double SIN(double x) {
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
FN double ERF(double x) {
	if (x != x)
		return x;
	double a = FABS(x), y;
	if (a < 0.84375) {
		double z = x * x;
		return x + x * ((1.28379167095512558561e-01 + z * (-3.25042107247001499370e-01 + z * (-2.84817495755985104766e-02 + z * (-5.77027029648944159157e-03 + z * -2.37630166566501626084e-05)))) / (1 + z * (3.97917223959155352819e-01 + z * (6.50222499887672944485e-02 + z * (5.08130628187576562776e-03 + z * (1.32494738004321644526e-04 + z * -3.96022827877536812320e-06))))));
	}
	if (a < 1.25) {
		double s = a - 1;
		y = 8.45062911510467529297e-01 + (-2.36211856075265944077e-03 + s * (4.14856118683748331666e-01 + s * (-3.72207876035701323847e-01 + s * (3.18346619901161753674e-01 + s * (-1.10894694282396677476e-01 + s * (3.54783043256182359371e-02 + s * -2.16637559486879084300e-03)))))) / (1 + s * (1.06420880400844228286e-01 + s * (5.40397917702171048937e-01 + s * (7.18286544141962662868e-02 + s * (1.26171219808761642112e-01 + s * (1.36370839120290507362e-02 + s * 1.19844998467991074170e-02))))));
	} else if (a >= 6) {
		y = 1;
	} else {
		double s = 1 / (a * a), r, q;
		if (a < 1 / 0.35) {
			r = (-9.86494403484714822705e-03 + s * (-6.93858572707181764372e-01 + s * (-1.05586262253232909814e+01 + s * (-6.23753324503260060396e+01 + s * (-1.62396669462573470355e+02 + s * (-1.84605092906711035994e+02 + s * (-8.12874355063065934246e+01 + s * -9.81432934416914548592e+00)))))));
			q = 1 + s * (1.96512716674392571292e+01 + s * (1.37657754143519042600e+02 + s * (4.34565877475229228821e+02 + s * (6.45387271733267880336e+02 + s * (4.29008140027567833386e+02 + s * (1.08635005541779435134e+02 + s * (6.57024977031928170135e+00 + s * -6.04244152148580987438e-02)))))));
		} else {
			r = (-9.86494292470009928597e-03 + s * (-7.99283237680523006574e-01 + s * (-1.77579549177547519889e+01 + s * (-1.60636384855821916062e+02 + s * (-6.37566443368389627722e+02 + s * (-1.02509513161107724954e+03 + s * -4.83519191608651397019e+02))))));
			q = 1 + s * (3.03380607434824582924e+01 + s * (3.25792512996573918826e+02 + s * (1.53672958608443695994e+03 + s * (3.19985821950859553908e+03 + s * (2.55305040643316442583e+03 + s * (4.74528541206955367215e+02 + s * -2.24409524465858183362e+01))))));
		}
		double z = real(bits(a) & 0xffffffff00000000ull);
		y = 1 - EXP(-z * z - 0.5625) * EXP((z - a) * (z + a) + r / q) / a;
	}
	return x < 0 ? -y : y;
}
