/* Sums of products in tiles, for int8_amx.c and direct_amx.c, which define ADD_TILES(sum, x, w), after panels.h: a block of up to 32 pixels times
 * a panel of up to 32 channels in four tiles, from two tiles of pixels and two of weights. */

enum { TILE = 16, ELEMENT = 4, TILES_BLOCK = 2 * TILE }; /* rows of a tile, and the elements of one; bytes of an element; pixels of a block */

/* The tiles: sums of a part of the pixels by a vector of channels, pixels, weights. Compilers want literals. */
#define SUM_00 0
#define SUM_01 1
#define SUM_10 2
#define SUM_11 3
#define PIXELS_0 4
#define PIXELS_1 5
#define WEIGHTS_0 6
#define WEIGHTS_1 7

/* A barrier: GCC's intrinsics for tiles do not say that they read memory, so stores before them could move behind. */
INLINE void stored(void) { __asm__ volatile("" ::: "memory"); }

/* The operand of LDTILECFG (Intel SDM, volume 1, 18.2). */
typedef struct {
	uint8_t palette, start, reserved[14];
	uint16_t row_bytes[16];
	uint8_t rows[16];
} tile_shapes;

/* The shapes for blocks of up to n pixels, in two parts. */
#define FIRST(n) ((n) > TILE ? ((n) + 1) / 2 : (n))
#define SECOND(n) ((n) > TILE ? (n) / 2 : 1)
#define SHAPES(n) {1, 0, {0}, {64, 64, 64, 64, 64, 64, 64, 64}, {FIRST(n), FIRST(n), SECOND(n), SECOND(n), FIRST(n), SECOND(n), TILE, TILE}}
#define FOUR_SHAPES(n) SHAPES(n), SHAPES((n) + 1), SHAPES((n) + 2), SHAPES((n) + 3)
static const tile_shapes shapes[TILES_BLOCK] __attribute__((aligned(64))) = {
	FOUR_SHAPES(1), FOUR_SHAPES(5), FOUR_SHAPES(9), FOUR_SHAPES(13), FOUR_SHAPES(17), FOUR_SHAPES(21), FOUR_SHAPES(25), FOUR_SHAPES(29)};

/* LDTILECFG waits until earlier stores are in the cache, so shapes are set for many blocks. */
static void begin(int64_t most) { _tile_loadconfig(&shapes[most - 1]); }

static void end(void) { _tile_release(); }

/* A block of pixels, in two parts, and memory for the tiles that are not in rows a step apart. */
typedef struct {
	const int64_t *at[2];
	int64_t pixels[2], step[2]; /* of a part; from pixel to pixel, -1 if it varies or the tile has more rows */
	int32_t x[2][TILE][TILE], w[VECTORS][TILE][TILE];
} tile_block __attribute__((aligned(64)));

/* split describes the parts of a block of pixels, which may be one less than most. */
static void split(tile_block *b, const int64_t *at, int64_t pixels, int64_t most) {
	const int64_t rows[2] = {FIRST(most), SECOND(most)};
	b->pixels[0] = pixels < rows[0] ? pixels : rows[0];
	b->pixels[1] = pixels - b->pixels[0];
	for (int p = 0; p < 2; p++) {
		b->at[p] = at + p * b->pixels[0];
		b->step[p] = b->pixels[p] < rows[p] ? -1 : b->pixels[p] > 1 ? b->at[p][1] - b->at[p][0] : 0;
		for (int64_t i = 1; i < b->pixels[p]; i++)
			if (b->at[p][i] - b->at[p][i - 1] != b->step[p])
				b->step[p] = -1;
	}
}

