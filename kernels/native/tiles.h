/* Sums of products in the tiles of AMX: 16 rows of 64 bytes, elements of 4 bytes that hold two numbers of bfloat16 or four of 8 bits. */
#ifndef H5K_TILES_H
#define H5K_TILES_H

/* h5k_tiles reports whether the processor has tiles for both types and the system lets this process use them. H5DNN_ISA=avx512 does without. */
int h5k_tiles(void);

#if defined(__x86_64__) && defined(__linux__) && !defined(__clang__) && __GNUC__ >= 11
#define H5K_BUILDS_TILES /* the compiler knows the instructions, by GCC's pragma */
#endif

#endif
