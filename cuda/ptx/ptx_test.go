package ptx

import (
	"errors"
	"math"
	"os"
	"strings"
	"testing"
)

func module(t testing.TB, name string) *Module {
	t.Helper()
	text, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	m, err := Parse(string(text))
	if err != nil {
		t.Fatal(err)
	}
	return m
}

// faults runs a kernel of testdata/faults.cu on n floats, by 64 threads or n.
func faults(t testing.TB, name string, floats int, l Launch) ([]byte, error) {
	t.Helper()
	memory := NewMemory(0)
	x := memory.Alloc(4 * floats)
	bytes, err := memory.Bytes(x, 4*floats)
	if err != nil {
		t.Fatal(err)
	}
	for i := range floats {
		little.PutUint32(bytes[4*i:], uint32(i))
	}
	l.Blocks, l.Params = [3]uint32{1, 1, 1}, little.AppendUint64(nil, x)
	if l.Threads[0] == 0 {
		l.Threads = [3]uint32{64, 1, 1}
	}
	err = module(t, "testdata/faults.ptx").Kernels[name].Run(memory, l)
	return bytes, err
}

func TestFaultsAreNamed(t *testing.T) {
	for name, want := range map[string]string{
		"race":       "races with a write by thread",
		"overwrite":  "races with a read",
		"divergent":  "only 40 threads reach this barrier",
		"partial":    "only some threads of the warp reach this: 8 wait here",
		"outside":    "thread [63 0 0]: 4 bytes at offset 256 reach outside",
		"overflow":   "4 bytes at 32 reach outside 32 bytes of shared memory",
		"misaligned": "are not aligned",
	} {
		_, err := faults(t, name, 64, Launch{CheckRaces: true})
		if err == nil || !strings.Contains(err.Error(), want) || !strings.Contains(err.Error(), "ptx: "+name+", block [0 0 0]") {
			t.Errorf("%s: error %v; want one about %q", name, err, want)
		}
	}
}

// small runs a body with 36 bytes of shared memory s on 64 bytes at x, which %rd0 holds, by the given number of
// threads; %r0 is the thread, and %p0 whether that is 1.
func small(t *testing.T, threads uint32, body string) ([]byte, error) {
	t.Helper()
	m, err := Parse(".version 7.0\n.target sm_75\n.visible .entry k(.param .u64 x)\n{\n.reg .pred %p<2>;\n.reg .b32 %r<8>;\n.reg .b64 %rd<4>;\n" +
		".shared .align 16 .b8 s[36];\nld.param.u64 %rd0, [x];\nmov.u32 %r0, %tid.x;\nsetp.eq.u32 %p0, %r0, 1;\n" + body + "\nret;\n}")
	if err != nil {
		t.Fatal(err)
	}
	memory := NewMemory(0)
	x := memory.Alloc(64)
	err = m.Kernels["k"].Run(memory, Launch{Blocks: [3]uint32{1, 1, 1}, Threads: [3]uint32{threads, 1, 1}, Params: little.AppendUint64(nil, x), CheckRaces: true})
	bytes, again := memory.Bytes(x, 64)
	return bytes, errors.Join(err, again)
}

func TestUndefinedBehaviourIsAnError(t *testing.T) {
	for body, want := range map[string]string{
		"ld.shared.u32 %r1, [s];\nsetp.eq.u32 %p1, %r0, 7;\n@%p1 st.shared.u32 [s], %r1;": "races with a read of byte 0", // the last that read writes
		"st.shared.u32 [s], %r0;":                                 "races with a write by thread 0 to byte 0",
		"@%p0 st.shared.u32 [s+4], %r0;\nld.shared.u32 %r1, [s];": "",
		"ld.shared.u32 %r1, [s+2];":                               "4 bytes at 2 of shared memory are not aligned",
		"ld.shared.v2.u32 {%r1, %r2}, [s+32];":                    "8 bytes at 32 reach outside 36 bytes of shared memory",
		"ld.shared.u32 %r1, [s+-4];":                              "reach outside 36 bytes of shared memory",
		"ld.param.u64 %rd1, [x+4];":                               "parameter offset 4 of 8",
		"ld.param.u64 %rd1, [x+-8];":                              "parameter offset",
		"shfl.sync.down.b32 %r1, %r0, 1, 31, -1;":                 "a shuffle from thread 8, of a block of 8",
		"ld.global.u32 %r1, [%rd0+64];":                           "4 bytes at offset 64 reach outside an allocation of 64",
		"ld.global.u32 %r1, [%rd0+-4];":                           "is in no allocation",
		"atom.global.add.u32 %r1, [%rd0+2], %r0;":                 "are not aligned",
	} {
		if _, err := small(t, 8, body); (err == nil) != (want == "") || err != nil && !strings.Contains(err.Error(), want) {
			t.Errorf("%s: error %v; want one about %q", body, err, want)
		}
	}
}

