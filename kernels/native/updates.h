/* The updates of first-order optimizers, one line each:
 *
 *	UPDATE(name, buffers, changing, terms, (statements), formula)
 *
 * The statements change the buffers s1, s2 and s3, as many as a parameter has, and then the formula the parameter p, by the
 * gradient g; all are REAL. The other names are terms that all elements share, T(name, value), computed in double from the settings a[] and from
 * x[], as many numbers as change from step to step: x[0] is the learning rate. skipped is the number of steps that a loss
 * scaler has skipped; WITHOUT(x[i], a[k]) is x[i], a power of a[k], without the factors of those steps. The Go rules of
 * package kernels have the meaning of a[] and x[], and the formulas for reference. */
#ifndef H5K_UPDATES_H
#define H5K_UPDATES_H

#ifndef FN
#define FN static inline
#endif

FN double h5k_without(double power, double x, double skipped) {
	double taken = 1;
	if (power == 0)
		return 0;
	for (unsigned n = (unsigned)skipped; n > 0; n /= 2, x *= x)
		if (n & 1)
			taken *= x;
	return power / taken;
}
#define WITHOUT(power, x) h5k_without(power, x, skipped)

/* The product of Nadam's momenta β₁·(1 − q/2), where q is psi to the power of the step, without those of skipped steps. */
FN double h5k_momenta(double product, double beta1, double psi, double q, double skipped) {
	for (; skipped > 0 && product > 0; skipped--, q /= psi)
		product /= beta1 * (1 - 0.5 * q);
	return product;
}
#define H5K_MOMENTUM(q) (a[0] * (1 - 0.5 * (q)))
#define H5K_MOMENTA h5k_momenta(x[3], a[0], a[5], x[2], skipped)

#define H5K_SGD(T) T(rate, x[0]) T(decay, a[0]) T(momentum, a[1])
#define H5K_ADAM(T) \
	T(beta1, a[0]) T(rest1, 1 - a[0]) T(beta2, a[1]) T(rest2, 1 - a[1]) T(eps, a[2]) T(coupled, a[3]) T(keep, 1 - x[0] * a[4]) \
	T(rate, x[0] / (1 - WITHOUT(x[1], a[0]))) T(scale, 1 / SQRT(1 - WITHOUT(x[2], a[1])))
#define H5K_NADAM(T) \
	T(beta1, a[0]) T(rest1, 1 - a[0]) T(beta2, a[1]) T(rest2, 1 - a[1]) T(eps, a[2]) T(coupled, a[3]) T(keep, 1 - x[0] * a[4]) \
	T(now, x[0] * (1 - H5K_MOMENTUM(WITHOUT(x[2], a[5]))) / (1 - H5K_MOMENTA)) \
	T(next, x[0] * H5K_MOMENTUM(WITHOUT(x[2], a[5]) * a[5]) / (1 - H5K_MOMENTA * H5K_MOMENTUM(WITHOUT(x[2], a[5]) * a[5]))) \
	T(scale, 1 / SQRT(1 - WITHOUT(x[1], a[1])))
#define H5K_ADAMAX(T) \
	T(beta1, a[0]) T(rest1, 1 - a[0]) T(beta2, a[1]) T(eps, a[2]) T(decay, a[3]) T(rate, x[0] / (1 - WITHOUT(x[1], a[0])))
#define H5K_ADAGRAD(T) T(eps, a[0]) T(decay, a[1]) T(rate, x[0] / (1 + (x[1] - 1 - skipped) * a[2]))
#define H5K_ADADELTA(T) T(rate, x[0]) T(rho, a[0]) T(rest, 1 - a[0]) T(eps, a[1]) T(decay, a[2])
#define H5K_RMSPROP(T) T(rate, x[0]) T(alpha, a[0]) T(rest, 1 - a[0]) T(eps, a[1]) T(decay, a[2]) T(momentum, a[3])
#define H5K_LION(T) \
	T(rate, x[0]) T(beta1, a[0]) T(rest1, 1 - a[0]) T(beta2, a[1]) T(rest2, 1 - a[1]) T(keep, 1 - x[0] * a[2])

