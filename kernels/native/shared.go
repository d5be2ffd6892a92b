package native

import "C"

// kernels_native_shared does nothing. Because it is exported, shared libraries link C code of this
// package from the build cache, where the go command looks for it beside a header of exported
// functions; without one, every build compiles it again, for 40 seconds of processor time.
//
//export kernels_native_shared
func kernels_native_shared() {}
