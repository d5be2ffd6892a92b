package ptx

import (
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"
)

// A trial is an opcode, its operands' bits, and the bits that should come out.
type trial struct {
	opcode string
	in     []uint64
	want   uint64
}

func single(x float32) uint64 { return uint64(math.Float32bits(x)) }
func double(x float64) uint64 { return math.Float64bits(x) }
func minus(x int64) uint64    { return uint64(-x) }

// trials are what each opcode should do, from the PTX ISA's text of it.
var trials = []trial{
	{"add.s32", []uint64{0x7fffffff, 1}, 0x80000000}, {"add.s64", []uint64{5, minus(7)}, minus(2)}, {"add.u16", []uint64{0xffff, 2}, 1},
	{"sub.u32", []uint64{3, 5}, 0xfffffffe}, {"mul.lo.s32", []uint64{0x10001, 0x10001}, 0x20001}, {"mul.lo.u64", []uint64{1 << 40, 1 << 30}, 0},
	{"mul.wide.u32", []uint64{0xffffffff, 2}, 0x1fffffffe}, {"mul.wide.s32", []uint64{0xffffffff, 2}, minus(2)},
	{"mul.hi.u32", []uint64{0xffffffff, 0xffffffff}, 0xfffffffe}, {"mul.hi.s32", []uint64{0xffffffff, 2}, 0xffffffff},
	{"mul.hi.u64", []uint64{1 << 63, 6}, 3}, {"mad.lo.s32", []uint64{3, 0xfffffffe, 10}, 4},
	{"div.u32", []uint64{7, 2}, 3}, {"div.s32", []uint64{0xfffffff9, 2}, 0xfffffffd}, {"rem.u32", []uint64{7, 4}, 3}, {"rem.s64", []uint64{minus(7), 4}, minus(3)},
	{"min.s32", []uint64{0xffffffff, 1}, 0xffffffff}, {"min.u32", []uint64{0xffffffff, 1}, 1}, {"max.s64", []uint64{minus(1), 1}, 1},
	{"neg.s32", []uint64{1}, 0xffffffff}, {"abs.s32", []uint64{0xfffffffe}, 2}, {"not.b32", []uint64{0xf0}, 0xffffff0f},
	{"and.b64", []uint64{12, 10}, 8}, {"or.b32", []uint64{12, 10}, 14}, {"xor.b32", []uint64{12, 10}, 6},
	{"shl.b32", []uint64{3, 31}, 0x80000000}, {"shl.b32", []uint64{3, 32}, 0}, {"shl.b64", []uint64{1, 40}, 1 << 40},
	{"shr.u32", []uint64{0x80000000, 31}, 1}, {"shr.s32", []uint64{0x80000000, 40}, 0xffffffff}, {"shr.s64", []uint64{minus(8), 1}, minus(4)},
	{"bfe.u32", []uint64{0xabcd, 4, 8}, 0xbc}, {"bfi.b32", []uint64{0xfab, 0x11223344, 8, 8}, 0x1122ab44}, {"bfi.b32", []uint64{5, 7, 31, 8}, 0x80000007}, {"prmt.b32", []uint64{0x33221100, 0x77665544, 0x0725}, 0x00772255},
	{"prmt.b32", []uint64{0x80, 0, 0x8888}, 0xffffffff}, {"clz.b32", []uint64{1 << 20}, 11}, {"popc.b32", []uint64{0xf0f}, 8},
	{"shf.l.wrap.b32", []uint64{0x80000000, 1, 1}, 3}, {"shf.r.wrap.b32", []uint64{2, 1, 1}, 0x80000001},

	{"add.f32", []uint64{single(1), single(0x1p-24)}, single(1)}, {"add.rn.f64", []uint64{double(1), double(0x1p-52)}, double(1 + 0x1p-52)},
	{"sub.rn.f32", []uint64{single(1), single(3)}, single(-2)}, {"mul.f64", []uint64{double(3), double(-2)}, double(-6)},
	{"div.rn.f32", []uint64{single(1), single(3)}, single(1. / 3)}, {"rcp.rn.f64", []uint64{double(4)}, double(0.25)},
	{"sqrt.rn.f32", []uint64{single(2)}, single(math.Sqrt2)}, {"neg.f32", []uint64{single(0)}, 1 << 31}, {"abs.f64", []uint64{double(-2)}, double(2)},
	{"min.f32", []uint64{single(float32(math.NaN())), single(2)}, single(2)}, {"max.f32", []uint64{single(3), single(float32(math.NaN()))}, single(3)},
	{"ex2.approx.ftz.f32", []uint64{single(-3)}, single(0.125)}, {"lg2.approx.ftz.f32", []uint64{single(8)}, single(3)},
	// 1 + 2⁻¹² squared is 1 + 2⁻¹¹ + 2⁻²⁴: the product's last bit is lost if it is rounded by itself.
	{"fma.rn.f32", []uint64{single(1 + 0x1p-12), single(1 + 0x1p-12), single(-1 - 0x1p-11)}, single(0x1p-24)},
	// The sum lies 2⁻⁸⁰ above halfway between 1 and the next float32: nearest is above.
	{"fma.rn.f32", []uint64{single(0x1p-40), single(0x1p-40), single(1)}, single(1)},
	{"fma.rn.f32", []uint64{single(1 + 0x1p-23), single(0x1p-24), single(1)}, single(1 + 0x1p-23)},
	{"fma.rn.f64", []uint64{double(3), double(4), double(5)}, double(17)},

	{"bfi.b32", []uint64{0xabc, 0xffffffff, 8, 8}, 0xffffbcff}, {"bfi.b32", []uint64{5, 7, 32, 4}, 7}, {"bfi.b32", []uint64{5, 7, 0, 32}, 5},
	{"bfi.b64", []uint64{0x1_2345_6789, 3, 32, 32}, 0x2345_6789_0000_0003},

	{"cvt.u64.u32", []uint64{0xffffffff}, 0xffffffff}, {"cvt.s64.s32", []uint64{0xffffffff}, minus(1)}, {"cvt.u32.u64", []uint64{1<<40 + 5}, 5},
	{"cvt.rn.f32.s32", []uint64{0xffffffff}, single(-1)}, {"cvt.rn.f32.u32", []uint64{0x1000001}, single(0x1000000)}, {"cvt.rn.f64.u64", []uint64{1 << 63}, double(0x1p63)},
	{"cvt.rzi.s32.f32", []uint64{single(-2.7)}, 0xfffffffe}, {"cvt.rni.s32.f64", []uint64{double(2.5)}, 2}, {"cvt.rzi.s32.f32", []uint64{single(1e10)}, math.MaxInt32},
	{"cvt.rzi.u32.f32", []uint64{single(-5)}, 0}, {"cvt.rzi.s32.f32", []uint64{single(float32(math.NaN()))}, 0},
	{"cvt.rni.f32.f32", []uint64{single(3.5)}, single(4)}, {"cvt.rmi.f32.f32", []uint64{single(-0.5)}, single(-1)}, {"cvt.rpi.f64.f64", []uint64{double(0.5)}, double(1)},
	{"cvt.f64.f32", []uint64{single(0.1)}, double(float64(float32(0.1)))}, {"cvt.rn.f32.f64", []uint64{double(0.1)}, single(0.1)},
	{"cvt.rn.f16.f32", []uint64{single(65520)}, 0x7c00}, {"cvt.rn.f16.f32", []uint64{single(0x1p-25)}, 0}, {"cvt.f32.f16", []uint64{0x3555}, single(0x1.554p-2)},
	{"cvt.rna.tf32.f32", []uint64{single(1 + 0x1p-11)}, single(1 + 0x1p-10)}, {"cvt.rna.tf32.f32", []uint64{single(-1 - 0x1.fffp-12)}, single(-1)},
	{"cvt.rna.tf32.f32", []uint64{single(math.MaxFloat32)}, single(float32(math.Inf(1)))}, {"cvt.rna.tf32.f32", []uint64{0xff800001}, 0x7fffe000},
	{"cvt.u32.u8", []uint64{0x1ff}, 0xff}, {"cvt.s32.s8", []uint64{0xff}, 0xffffffff}, {"cvt.u16.u32", []uint64{0x12345}, 0x2345},
}

