package tensor

import (
	"slices"
	"strings"

	"github.com/h5dnn/h5dnn/tensor/internal/samples"
)

// Einsum returns the sum of products that an equation such as "bhqd,bhkd->bhqk" describes, as PyTorch's einsum: a letter for
// each axis of each operand and of the result; "..." for axes that are broadcast. A letter that is twice in an operand is its
// diagonal. Without "->" the result has the axes of "..." and then the letters that occur once, in alphabetical order. Operands
// are multiplied in pairs, the pair with the smallest result first.
func Einsum(equation string, xs ...*Tensor) *Tensor {
	checkGiven("einsum", xs...)
	inputs, output, explicit := strings.Cut(strings.ReplaceAll(equation, " ", ""), "->")
	terms := strings.Split(inputs, ",")
	if len(terms) != len(xs) {
		fail("einsum", ErrShape, "%q describes %d operands; got %d", equation, len(terms), len(xs))
	}
	e := einsum{equation: equation, sizes: map[rune]int{}}
	var parts []einsumTerm
	for i, x := range xs {
		parts = append(parts, einsumTerm{x, e.axesOf(terms[i], x.Rank())})
	}
	e.measure(parts)
	if explicit {
		e.output = e.resultAxes(output)
	} else {
		e.output = e.implicitAxes(parts)
	}
	for i := range parts {
		parts[i] = e.prepared(parts[i])
	}
	for len(parts) > 1 {
		i, j := e.cheapest(parts)
		x, y := parts[i], parts[j]
		parts = slices.Delete(slices.Delete(parts, j, j+1), i, i+1)
		parts = append(parts, e.product(x, y, parts))
	}
	return e.finished(parts[0])
}

type einsum struct {
	equation string
	output   []rune
	ellipsis int // axes that "..." stands for, at most
	sizes    map[rune]int
}

// einsumTerm is an operand with a letter for each axis.
type einsumTerm struct {
	x    *Tensor
	axes []rune
}

// dots is the letter of the last axis of "...": those before have the letters after.
const dots = '\uE000'

// axesOf returns the letters of an operand's axes.
func (e *einsum) axesOf(term string, rank int) (axes []rune) {
	before, after, has := strings.Cut(term, "...")
	n := rank - len(before) - len(after)
	if n < 0 || n > 0 && !has {
		fail("einsum", ErrShape, "%q of %q does not describe an operand with %d axes", term, e.equation, rank)
	}
	e.ellipsis = max(e.ellipsis, n)
	return e.letters(before, n, after)
}

func (e *einsum) letters(before string, n int, after string) (axes []rune) {
	axes = []rune(before)
	for k := n - 1; k >= 0; k-- {
		axes = append(axes, dots+rune(k))
	}
	axes = append(axes, []rune(after)...)
	for _, a := range axes {
		if !(a >= 'a' && a <= 'z' || a >= 'A' && a <= 'Z' || a >= dots) {
			fail("einsum", ErrShape, "%q in %q; want letters, commas, -> and ...", a, e.equation)
		}
	}
	return axes
}

// measure finds the size of each letter.
func (e *einsum) measure(parts []einsumTerm) {
	for _, p := range parts {
		for i, a := range p.axes {
			size, have := p.x.Shape()[i], e.sizes[a]
			if _, known := e.sizes[a]; known && size != have && size != 1 && have != 1 {
				fail("einsum", ErrShape, "%q: axis %d of %v is %d, and %d in another place", e.equation, i, p.x.Shape(), size, have)
			}
			if _, known := e.sizes[a]; !known || have == 1 {
				e.sizes[a] = size
			}
		}
	}
}

// resultAxes returns the letters after "->".
func (e *einsum) resultAxes(term string) []rune {
	before, after, has := strings.Cut(term, "...")
	n := 0
	if has {
		n = e.ellipsis
	}
	axes := e.letters(before, n, after)
	for i, a := range axes {
		if _, known := e.sizes[a]; !known || slices.Contains(axes[:i], a) {
			fail("einsum", ErrShape, "%q: the result has %q twice, or no operand has it", e.equation, a)
		}
	}
	return axes
}

// implicitAxes returns the letters of a result that the equation leaves out.
func (e *einsum) implicitAxes(parts []einsumTerm) []rune {
	count := map[rune]int{}
	for _, p := range parts {
		for _, a := range p.axes {
			count[a]++
		}
	}
	var once []rune
	for a, n := range count {
		if n == 1 && a < dots {
			once = append(once, a)
		}
	}
	slices.Sort(once)
	return e.letters("", e.ellipsis, string(once))
}

// prepared returns p with each letter once, and each axis of its full size unless that is 1 or broadcast by a product.
func (e *einsum) prepared(p einsumTerm) einsumTerm {
	for i := 0; i < len(p.axes); i++ {
		j := slices.Index(p.axes[:i], p.axes[i])
		if j < 0 {
			continue
		}
		if p.x.Shape()[i] != p.x.Shape()[j] {
			fail("einsum", ErrShape, "%q: axes %d and %d of %v differ", e.equation, j, i, p.x.Shape())
		}
		p.x = p.x.Diagonal(0, j, i)
		p.axes = append(slices.Delete(slices.Delete(slices.Clone(p.axes), i, i+1), j, j+1), p.axes[i])
		i = -1
	}
	shape := slices.Clone(p.x.Shape())
	for i, a := range p.axes {
		shape[i] = e.sizes[a]
	}
	p.x = p.x.Expand(shape...)
	return p
}

