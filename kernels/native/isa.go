package native

// #include "loops.h"
import "C"

// ISA names the instruction set that the loops in C use on this
// machine, chosen when the program starts.
func ISA() string { return C.GoString(C.h5k_isa_name()) }