// TestNewMemoryIsPoisoned before it is written.
func TestNewMemoryIsPoisoned(t *testing.T) {
	got, err := small(t, 1, "ld.shared.u32 %r1, [s+32];\nst.global.u32 [%rd0], %r1;")
	if err != nil || little.Uint64(got) != math.MaxUint64 {
		t.Errorf("shared and global memory hold % x, %v", got[:8], err)
	}
}

// TestAllocationsHaveGaps that belong to no allocation.
func TestAllocationsHaveGaps(t *testing.T) {
	memory := NewMemory(0)
	for _, size := range []int{1, gap, gap + 1, 3 * gap} {
		at := memory.Alloc(size)
		memory.Alloc(gap)
		for _, beyond := range []uint64{0, gap - 1} {
			if _, err := memory.Bytes(at+uint64(size)+beyond, 1); err == nil {
				t.Errorf("%d bytes behind %d are somebody's", beyond, size)
			}
		}
	}
}

// TestAtomicsUpdate checks each atomic on memory that contains old, with operands x and y.
func TestAtomicsUpdate(t *testing.T) {
	minusOne := uint64(math.MaxUint64)
	tried := map[string]bool{}
	for _, c := range []struct {
		name            string
		old, x, y, want uint64
	}{
		{"add.u32", 7, 5, 0, 12}, {"add.s32", 7, minusOne, 0, 6}, {"add.u64", minusOne, 5, 0, 4}, {"add.f32", single(0.5), single(2), 0, single(2.5)},
		{"min.s64", 3, minusOne, 0, minusOne}, {"min.s64", 3, 4, 0, 3}, {"min.u64", 3, minusOne, 0, 3}, {"min.u64", 3, 2, 0, 2},
		{"max.u64", 3, minusOne, 0, minusOne}, {"max.u64", 3, 2, 0, 3}, {"exch.b32", 1, 2, 0, 2}, {"exch.b64", 1, 2, 0, 2}, {"cas.b64", 1, 1, 9, 9}, {"cas.b64", 1, 2, 9, 1},
	} {
		tried[c.name] = true
		if got := updates[c.name](c.old, c.x, c.y); got != c.want {
			t.Errorf("%s of %d by %d and %d gives %d, want %d", c.name, c.old, c.x, c.y, got, c.want)
		}
	}
	for name := range updates {
		if !tried[name] {
			t.Errorf("%s is not tried", name)
		}
	}
	got, err := small(t, 32, "add.u64 %rd1, %rd0, 8;\natom.global.add.u32 %r1, [%rd0], %r0;\n@%p0 st.global.u32 [%rd0+4], %r1;\nred.global.add.u32 [%rd1], %r0;")
	if err != nil || little.Uint32(got) != 32*31/2-1 || little.Uint32(got[8:]) != 32*31/2-1 || little.Uint32(got[4:]) != math.MaxUint32 {
		t.Errorf("32 threads add up to % x, %v", got[:12], err)
	}
}

func TestThreadsMeetAtBarriers(t *testing.T) {
	got, err := faults(t, "ok", 64, Launch{CheckRaces: true})
	if err != nil {
		t.Fatal(err)
	}
	for i := range 64 {
		if x := little.Uint32(got[4*i:]); x != uint32(63-i) {
			t.Errorf("element %d is %d, want %d", i, x, 63-i)
		}
	}
}

