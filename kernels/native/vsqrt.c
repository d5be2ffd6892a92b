/* Square roots under the names by which GCC's vectorizer calls the vector variants of
 * h5k_sqrtf and h5k_sqrt (x86-64 psABI, vector function ABI). */
#ifdef __x86_64__
#include <immintrin.h>

float h5k_sqrtf(float x) { return _mm_cvtss_f32(_mm_sqrt_ss(_mm_set_ss(x))); }
double h5k_sqrt(double x) { return _mm_cvtsd_f64(_mm_sqrt_sd(_mm_set_sd(x), _mm_set_sd(x))); }

#define VARIANT(isa, name, vector, op) \
	vector name(vector x); \
	__attribute__((target(isa))) vector name(vector x) { return op(x); }
VARIANT("sse2", _ZGVbN4v_h5k_sqrtf, __m128, _mm_sqrt_ps)
VARIANT("sse2", _ZGVbN2v_h5k_sqrt, __m128d, _mm_sqrt_pd)
VARIANT("avx", _ZGVcN8v_h5k_sqrtf, __m256, _mm256_sqrt_ps)
VARIANT("avx", _ZGVcN4v_h5k_sqrt, __m256d, _mm256_sqrt_pd)
VARIANT("avx2", _ZGVdN8v_h5k_sqrtf, __m256, _mm256_sqrt_ps)
VARIANT("avx2", _ZGVdN4v_h5k_sqrt, __m256d, _mm256_sqrt_pd)
VARIANT("avx512f", _ZGVeN16v_h5k_sqrtf, __m512, _mm512_sqrt_ps)
VARIANT("avx512f", _ZGVeN8v_h5k_sqrt, __m512d, _mm512_sqrt_pd)
#endif