// compute runs one opcode in a kernel of its own.
func compute(t *testing.T, opcode string, in []uint64) uint64 {
	t.Helper()
	var text strings.Builder
	fmt.Fprintf(&text, ".version 7.0\n.target sm_75\n.visible .entry one(.param .u64 y)\n{\n.reg .b64 %%r<9>;\nld.param.u64 %%r8, [y];\n")
	args := []string{"%r0"}
	for i, x := range in {
		fmt.Fprintf(&text, "mov.u64 %%r%d, 0x%x;\n", i+1, x)
		args = append(args, fmt.Sprintf("%%r%d", i+1))
	}
	fmt.Fprintf(&text, "%s %s;\nst.global.u64 [%%r8], %%r0;\nret;\n}\n", opcode, strings.Join(args, ", "))
	m, err := Parse(text.String())
	if err != nil {
		t.Fatal(err)
	}
	memory := NewMemory(0)
	y := memory.Alloc(8)
	err = m.Kernels["one"].Run(memory, Launch{Blocks: [3]uint32{1, 1, 1}, Threads: [3]uint32{1, 1, 1}, Params: little.AppendUint64(nil, y)})
	if err != nil {
		t.Fatal(err)
	}
	result, err := memory.Bytes(y, 8)
	if err != nil {
		t.Fatal(err)
	}
	return little.Uint64(result)
}

