package ptx

import (
	"fmt"
	"math"
	"strconv"
	"strings"
)

// A decoder turns a statement into an instruction.
type decoder struct {
	*parser
	*statement
	index int // of the instruction
}

// An execute does an instruction's work for some threads of a block.
type execute = func(b *block, lanes []int32)

// A maker makes the work of an opcode's statements.
type maker func(d *decoder) execute

func (d *decoder) fail(format string, args ...any) {
	d.parser.from = d.statement.from
	d.parser.fail("%s: %s", d.statement.text, fmt.Sprintf(format, args...))
}

func (d *decoder) decode(in *instruction) {
	base, _, _ := strings.Cut(d.opcode, ".")
	switch base {
	case "bra":
		in.flow, in.target = branch, d.label()
	case "bar", "barrier":
		in.flow = barrier
		if in.guard != 0 || d.opcode != "bar.sync" || d.arg(0).words[0] != "0" {
			d.fail("only bar.sync 0, of all threads, is known")
		}
	case "ret", "exit":
		in.flow = exit
	case "shfl", "mma", "ldmatrix":
		in.flow = convergent
		if in.guard != 0 {
			d.fail("cannot be for some threads only")
		}
		in.run = d.maker()(d)
	default:
		in.run = d.maker()(d)
	}
}

// maker finds the opcode: as it is written, without the modifiers that say how
// to round to nearest, or by its first word for those that read their own.
func (d *decoder) maker() maker {
	base, _, _ := strings.Cut(d.opcode, ".")
	for _, name := range []string{d.opcode, plain.Replace(d.opcode), base} {
		if m, ok := opcodes[name]; ok {
			return m
		}
	}
	d.fail("unknown opcode")
	return nil
}

// plain drops modifiers that do not matter here: results are rounded to nearest
// and denormals kept unless an opcode is listed with what it does otherwise.
var plain = strings.NewReplacer(".rn", "", ".approx", "", ".ftz", "", ".lo", "", ".full", "", ".uni", "")

func (d *decoder) arg(i int) operand {
	if i >= len(d.args) {
		d.fail("has no operand %d", i+1)
	}
	return d.args[i]
}

func (d *decoder) label() int {
	to, ok := d.labels[d.arg(0).words[0]]
	if !ok {
		d.fail("unknown label")
	}
	return to
}

// named returns the register of that name.
func (d *decoder) named(name string) int {
	r, ok := d.names[name]
	if !ok {
		d.fail("unknown register %s", name)
	}
	return r
}

// to returns the register that operand i is, to write to.
func (d *decoder) to(i int) int {
	o := d.arg(i)
	if o.form != 0 {
		d.fail("operand %d is no register", i+1)
	}
	return d.named(o.words[0])
}

// pair returns the register of operand i, and the second one that it may be written to; 0 if it is not.
func (d *decoder) pair(i int) (first, second int) {
	o := d.arg(i)
	if o.form != '|' {
		return d.to(i), 0
	}
	return d.named(o.words[0]), d.named(o.words[1])
}

// from returns a register that holds operand i: a register, a number,
// or the address of a parameter or shared array.
func (d *decoder) from(i int) int {
	o := d.arg(i)
	if o.form != 0 {
		d.fail("operand %d is no value", i+1)
	}
	return d.value(o.words[0])
}

func (d *decoder) value(word string) int {
	if r, ok := d.names[word]; ok {
		return r
	}
	if strings.HasPrefix(word, "%") {
		return d.special(word)
	}
	if a, ok := d.common[word]; ok && !d.placed(word) {
		d.place(word, a)
	}
	if at, ok := d.symbols[word]; ok {
		return d.constant(uint64(at))
	}
	for _, name := range d.dynamic {
		if name == word {
			return d.launched()
		}
	}
	return d.constant(d.literal(word))
}

func (d *decoder) placed(name string) bool {
	_, ok := d.symbols[name]
	return ok
}

// literal returns the bits of a number: 7, -1, 0x1f, or a float's as 0f or 0d.
func (d *decoder) literal(word string) uint64 {
	digits, base := word, 0
	if len(word) > 2 && word[0] == '0' && (word[1] == 'f' || word[1] == 'd' || word[1] == 'F' || word[1] == 'D') {
		digits, base = word[2:], 16
	}
	if n, err := strconv.ParseUint(digits, base, 64); err == nil {
		return n
	}
	n, err := strconv.ParseInt(digits, base, 64)
	if err != nil {
		d.fail("unknown operand %s", word)
	}
	return uint64(n)
}

func (d *decoder) constant(bits uint64) int {
	r, ok := d.kernel.constants[bits]
	if !ok {
		r = d.register()
		d.kernel.constants[bits] = r
	}
	return r
}

// special returns the register of a name such as %tid.x.
func (d *decoder) special(word string) int {
	kind, axis, _ := strings.Cut(word[1:], ".")
	name := special{kind, strings.Index("xyz", axis)}
	if !strings.Contains("/tid/ntid/ctaid/nctaid/", "/"+kind+"/") || len(axis) != 1 || name.axis < 0 {
		d.fail("unknown register %s", word)
	}
	r, ok := d.kernel.specials[name]
	if !ok {
		r = d.register()
		d.kernel.specials[name] = r
	}
	return r
}

// launched returns the register of where shared memory starts that the launch sizes.
func (d *decoder) launched() int {
	if d.kernel.dynamic == 0 {
		d.kernel.dynamic = d.register()
	}
	return d.kernel.dynamic
}

// list returns the registers of an operand in braces, or of a single one.
func (d *decoder) list(i int, register func(word string) int) []int {
	o := d.arg(i)
	if o.form == '[' || o.form == '|' {
		d.fail("operand %d is no value", i+1)
	}
	all := make([]int, len(o.words))
	for k, word := range o.words {
		all[k] = register(word)
	}
	return all
}

// address returns the register and the offset that operand i adds up.
func (d *decoder) address(i int) (base int, offset uint64) {
	o := d.arg(i)
	if o.form != '[' {
		d.fail("operand %d is no address", i+1)
	}
	return d.value(o.words[0]), d.literal(o.words[1])
}

// kind returns the letter and size of the opcode's last modifier, which must be a type.
func (d *decoder) kind() (letter byte, size int) {
	letter, size = typeOf(d.opcode[strings.LastIndexByte(d.opcode, '.')+1:])
	if size == 0 {
		d.fail("unknown type")
	}
	return letter, size
}

// has reports whether the opcode has a modifier.
func (d *decoder) has(modifier string) bool {
	return strings.Contains(d.opcode+".", "."+modifier+".")
}

func f32(bits uint32) float32 { return math.Float32frombits(bits) }

func split(opcode string) []string { return strings.Split(opcode, ".") }
