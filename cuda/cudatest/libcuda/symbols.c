/* The functions of the driver and the libraries, by their real names. Each jumps to its fake,
 * whatever its arguments are. */
#include "../../driver.h"
#include "../../libraries.h"

#ifdef __x86_64__
#define JUMP "jmp fake_"
#else
#define JUMP "b fake_"
#endif

#define SYMBOL(name) __asm__(".text\n.globl " #name "\n.type " #name ", %function\n" #name ": " JUMP #name "@PLT\n");
#define OF_DRIVER(name, params) SYMBOL(name)
#define OF_LIBRARY(result, name, params) SYMBOL(name)
H5_DRIVER(OF_DRIVER)
H5_CUBLASLT(OF_LIBRARY)
H5_CUDNN(OF_LIBRARY)