func TestOpcodes(t *testing.T) {
	for _, c := range trials {
		got, mask := compute(t, c.opcode, c.in), ^uint64(0)
		if _, size := typeOf(strings.TrimPrefix(result(c.opcode), ".")); size < 8 {
			mask = 1<<(8*size) - 1
		}
		if got&mask != c.want&mask {
			t.Errorf("%s of %#x gives %#x, want %#x", c.opcode, c.in, got&mask, c.want&mask)
		}
	}
}

// result returns the type of an opcode's result.
func result(opcode string) string {
	words := split(opcode)
	switch {
	case words[0] == "cvt":
		return words[len(words)-2]
	case words[1] == "wide":
		return "b64"
	}
	return words[len(words)-1]
}

// TestEveryOpcodeIsTried keeps the table above whole: all but those that move
// data, whose stories are told elsewhere, and types that share their code.
func TestEveryOpcodeIsTried(t *testing.T) {
	var tried []string
	for _, c := range trials {
		tried = append(tried, split(c.opcode)[0])
	}
	for opcode := range opcodes {
		first := split(opcode)[0]
		moves := []string{"mov", "cvta", "ld", "st", "atom", "red", "selp", "setp", "shfl", "mma", "ldmatrix", "membar"}
		if !slices.Contains(moves, first) && !slices.Contains(tried, first) {
			t.Errorf("%s is not tried", opcode)
		}
	}
}

func TestComparisonsOfNaN(t *testing.T) {
	nan := math.NaN()
	for name, holds := range relations {
		for _, pair := range [][2]float64{{1, 2}, {2, 2}, {2, 1}, {nan, 1}, {1, nan}} {
			want := holds&ordered(pair[0], pair[1]) != 0
			if unsignedOnly := slices.Contains([]string{"lo", "ls", "hi", "hs"}, name); unsignedOnly {
				continue
			}
			got := compute(t, "setp."+name+".f64", []uint64{double(pair[0]), double(pair[1])})
			if (got == 1) != want {
				t.Errorf("setp.%s.f64 of %v gives %d, want %v", name, pair, got, want)
			}
		}
	}
	for _, pair := range [][2]float64{{nan, 1}, {1, nan}, {nan, nan}} {
		if ordered(pair[0], pair[1]) != unordered {
			t.Errorf("%v are ordered", pair)
		}
	}
}

