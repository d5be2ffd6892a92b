package ptx

// decodeShfl decodes shfl.sync.MODE.b32, which reads lanes of the same warp. An optional predicate
// is set if the source lane is in the segment.
func decodeShfl(d *decoder) execute {
	words := split(d.opcode)
	source := sources[words[min(2, len(words)-1)]]
	if source == nil || words[1] != "sync" {
		d.fail("unknown shuffle")
	}
	z, inside := d.pair(0)
	x, y, ends := d.from(1), d.from(2), d.from(3)
	return func(b *block, lanes []int32) {
		zs, xs, ys, cs := b.row(z), b.row(x), b.row(y), b.row(ends)
		warps(lanes, func(lanes []int32) {
			first := lanes[0] / warp * warp
			var got [warp]uint64
			var ok [warp]uint64
			for _, l := range lanes {
				var from int32
				from, ok[l-first] = source.lane(l-first, int32(ys[l]), int32(cs[l]))
				if int(first+from) >= b.threads {
					b.fail(l, "a shuffle from thread %d, of a block of %d", first+from, b.threads)
					return
				}
				got[l-first] = xs[first+from]
			}
			for _, l := range lanes {
				zs[l] = got[l-first]
				if inside != 0 {
					b.row(inside)[l] = ok[l-first]
				}
			}
		})
	}
}

// A source computes the source lane of a shuffle, and whether it is in the segment (PTX ISA, "shfl.sync"). last is
// the last lane of the segment, or for up the first; lanes of a segment have the bits of mask in common.
type source func(lane, by, mask, last int32) (from int32, ok bool)

var sources = map[string]source{
	"down": func(lane, by, _, last int32) (int32, bool) { return lane + by, lane+by <= last },
	"up":   func(lane, by, _, last int32) (int32, bool) { return lane - by, lane-by >= last },
	"bfly": func(lane, by, _, last int32) (int32, bool) { return lane ^ by, lane^by <= last },
	"idx": func(lane, by, mask, last int32) (int32, bool) {
		from := lane&mask | by&^mask
		return from, from <= last
	},
}

// lane returns the source lane for operands b and c of shfl (here by and ends): bits 8 to 12 of c are the mask of
// segments, bits 0 to 4 the last lane (PTX ISA, "shfl.sync"). A lane outside the segment reads itself.
func (s source) lane(lane, by, ends int32) (from int32, ok uint64) {
	mask, last := ends>>8&31, ends&31
	from, inside := s(lane, by&31, mask, lane&mask|last&^mask)
	if !inside {
		return lane, 0
	}
	return from, 1
}

// A matrixKind is the element type of the factors of a matrix product: each 32-bit word has each
// elements, value returns element i, and ok reports whether a word is valid.
type matrixKind struct {
	each  int
	value func(word uint32, i int) float32
	ok    func(word uint32) bool
}

// matrices are the known matrix products, of 16 rows by 8 columns by 8 words, by opcode.
var matrices = map[string]matrixKind{
	"mma.sync.aligned.m16n8k16.row.col.f32.bf16.bf16.f32": {2, func(word uint32, i int) float32 { return f32(word >> (16 * i) << 16) }, anything},
	"mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32":   {2, func(word uint32, i int) float32 { return float32(halfValue(uint16(word >> (16 * i)))) }, anything},
	"mma.sync.aligned.m16n8k8.row.col.f32.tf32.tf32.f32":  {1, func(word uint32, _ int) float32 { return f32(word) }, rounded32},
}

func anything(uint32) bool { return true }

// rounded32 reports whether a float32 is a TF32, which has 13 bits less. A GPU
// ignores these; cvt.rna.tf32.f32 leaves none.
func rounded32(word uint32) bool { return word&(1<<13-1) == 0 }

// decodeMMA decodes mma.sync with sums of float32: D = A·B + C.
func decodeMMA(d *decoder) execute {
	kind, known := matrices[d.opcode]
	if !known {
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
			b.product(lanes[0], z, x, y, w, kind)
		})
	}
}

// product follows the layouts of the PTX ISA, "Matrix Fragments for mma.m16n8k16"
// and "mma.m16n8k8", which are one in words: lane 4g+t holds of A the rows g and g+8 at
// words t and t+4, of B column g at these words, of C and D rows g and g+8 at
// columns 2t and 2t+1.
func (b *block) product(first int32, z, x, y, w []int, kind matrixKind) {
	var left [16][16]float32
	var right [8][16]float32
	for lane := range int32(warp) {
		g, t := lane>>2, lane&3
		for i, r := range x {
			b.factor(first+lane, r, left[g+int32(i&1*8)][:], t+int32(i>>1*4), kind)
		}
		for i, r := range y {
			b.factor(first+lane, r, right[g][:], t+int32(i*4), kind)
		}
	}
	for lane := range int32(warp) {
		for i := range int32(4) {
			row, col := &left[lane>>2+i>>1*8], &right[2*(lane&3)+i&1]
			sum := f32(uint32(b.row(w[i])[first+lane]))
			for k := range 8 * kind.each {
				sum += row[k] * col[k]
			}
			*as[float32](&b.row(z[i])[first+lane]) = sum
		}
	}
}

// factor moves a lane's word, the at-th of a row or column, to the numbers that it is.
func (b *block) factor(l int32, register int, to []float32, at int32, kind matrixKind) {
	word := uint32(b.row(register)[l])
	if !kind.ok(word) {
		b.fail(l, "%#x is no factor: round it first", word)
	}
	for i := range kind.each {
		to[int(at)*kind.each+i] = kind.value(word, i)
	}
}

// decodeLdmatrix decodes ldmatrix, which loads matrices of 8 rows of 16 bytes from shared
// memory: lane 8m+i gives the address of row i of matrix m, and lane 4g+t gets of each
// matrix word t of row g (PTX ISA, "ldmatrix").
func decodeLdmatrix(d *decoder) execute {
	to := d.list(0, d.named)
	if d.opcode != "ldmatrix.sync.aligned.m8n8.x4.shared.b16" || len(to) != 4 {
		d.fail("only four matrices, neither turned, are known")
	}
	a := &access{size: 4, regs: to}
	a.base, a.offset = d.address(1)
	return func(b *block, lanes []int32) {
		b.countWavefronts(a, lanes)
		warps(lanes, func(lanes []int32) {
			for m, r := range to {
				b.fragment(lanes, a, m, b.row(r))
			}
		})
	}
}

// fragment loads the m-th matrix of a warp.
func (b *block) fragment(lanes []int32, a *access, m int, to []uint64) {
	if len(lanes) != warp {
		b.fail(lanes[0], "a matrix that only %d threads of the warp load", len(lanes))
		return
	}
	at := b.row(a.base)
	var words [warp]uint64
	for g, l := range lanes[8*m : 8*m+8] {
		row := b.sharedBytes(l, at[l]+a.offset, a.bytes(), false)
		if row == nil {
			return
		}
		for t := range 4 {
			words[4*g+t] = uint64(little.Uint32(row[4*t:]))
		}
	}
	for i, l := range lanes {
		to[l] = words[i]
	}
}
