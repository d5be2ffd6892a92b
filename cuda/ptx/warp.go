package ptx

// shuffles makes shfl.sync.MODE.b32 of whole warps.
func shuffles(d *decoder) execute {
	words := split(d.opcode)
	source := sources[words[min(2, len(words)-1)]]
	if source == nil || words[1] != "sync" {
		d.fail("unknown shuffle")
	}
	z, x, y := d.to(0), d.from(1), d.from(2)
	return func(b *block, lanes []int32) {
		zs, xs, ys := b.row(z), b.row(x), b.row(y)
		warps(lanes, func(lanes []int32) {
			first := lanes[0] / warp * warp
			var got [warp]uint64
			for _, l := range lanes {
				from := source(uint32(l-first), uint32(ys[l]))
				if from >= warp {
					from = uint32(l - first)
				}
				if int(first)+int(from) >= b.threads {
					b.fail(l, "a shuffle from thread %d, of a block of %d", int(first)+int(from), b.threads)
					return
				}
				got[l-first] = xs[first+int32(from)]
			}
			for _, l := range lanes {
				zs[l] = got[l-first]
			}
		})
	}
}

// sources say which lane of a warp a shuffle reads; past 31 it is one's own.
var sources = map[string]func(lane, by uint32) uint32{
	"down": func(lane, by uint32) uint32 { return lane + by },
	"up":   func(lane, by uint32) uint32 { return lane - by },
	"bfly": func(lane, by uint32) uint32 { return lane ^ by },
	"idx":  func(_, by uint32) uint32 { return by & 31 },
}

// products makes mma.sync m16n8k16 of halves, summed as float32: D = A·B + C.
func products(d *decoder) execute {
	value := halves[d.opcode]
	if value == nil {
		d.fail("unknown matrix product")
	}
	z, x, y, w := d.list(0, d.named), d.list(1, d.value), d.list(2, d.value), d.list(3, d.value)
	if len(z) != 4 || len(x) != 4 || len(y) != 2 || len(w) != 4 {
		d.fail("wants 4, 4, 2 and 4 registers")
	}
	return func(b *block, lanes []int32) {
		warps(lanes, func(lanes []int32) {
			if len(lanes) != warp {
				b.fail(lanes[0], "a matrix product that only %d threads of the warp reach", len(lanes))
				return
			}
			b.product(lanes[0], z, x, y, w, value)
		})
	}
}

// product follows the layouts of the PTX ISA, "Matrix Fragments for
// mma.m16n8k16": lane 4g+t holds of A the rows g and g+8 at columns 2t, 2t+1,
// 2t+8 and 2t+9, of B column g at these rows, of C and D rows g and g+8 at
// columns 2t and 2t+1.
func (b *block) product(first int32, z, x, y, w []int, value func(bits uint16) float32) {
	var out [warp][4]float32
	for lane := range int32(warp) {
		for o := range int32(4) {
			row, col := lane>>2+o>>1*8, 2*(lane&3)+o&1
			sum := f32(uint32(b.row(w[o])[first+lane]))
			for k := range int32(16) {
				owner := k & 7 >> 1
				xs := b.row(x[row>>3+k>>3<<1])[first+row&7<<2+owner]
				ys := b.row(y[k>>3])[first+col<<2+owner]
				sum += value(uint16(xs>>(16*(k&1)))) * value(uint16(ys>>(16*(k&1))))
			}
			out[lane][o] = sum
		}
	}
	for lane := range out {
		for o, r := range z {
			*as[float32](&b.row(r)[int(first)+lane]) = out[lane][o]
		}
	}
}

// halves are the values of a matrix product's factors, by the opcode.
var halves = map[string]func(bits uint16) float32{
	"mma.sync.aligned.m16n8k16.row.col.f32.bf16.bf16.f32": func(bits uint16) float32 { return f32(uint32(bits) << 16) },
	"mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32":   func(bits uint16) float32 { return float32(halfValue(bits)) },
}