// TestShufflesReadTheirSegment: lanes of a warp, or of a part of it, by what
// __shfl_up_sync and its like become.
func TestShufflesReadTheirSegment(t *testing.T) {
	for _, c := range []struct {
		mode           string
		lane, by, ends int32
		from           int32
		inside         uint64
	}{
		{"down", 3, 2, 31, 5, 1}, {"down", 31, 2, 31, 31, 0}, {"down", 6, 1, 24<<8 | 31, 7, 1}, {"down", 7, 1, 24<<8 | 31, 7, 0},
		{"up", 3, 2, 0, 1, 1}, {"up", 1, 2, 0, 1, 0}, {"up", 9, 1, 24 << 8, 8, 1}, {"up", 8, 1, 24 << 8, 8, 0},
		{"bfly", 5, 16, 31, 21, 1}, {"bfly", 5, 8, 24<<8 | 31, 5, 0}, {"bfly", 13, 1, 24<<8 | 31, 12, 1},
		{"idx", 5, 35, 31, 3, 1}, {"idx", 13, 2, 24<<8 | 31, 10, 1}, {"idx", 5, 4, 3, 5, 0},
	} {
		if from, inside := sources[c.mode].lane(c.lane, c.by, c.ends); from != c.from || inside != c.inside {
			t.Errorf("%s: lane %d by %d, %#x reads %d, inside %d; want %d, %d", c.mode, c.lane, c.by, c.ends, from, inside, c.from, c.inside)
		}
	}
}

func TestHalvesRoundTrip(t *testing.T) {
	for h := range uint16(0x7c01) { // up to infinity
		if got := half(halfValue(h)); got != h {
			t.Fatalf("%#04x comes back as %#04x", h, got)
		}
	}
	for x, want := range map[float64]uint16{1: 0x3c00, -2: 0xc000, 65504: 0x7bff, 0x1p-24: 1, 1 + 0x1p-11: 0x3c00, 1 + 3*0x1p-11: 0x3c02} {
		if got := half(x); got != want {
			t.Errorf("half of %v is %#04x, want %#04x", x, got, want)
		}
	}
}

func TestFusedProductsAreRoundedOnce(t *testing.T) {
	for i := range uint32(20000) {
		x, y, z := f32(i*2654435761), f32(i*40503+0x3f000000), f32(i*69069+0xbf000000)
		exact := math.FMA(float64(x), float64(y), float64(z)) // wrong only if it lies halfway, which the trials cover
		if got := fma32(x, y, z); got != float32(exact) && exact == exact && math.Float64bits(exact)&0x1fffffff != 0x10000000 {
			t.Fatalf("%v·%v + %v is %v, want %v", x, y, z, got, float32(exact))
		}
	}
}

// TestMatrixFactorsMustBeTF32 multiplies matrices of a factor whose 13 last bits a
// tensor core would not see.
func TestMatrixFactorsMustBeTF32(t *testing.T) {
	for factor, want := range map[string]string{"0f3F800000": "", "0f3F801000": "is no factor: round it first"} {
		text := ".version 7.0\n.target sm_80\n.visible .entry k()\n{\n.reg .b32 %r<3>;\n.reg .f32 %f<5>;\nmov.f32 %f0, 0f00000000;\nmov.b32 %r0, " + factor + ";\n" +
			"mma.sync.aligned.m16n8k8.row.col.f32.tf32.tf32.f32 {%f1, %f2, %f3, %f4}, {%r0, %r0, %r0, %r0}, {%r0, %r0}, {%f0, %f0, %f0, %f0};\nret;\n}"
		m, err := Parse(text)
		if err != nil {
			t.Fatal(err)
		}
		err = m.Kernels["k"].Run(NewMemory(0), Launch{Blocks: [3]uint32{1, 1, 1}, Threads: [3]uint32{32, 1, 1}})
		if (err == nil) != (want == "") || err != nil && !strings.Contains(err.Error(), want) {
			t.Errorf("%s: error %v; want one about %q", factor, err, want)
		}
	}
}

