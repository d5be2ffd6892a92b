package ptx_test

import (
	"encoding/binary"
	"fmt"

	"github.com/h5dnn/h5dnn/cuda/ptx"
)

// A kernel doubles integers, one in each thread, and its instructions are counted.
func Example() {
	module, err := ptx.Parse(`
.version 7.0
.target sm_75
.visible .entry twice(.param .u64 x)
{
	.reg .b32 %r<3>;
	.reg .b64 %rd<3>;
	ld.param.u64 %rd0, [x];
	mov.u32 %r0, %tid.x;
	mul.wide.u32 %rd1, %r0, 4;
	add.s64 %rd0, %rd0, %rd1;
	ld.global.u32 %r1, [%rd0];
	add.u32 %r1, %r1, %r1;
	st.global.u32 [%rd0], %r1;
	ret;
}`)
	if err != nil {
		panic(err)
	}
	memory := ptx.NewMemory(0)
	x := memory.Alloc(4 * 32)
	bytes, err := memory.Bytes(x, 4*32)
	if err != nil {
		panic(err)
	}
	for i := range 32 {
		binary.LittleEndian.PutUint32(bytes[4*i:], uint32(i))
	}
	counters := new(ptx.Counters)
	err = module.Kernels["twice"].Run(memory, ptx.Launch{
		Blocks:   [3]uint32{1, 1, 1},
		Threads:  [3]uint32{32, 1, 1},
		Params:   binary.LittleEndian.AppendUint64(nil, x),
		Counters: counters,
	})
	fmt.Println(binary.LittleEndian.Uint32(bytes[4*31:]), err)
	fmt.Println(counters.Requests, "requests,", counters.Sectors, "sectors")
	// Output:
	// 62 <nil>
	// 2 requests, 8 sectors
}