/* The statements in parentheses. */
#define H5K_STATEMENTS(...) __VA_ARGS__;

#define H5K_UPDATES(UPDATE) \
	UPDATE(sgd, 0, 1, H5K_SGD, (), p -= rate * (g + decay * p)) \
	UPDATE(sgd_momentum, 1, 1, H5K_SGD, (s1 = momentum * s1 + (g + decay * p)), p -= rate * s1) \
	UPDATE(sgd_nesterov, 1, 1, H5K_SGD, (g += decay * p; s1 = momentum * s1 + g), p -= rate * (g + momentum * s1)) \
	UPDATE(adam, 2, 3, H5K_ADAM, (g += coupled * p; s1 = beta1 * s1 + rest1 * g; s2 = beta2 * s2 + rest2 * (g * g)), p = p * keep - rate * s1 / (SQRT(s2) * scale + eps)) \
	UPDATE(amsgrad, 3, 3, H5K_ADAM, (g += coupled * p; s1 = beta1 * s1 + rest1 * g; s2 = beta2 * s2 + rest2 * (g * g); s3 = ((s2 > s3) | (s2 != s2)) ? s2 : s3), p = p * keep - rate * s1 / (SQRT(s3) * scale + eps)) \
	UPDATE(nadam, 2, 4, H5K_NADAM, (g += coupled * p; s1 = beta1 * s1 + rest1 * g; s2 = beta2 * s2 + rest2 * (g * g)), p = p * keep - (now * g + next * s1) / (SQRT(s2) * scale + eps)) \
	UPDATE(adamax, 2, 2, H5K_ADAMAX, (g += decay * p; s1 = beta1 * s1 + rest1 * g; s2 = ((beta2 * s2 > FABS(g) + eps) | (s2 != s2)) ? beta2 * s2 : FABS(g) + eps), p -= rate * s1 / s2) \
	UPDATE(adagrad, 1, 2, H5K_ADAGRAD, (g += decay * p; s1 += g * g), p -= rate * g / (SQRT(s1) + eps)) \
	UPDATE(adadelta, 2, 1, H5K_ADADELTA, (g += decay * p; s1 = rho * s1 + rest * (g * g); g *= SQRT(s2 + eps) / SQRT(s1 + eps); s2 = rho * s2 + rest * (g * g)), p -= rate * g) \
	UPDATE(rmsprop, 1, 1, H5K_RMSPROP, (g += decay * p; s1 = alpha * s1 + rest * (g * g)), p -= rate * g / (SQRT(s1) + eps)) \
	UPDATE(rmsprop_momentum, 2, 1, H5K_RMSPROP, (g += decay * p; s1 = alpha * s1 + rest * (g * g); s2 = momentum * s2 + g / (SQRT(s1) + eps)), p -= rate * s2) \
	UPDATE(rmsprop_centered, 2, 1, H5K_RMSPROP, (g += decay * p; s1 = alpha * s1 + rest * (g * g); s2 = alpha * s2 + rest * g), p -= rate * g / (SQRT(s1 - s2 * s2) + eps)) \
	UPDATE(rmsprop_centered_momentum, 3, 1, H5K_RMSPROP, (g += decay * p; s1 = alpha * s1 + rest * (g * g); s2 = alpha * s2 + rest * g; s3 = momentum * s3 + g / (SQRT(s1 - s2 * s2) + eps)), p -= rate * s3) \
	UPDATE(lion, 1, 1, H5K_LION, (REAL d = beta1 * s1 + rest1 * g; s1 = beta2 * s1 + rest2 * g), p = p * keep - rate * (d > 0 ? 1 : d < 0 ? -1 : d))

#endif
