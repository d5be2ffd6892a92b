package ptx

import (
	"fmt"
	"strconv"
	"strings"
)

// MostShared is the maximum shared memory of a block, in bytes, of all GPUs.
const MostShared = 227 << 10

// Limits of a module, so that hostile input is rejected early.
const (
	mostRegisters = 1 << 16
	mostParams    = 4 << 10 // of PTX 7.0
	mostAlign     = 1 << 10
)

// Parse parses a module. Its errors contain the line number.
func Parse(text string) (m *Module, err error) {
	defer func() {
		switch e := recover().(type) {
		case nil:
		case syntaxError:
			m, err = nil, e.error
		default:
			panic(e)
		}
	}()
	p := parser{scanner: scanner{text: text}, module: &Module{Kernels: map[string]*Kernel{}}}
	p.common = map[string]sharedArray{}
	p.next()
	for p.word != "" {
		p.directive()
	}
	return p.module, nil
}

// A parser reads a module. Names are of the kernel that is being read, but for
// shared memory that launches size, which all kernels share.
type parser struct {
	scanner
	module  *Module
	dynamic []string
	common  map[string]sharedArray // shared arrays that any kernel may use

	kernel     *Kernel
	names      map[string]int // registers
	symbols    map[string]int // offsets of parameters and shared arrays
	labels     map[string]int // instructions
	statements []statement
}

// A statement is an instruction as it is written.
type statement struct {
	guard   string
	negated bool
	opcode  string
	args    []operand
	from    int // where its text starts
	text    string
}

// An operand is a register, a number or a label; several in braces; two registers with
// a bar between them; or an address in brackets, of a base and an offset.
type operand struct {
	form  byte // 0, '{', '|' or '['
	words []string
}

func (p *parser) directive() {
	switch p.take() {
	case ".version":
		p.module.Version = p.take()
	case ".target":
		p.module.Target = p.take()
	case ".address_size":
		p.want("64")
	case ".extern":
		p.want(".shared")
		p.dynamic = append(p.dynamic, p.sharedName())
		p.want("[")
		p.want("]")
		p.want(";")
	case ".shared":
		name, a := p.area()
		p.common[name] = a
	case ".visible":
		p.want(".entry")
		p.entry()
	default:
		p.fail("cannot use this directive: only entries and shared memory are known")
	}
}

// sharedName moves past ".align 4 .b8 name".
func (p *parser) sharedName() string {
	if p.accept(".align") {
		p.take()
	}
	p.want(".b8")
	return p.take()
}

func (p *parser) number() int {
	n, err := strconv.Atoi(p.word)
	if err != nil {
		p.fail("found %q where a count belongs", p.word)
	}
	p.next()
	return n
}

func (p *parser) alignment() int {
	n := p.number()
	if n < 1 || n > mostAlign {
		p.fail("alignment to %d", n)
	}
	return n
}

func (p *parser) entry() {
	p.kernel = &Kernel{Name: p.take(), constants: map[uint64]int{}, specials: map[special]int{}, registers: 1}
	p.names, p.symbols, p.labels, p.statements = map[string]int{}, map[string]int{}, map[string]int{}, nil
	if p.module.Kernels[p.kernel.Name] != nil {
		p.fail("a second entry %s", p.kernel.Name)
	}
	p.want("(")
	for !p.accept(")") {
		p.param()
		p.accept(",")
	}
	for p.word != "{" {
		p.performance()
	}
	p.next()
	p.body()
	p.assemble()
	p.module.Kernels[p.kernel.Name] = p.kernel
}

// param moves past ".param .align 8 .b8 name[24]" or ".param .u64 name".
func (p *parser) param() {
	p.want(".param")
	align := 0
	if p.accept(".align") {
		align = p.alignment()
	}
	kind, dotted := strings.CutPrefix(p.word, ".")
	_, size := typeOf(kind)
	if size == 0 || !dotted {
		p.fail("found %q where a parameter's type belongs", p.word)
	}
	p.next()
	name := p.take()
	if align == 0 {
		align = size
	}
	if p.accept("[") {
		size *= min(p.number(), mostParams+1)
		p.want("]")
	}
	k := p.kernel
	at := (k.params + align - 1) / align * align
	if size > mostParams || at+size > mostParams {
		p.fail("more than %d bytes of parameters", mostParams)
	}
	p.symbols[name] = at
	k.Params = append(k.Params, Param{at, size})
	k.params = at + size
}

// performance moves past a directive between an entry's head and its body.
func (p *parser) performance() {
	if !strings.HasPrefix(p.word, ".") {
		p.fail("found %q where a kernel's body belongs", p.word)
	}
	name := p.take()
	product := p.number()
	for p.accept(",") {
		product *= p.number()
	}
	if name == ".maxntid" {
		p.kernel.Threads = product
	}
}