/* n elements of each pixel of a part, from x on, with zeros after them: where they lie a step apart, or a copy. */
INLINE const void *pixel_rows(tile_block *b, int p, const char *x, int64_t n, int64_t *step) {
	if (n == TILE && b->step[p] >= 0) {
		*step = b->step[p] * ELEMENT;
		return x + b->at[p][0] * ELEMENT;
	}
	for (int64_t i = 0; i < b->pixels[p]; i++)
		_mm512_store_si512(b->x[p][i], _mm512_maskz_loadu_epi32(some(n), x + b->at[p][i] * ELEMENT));
	stored();
	*step = TILE * ELEMENT;
	return b->x[p];
}

/* n rows of weights of a vector of channels, with zeros after them. */
INLINE const void *weight_rows(tile_block *b, int c, const char *w, int64_t n, int vectors, int64_t *step) {
	if (n == TILE) {
		*step = vectors * BYTES;
		return w + c * BYTES;
	}
	for (int64_t k = 0; k < TILE; k++)
		_mm512_store_si512(b->w[c][k], k < n ? _mm512_loadu_si512(w + (k * vectors + c) * BYTES) : _mm512_setzero_si512());
	stored();
	*step = BYTES;
	return b->w[c];
}

/* The products of a block by a panel; parts, of pixels, and vectors, of channels, are constants. */
INLINE void multiply_tiles(tile_block *b, int64_t segments, int64_t run, const int64_t *segment, const char *x, const char *w, char *total, int parts, int vectors) {
	_tile_zero(SUM_00);
	_tile_zero(SUM_01);
	_tile_zero(SUM_10);
	_tile_zero(SUM_11);
	for (int64_t s = 0; s < segments; s++)
		for (int64_t k = 0, n; k < run; k += n, w += n * vectors * BYTES) {
			const char *from = x + (segment[s] + k) * ELEMENT;
			int64_t step;
			const void *rows;
			n = run - k < TILE ? run - k : TILE;
			rows = weight_rows(b, 0, w, n, vectors, &step);
			_tile_loadd(WEIGHTS_0, rows, step);
			rows = pixel_rows(b, 0, from, n, &step);
			_tile_loadd(PIXELS_0, rows, step);
			ADD_TILES(SUM_00, PIXELS_0, WEIGHTS_0);
			if (vectors > 1) {
				rows = weight_rows(b, 1, w, n, vectors, &step);
				_tile_loadd(WEIGHTS_1, rows, step);
				ADD_TILES(SUM_01, PIXELS_0, WEIGHTS_1);
			}
			if (parts > 1) {
				rows = pixel_rows(b, 1, from, n, &step);
				_tile_loadd(PIXELS_1, rows, step);
				ADD_TILES(SUM_10, PIXELS_1, WEIGHTS_0);
			}
			if (parts > 1 && vectors > 1)
				ADD_TILES(SUM_11, PIXELS_1, WEIGHTS_1);
		}
	const int64_t row = VECTORS * BYTES;
	char *second = total + b->pixels[0] * row;
	_tile_stored(SUM_00, total, row);
	if (vectors > 1)
		_tile_stored(SUM_01, total + BYTES, row);
	if (parts > 1)
		_tile_stored(SUM_10, second, row);
	if (parts > 1 && vectors > 1)
		_tile_stored(SUM_11, second + BYTES, row);
}

/* tile_sums sets total, rows of VECTORS vectors, to the sums of products of pixels at offsets at by vectors of channels. Each sum is of the
 * same terms in the same order in every block. */
INLINE void tile_sums(const int64_t *at, int64_t pixels, int64_t most, int64_t segments, int64_t run, const int64_t *segment, const void *x, const void *w, void *total, int64_t vectors) {
	tile_block b;
	split(&b, at, pixels, most);
	if (most > TILE && vectors > 1)
		multiply_tiles(&b, segments, run, segment, x, w, total, 2, 2);
	else if (most > TILE)
		multiply_tiles(&b, segments, run, segment, x, w, total, 2, 1);
	else if (vectors > 1)
		multiply_tiles(&b, segments, run, segment, x, w, total, 1, 2);
	else
		multiply_tiles(&b, segments, run, segment, x, w, total, 1, 1);
}