func TestAccessToFreedMemoryFails(t *testing.T) {
	memory := NewMemory(0)
	x := memory.Alloc(256)
	if err := memory.Free(x); err != nil {
		t.Fatal(err)
	}
	err := module(t, "testdata/faults.ptx").Kernels["ok"].Run(memory, Launch{Blocks: [3]uint32{1, 1, 1}, Threads: [3]uint32{64, 1, 1}, Params: little.AppendUint64(nil, x)})
	if err == nil || !strings.Contains(err.Error(), "memory that was freed") {
		t.Errorf("error %v; want one about freed memory", err)
	}
	if memory.Free(x) == nil || memory.Free(x+8) == nil {
		t.Error("memory can be freed twice, or in the middle")
	}
}

// TestCounters compares with counts computed by hand: 1024 threads are 32 warps. Elements a
// row apart are in different sectors and in the same bank.
func TestCounters(t *testing.T) {
	c := new(Counters)
	if _, err := faults(t, "column", 1024, Launch{Threads: [3]uint32{1024, 1, 1}, Counters: c}); err != nil {
		t.Fatal(err)
	}
	if c.Requests != 64 || c.Sectors != 32*4+32*32 {
		t.Errorf("%d requests for %d sectors; want 64 for %d", c.Requests, c.Sectors, 32*4+32*32)
	}
	if c.Issued != 32*c.Instructions || c.Lanes != 32*c.Issued {
		t.Errorf("%d instructions, %d of warps, %d of threads; want 32 times as many each", c.Instructions, c.Issued, c.Lanes)
	}
	if c.Kinds[Access] != 5*32 || c.Kinds[Float] != 0 || c.Kinds[Other] != c.Issued-5*32 {
		t.Errorf("%v by kind; want 5 accesses of 32 warps, its parameter's among them", c.Kinds)
	}
	if c.SharedRequests != 64 || c.Wavefronts != 32+32*32 {
		t.Errorf("%d requests in %d wavefronts; want 64 in %d", c.SharedRequests, c.Wavefronts, 32+32*32)
	}
}

// TestDivergedWarpsIssueTwice lets 40 of 64 threads branch: both warps issue the
// instructions before the branch and at its target, the second one also those between.
func TestDivergedWarpsIssueTwice(t *testing.T) {
	m, err := Parse(".version 7.0\n.target sm_75\n.visible .entry k()\n{\n.reg .pred %p<2>;\n.reg .b32 %r<3>;\n" +
		"mov.u32 %r1, %tid.x;\nsetp.lt.u32 %p1, %r1, 40;\n@%p1 bra $less;\nmov.u32 %r2, 1;\nret;\n$less:\nmov.u32 %r2, 2;\nret;\n}")
	if err != nil {
		t.Fatal(err)
	}
	c := new(Counters)
	if err := m.Kernels["k"].Run(NewMemory(0), Launch{Blocks: [3]uint32{1, 1, 1}, Threads: [3]uint32{64, 1, 1}, Counters: c}); err != nil {
		t.Fatal(err)
	}
	if want := uint64(3*2 + 2*1 + 2*2); c.Issued != want {
		t.Errorf("warps issue %d instructions, want %d", c.Issued, want)
	}
	if c.Kinds != [kinds]uint64{Other: c.Issued} {
		t.Errorf("by kind %v, want all of them to be %d", c.Kinds, Other)
	}
}

func TestLaunchesAreChecked(t *testing.T) {
	k := module(t, "testdata/faults.ptx").Kernels["ok"]
	fine := Launch{Blocks: [3]uint32{1, 1, 1}, Threads: [3]uint32{64, 1, 1}, Params: make([]byte, 8)}
	for want, change := range map[string]func(l *Launch){
		"blocks of [64 32 1] threads": func(l *Launch) { l.Threads[1] = 32 },
		"blocks of [0 1 1] threads":   func(l *Launch) { l.Threads[0] = 0 },
		"a grid of [1 0 1] blocks":    func(l *Launch) { l.Blocks[1] = 0 },
		"bytes of shared memory":      func(l *Launch) { l.Shared = 1 << 20 },
		"9 bytes of parameters":       func(l *Launch) { l.Params = make([]byte, 9) },
	} {
		l := fine
		change(&l)
		if err := k.Run(NewMemory(0), l); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("error %v; want one about %s", err, want)
		}
	}
}