// cheapest returns the pair of parts whose product is smallest.
func (e *einsum) cheapest(parts []einsumTerm) (first, second int) {
	least := -1.0
	for i := range parts {
		for j := i + 1; j < len(parts); j++ {
			rest := slices.Delete(slices.Delete(slices.Clone(parts), j, j+1), i, i+1)
			size := 1.0
			for _, a := range union(parts[i].axes, parts[j].axes) {
				if e.needed(a, rest) {
					size *= float64(e.sizes[a])
				}
			}
			if least < 0 || size < least {
				least, first, second = size, i, j
			}
		}
	}
	return first, second
}

func union(a, b []rune) []rune {
	all := slices.Clone(a)
	for _, r := range b {
		if !slices.Contains(a, r) {
			all = append(all, r)
		}
	}
	return all
}

// needed reports whether the result or another part has an axis.
func (e *einsum) needed(axis rune, others []einsumTerm) bool {
	return slices.Contains(e.output, axis) || slices.ContainsFunc(others, func(p einsumTerm) bool { return slices.Contains(p.axes, axis) })
}

// product multiplies x and y, and sums over the axes that neither the result nor others need.
func (e *einsum) product(x, y einsumTerm, others []einsumTerm) einsumTerm {
	x, y = e.reduced(x, append(others, y)), e.reduced(y, append(others, x))
	var batch, left, right, inner []rune
	for _, a := range union(x.axes, y.axes) {
		switch inX, inY := slices.Contains(x.axes, a), slices.Contains(y.axes, a); {
		case inX && inY && e.needed(a, others):
			batch = append(batch, a)
		case inX && inY:
			inner = append(inner, a)
		case inX:
			left = append(left, a)
		default:
			right = append(right, a)
		}
	}
	axes := slices.Concat(batch, left, right)
	if len(inner) == 0 {
		return einsumTerm{e.aligned(x, axes).Mul(e.aligned(y, axes)), axes}
	}
	a, b := e.matrix(x, batch, left, inner), e.matrix(y, batch, inner, right)
	z := a.MatMul(b)
	return einsumTerm{z.Reshape(e.shape(axes)...), axes}
}

// reduced sums p over the axes that neither the result nor others need.
func (e *einsum) reduced(p einsumTerm, others []einsumTerm) einsumTerm {
	var gone []int
	var stay []rune
	for i, a := range p.axes {
		if e.needed(a, others) {
			stay = append(stay, a)
		} else {
			gone = append(gone, i)
		}
	}
	if len(gone) == 0 {
		return p
	}
	return einsumTerm{p.x.Sum(gone...), stay}
}

// aligned returns p with axes in that order, of size 1 where p has none.
func (e *einsum) aligned(p einsumTerm, axes []rune) *Tensor {
	var order []int
	for _, a := range axes {
		if i := slices.Index(p.axes, a); i >= 0 {
			order = append(order, i)
		}
	}
	x := p.x.Permute(order...)
	if len(order) == 0 {
		x = p.x
	}
	for i, a := range axes {
		if !slices.Contains(p.axes, a) {
			x = x.Unsqueeze(i)
		}
	}
	return x
}

// matrix returns p as matrices for each place in batch, with the axes of rows and of columns each joined to one.
func (e *einsum) matrix(p einsumTerm, batch, rows, columns []rune) *Tensor {
	x := e.aligned(p, slices.Concat(batch, rows, columns))
	shape := append(e.shape(batch), size(e.shape(rows)), size(e.shape(columns)))
	if !x.array.View.CanReshape(shape...) {
		x = x.Contiguous()
	}
	return x.Reshape(shape...)
}

func (e *einsum) shape(axes []rune) []int {
	shape := []int{}
	for _, a := range axes {
		shape = append(shape, e.sizes[a])
	}
	return shape
}

func size(shape []int) int {
	n := 1
	for _, s := range shape {
		n *= s
	}
	return n
}

// finished returns the last part as the result.
func (e *einsum) finished(p einsumTerm) *Tensor {
	return e.aligned(e.reduced(p, nil), e.output)
}

func init() {
	register := func(equation string, in ...samples.Input) {
		samples.Register("einsum "+equation, func(in ...*Tensor) *Tensor { return Einsum(equation, in...) }, in...)
	}
	register("ij,jk->ik", samples.In(2, 3).Rows(), samples.In(3, 4))
	register("bhqd,bhkd->bhqk", samples.In(2, 2, 3, 4).Rows(), samples.In(2, 2, 2, 4).Rows())
	register("...ij,...jk", samples.In(3, 1, 2, 3), samples.In(2, 3, 2))
	register("ii->i", samples.In(3, 3))
	register("ij->", samples.In(2, 3))
	register("i,j", samples.In(2), samples.In(3))
	register("ab,bc,cd->ad", samples.In(2, 3), samples.In(3, 2), samples.In(2, 4))
	register("bij,bj->ij", samples.In(2, 3, 4), samples.In(2, 4))
	register("bn,anm,bm->ba", samples.In(2, 3), samples.In(4, 3, 2), samples.In(2, 2))
}