// TestLoadMatrixFragments loads four matrices where word w of row i of matrix m
// is 100m + 10i + w, and wants lane 4g + t to hold word t of row g of each.
func TestLoadMatrixFragments(t *testing.T) {
	m, err := Parse(`.version 7.0
.target sm_75
.visible .entry k(.param .u64 y)
{
.reg .b32 %r<12>;
.reg .b64 %rd<3>;
.shared .align 16 .b8 s[512];
ld.param.u64 %rd0, [y];
mov.u32 %r0, %tid.x;
and.b32 %r1, %r0, 7;
shr.u32 %r2, %r0, 3;
mul.lo.u32 %r3, %r1, 10;
mad.lo.u32 %r3, %r2, 100, %r3;
add.u32 %r4, %r3, 1;
add.u32 %r5, %r3, 2;
add.u32 %r6, %r3, 3;
shl.b32 %r7, %r0, 4;
mov.u32 %r8, s;
add.u32 %r7, %r7, %r8;
st.shared.v4.u32 [%r7], {%r3, %r4, %r5, %r6};
bar.sync 0;
ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%r8, %r9, %r10, %r11}, [%r7];
mul.wide.u32 %rd1, %r0, 16;
add.u64 %rd1, %rd1, %rd0;
st.global.v4.u32 [%rd1], {%r8, %r9, %r10, %r11};
ret;
}`)
	if err != nil {
		t.Fatal(err)
	}
	memory := NewMemory(0)
	y := memory.Alloc(512)
	counters := new(Counters)
	err = m.Kernels["k"].Run(memory, Launch{Blocks: [3]uint32{1, 1, 1}, Threads: [3]uint32{32, 1, 1}, Params: little.AppendUint64(nil, y), CheckRaces: true, Counters: counters})
	if err != nil {
		t.Fatal(err)
	}
	got, err := memory.Bytes(y, 512)
	if err != nil {
		t.Fatal(err)
	}
	for lane := range 32 {
		for i := range 4 {
			if x, want := little.Uint32(got[16*lane+4*i:]), 100*i+10*(lane/4)+lane%4; x != uint32(want) {
				t.Errorf("lane %d holds %d of matrix %d, want %d", lane, x, i, want)
			}
		}
	}
	if counters.SharedRequests != 8 || counters.Wavefronts != 8 {
		t.Errorf("%d requests in %d wavefronts; want 4 of each to store and to load", counters.SharedRequests, counters.Wavefronts)
	}
}

// TestSelectMayOverwriteItsOperands checks that selp reads all before it writes.
func TestSelectMayOverwriteItsOperands(t *testing.T) {
	const text = `.version 7.0
.target sm_75
.visible .entry one(.param .u64 y)
{
.reg .b64 %r<4>;
.reg .pred %p<1>;
ld.param.u64 %r0, [y];
mov.u64 %r1, 5;
mov.u64 %r2, 6;
setp.eq.s64 %p0, %r1, 5;
selp.b64 %r1, %r1, %r2, %p0;
st.global.u64 [%r0], %r1;
ret;
}
`
	m, err := Parse(text)
	if err != nil {
		t.Fatal(err)
	}
	memory := NewMemory(0)
	y := memory.Alloc(8)
	if err := m.Kernels["one"].Run(memory, Launch{Blocks: [3]uint32{1, 1, 1}, Threads: [3]uint32{1, 1, 1}, Params: little.AppendUint64(nil, y)}); err != nil {
		t.Fatal(err)
	}
	bytes, err := memory.Bytes(y, 8)
	if got := little.Uint64(bytes); got != 5 || err != nil {
		t.Errorf("got %d, error %v, want 5", got, err)
	}
}