func TestParseRejectsUnknownSyntax(t *testing.T) {
	head := ".version 7.0\n.target sm_75\n.visible .entry k(.param .u64 x)\n{\n.reg .b64 %r<3>;\n"
	for text, want := range map[string]string{
		head + "frob.u32 %r0, %r1;\n}":            "line 6: frob.u32 %r0, %r1: unknown opcode",
		head + "bra $nowhere;\n}":                 "unknown label",
		head + "mov.u64 %r0, %q7;\n}":             "unknown register",
		head + "ld.local.u32 %r0, [%r1];\n}":      "only param, global and shared",
		head + "ld.u32 %r0, [%r1];\n}":            "access",
		head + ".local .align 4 .b8 depot[16];\n": "cannot use .local",
		head + "ret;":                             "the text ends early",
		head + "add.u32 %r0, %r1;\n}":             "has no operand 3",
		".visible .func f()":                      `found ".func"`,
		".global .align 4 .b8 t[4];":              "cannot use this directive",
	} {
		if _, err := Parse(text); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: error %v; want one about %q", text, err, want)
		}
	}
}

// FuzzParse holds Parse to giving a module or an error, whatever it reads.
func FuzzParse(f *testing.F) {
	text, err := os.ReadFile("testdata/faults.ptx")
	if err != nil {
		f.Fatal(err)
	}
	f.Add(string(text))
	f.Add(".visible .entry k(.param .align 8 .b8 x[24]) .maxntid 256, 1, 1 { @!%p0 mov.b32 {%a, %b}, 0f3F800000; }")
	f.Fuzz(func(t *testing.T, text string) {
		if m, err := Parse(text); (m == nil) == (err == nil) {
			t.Errorf("module %v, error %v", m, err)
		}
	})
}

// TestCostsAreOfMachineInstructions compares opcodes that PTX writes alike: a 64-bit division is a
// call of more than 60 machine instructions, a float32 sum one.
func TestCostsAreOfMachineInstructions(t *testing.T) {
	for opcode, want := range map[string]int{
		"add.rn.f32": 1, "fma.rn.f32": 1, "add.s32": 2, "add.s64": 4, "mul.lo.s32": 2, "mul.wide.u32": 2, "mul.lo.s64": 8,
		"mul.rn.f64": 2, "div.u32": 42, "div.s64": 186, "rem.u64": 146, "ex2.approx.ftz.f32": 8, "cvt.u64.u32": 0, "cvt.f64.f32": 8, "cvt.rn.f16.f32": 2,
		"mov.b64": 0, "ld.global.f32": 0, "shfl.sync.bfly.b32": 4, "setp.lt.s32": 2, "bra": 2, "st.global.v4.u32": 0,
		"mma.sync.aligned.m16n8k8.row.col.f32.tf32.tf32.f32": 8, "atom.global.add.u32": 64,
	} {
		if got := costOf(opcode); got != want {
			t.Errorf("%s costs %d cycles, want %d", opcode, got, want)
		}
	}
}

// TestCyclesCountMemory: a column of a matrix costs a sector for each thread, and a wavefront.
func TestCyclesCountMemory(t *testing.T) {
	c := new(Counters)
	if _, err := faults(t, "column", 1024, Launch{Threads: [3]uint32{1024, 1, 1}, Counters: c}); err != nil {
		t.Fatal(err)
	}
	if memory := c.Sectors*sectorCycles + c.Wavefronts*wavefrontCycles; c.Cycles < memory || c.Cycles > memory+c.Issued*integerCycles {
		t.Errorf("%d cycles for %d instructions; those of memory are %d", c.Cycles, c.Issued, memory)
	}
}