// body reads up to the brace that closes it. Braces inside are scopes of
// names, which the compiler keeps apart by itself.
func (p *parser) body() {
	for depth := 1; ; {
		switch {
		case p.accept("{"):
			depth++
		case p.accept("}"):
			if depth--; depth == 0 {
				return
			}
		case p.accept(".reg"):
			p.declare()
		case p.accept(".shared"):
			p.place(p.area())
		case p.accept(".pragma"):
			p.to(";")
			p.next()
		case strings.HasPrefix(p.word, "."):
			p.fail("cannot use %s inside a kernel", p.word)
		default:
			p.statement()
		}
	}
}

// declare moves past ".reg .b32 %r<34>;" or ".reg .b16 tmp;".
func (p *parser) declare() {
	p.take()
	name := p.take()
	if !p.accept("<") {
		p.names[name] = p.register()
	} else {
		for i := range p.number() {
			p.names[name+strconv.Itoa(i)] = p.register()
		}
		p.want(">")
	}
	p.want(";")
}

func (p *parser) register() int {
	if p.kernel.registers == mostRegisters {
		p.fail("more than %d registers", mostRegisters)
	}
	p.kernel.registers++
	return p.kernel.registers - 1
}

// A sharedArray is a shared array without an address yet.
type sharedArray struct{ align, size int }

// area moves past ".align 4 .b8 name[32];".
func (p *parser) area() (name string, a sharedArray) {
	a.align = 1
	if p.accept(".align") {
		a.align = p.alignment()
	}
	if p.accept(".u32") { // a single word
		name, a.size = p.take(), 4
		p.want(";")
		return name, a
	}
	p.want(".b8")
	name = p.take()
	p.want("[")
	a.size = p.number()
	p.want("]")
	p.want(";")
	return name, a
}

// place assigns a shared array its offset in the kernel.
func (p *parser) place(name string, a sharedArray) {
	at := (p.kernel.Shared + a.align - 1) / a.align * a.align
	if a.size > MostShared || at+a.size > MostShared {
		p.fail("more than %d bytes of shared memory", MostShared)
	}
	p.symbols[name] = at
	p.kernel.Shared = at + a.size
}

// statement reads a label or an instruction.
func (p *parser) statement() {
	s := statement{from: p.from}
	if p.accept("@") {
		s.negated = p.accept("!")
		s.guard = p.take()
	}
	s.opcode = p.take()
	if s.guard == "" && p.accept(":") {
		p.labels[s.opcode] = len(p.statements)
		return
	}
	for p.word != ";" {
		s.args = append(s.args, p.operand())
		if p.word != ";" {
			p.want(",")
		}
	}
	s.text = strings.Join(strings.Fields(p.text[s.from:p.from]), " ")
	p.next()
	p.statements = append(p.statements, s)
}

func (p *parser) operand() operand {
	switch {
	case p.accept("{"):
		o := operand{form: '{'}
		for !p.accept("}") {
			o.words = append(o.words, p.signed())
			p.accept(",")
		}
		if len(o.words) == 0 {
			p.fail("empty braces")
		}
		return o
	case p.accept("["):
		o := operand{form: '[', words: []string{p.take(), "0"}}
		if p.accept("+") {
			o.words[1] = p.signed()
		}
		p.want("]")
		return o
	}
	word := p.signed()
	if p.accept("|") {
		return operand{form: '|', words: []string{word, p.take()}}
	}
	return operand{words: []string{word}}
}

func (p *parser) signed() string {
	if p.accept("-") {
		return "-" + p.take()
	}
	return p.take()
}

// assemble decodes the kernel's statements to instructions.
func (p *parser) assemble() {
	p.kernel.code = make([]instruction, len(p.statements))
	for i := range p.statements {
		s := &p.statements[i]
		in := &p.kernel.code[i]
		in.text, in.kind, in.cycles, in.negated = s.text, kindOf(s.opcode), uint16(s.cost()), s.negated
		d := decoder{p, s, i}
		if s.guard != "" {
			in.guard = d.named(s.guard)
		}
		d.decode(in)
	}
}

// typeOf returns the letter and the size in bytes of a type such as "u32".
func typeOf(word string) (kind byte, size int) {
	if word == "pred" {
		return 'p', 1
	}
	if len(word) < 2 || strings.IndexByte("usbf", word[0]) < 0 {
		return 0, 0
	}
	switch bits := word[1:]; bits {
	case "8", "16", "32", "64":
		n, _ := strconv.Atoi(bits)
		return word[0], n / 8
	}
	return 0, 0
}

func (i instruction) String() string { return fmt.Sprintf("`%s`", i.text) }
