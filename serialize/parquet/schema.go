package parquet

import (
	"fmt"
	"math/bits"
)

// A leaf is a column of the schema that has values: one at the top, or one below groups, which
// are structs, lists and maps.
type leaf struct {
	name    string // that of members of structs is joined by points
	element object
	nested  string // what it is that is not read, or ""

	// Levels say what is missing. A value is there if its definition level is the largest. An
	// element of a list is there from level listed on; at one less the list is empty, and below
	// that it is missing. The repetition level is 1 for elements after the first.
	definition, repetition, listed int
}

// widthOf returns the bits of a level.
func widthOf(level int) int { return bits.Len(uint(level)) }

// A schemaReader lists the leaves of a schema, which is a tree in prefix order.
type schemaReader struct {
	elements []any
	leaves   []leaf
	err      error
}

// Repetitions of elements of a schema, and types of groups.
const (
	optional, repeated = 1, 2

	convertedMap, convertedMapKeyValue, convertedList = 1, 2, 3
	logicalMap, logicalList                           = 2, 3
)

// leavesOf returns the leaves of a schema, without its root.
func leavesOf(schema []any) ([]leaf, error) {
	r := &schemaReader{elements: schema[1:]}
	for len(r.elements) > 0 && r.err == nil {
		r.walk(leaf{}, "", 0)
	}
	return r.leaves, r.err
}

// walk adds the leaves at and below the next element, which is below a group. Its name is not
// that of its leaves if the group says what they are called.
func (r *schemaReader) walk(above leaf, named string, depth int) {
	if len(r.elements) == 0 || depth > maxDepth {
		r.err = fmt.Errorf("groups of the schema: %w", errThrift)
		return
	}
	element, _ := r.elements[0].(object)
	r.elements = r.elements[1:]
	x := above
	x.element = element
	if x.name = named; named == "" {
		x.name = joined(above.name, text(element, 4))
	}
	switch integer(element, 3) {
	case optional:
		x.definition++
	case repeated:
		x.definition++
		x.repetition++
		if x.listed = x.definition; x.repetition > 1 {
			x.nested = "list of lists"
		}
	}
	children := integer(element, 5)
	if children <= 0 {
		r.leaves = append(r.leaves, x)
		return
	}
	if children > int64(len(r.elements)) {
		r.err = fmt.Errorf("a group of %d elements of %d: %w", children, len(r.elements), errThrift)
		return
	}
	if child, _ := r.elements[0].(object); children == 1 && integer(child, 3) == repeated && isList(element) {
		r.list(x, child, depth)
		return
	}
	for range children {
		r.walk(x, "", depth+1)
	}
}

// list adds the leaves of a list, whose elements are those of the repeated group in it, or, as
// old writers have it, that group itself (parquet-format/LogicalTypes.md).
func (r *schemaReader) list(x leaf, child object, depth int) {
	name := text(child, 4)
	if n := integer(child, 5); n == 0 || n == 1 && (name == "array" || name == x.name+"_tuple") {
		r.walk(x, x.name, depth+1)
		return
	}
	r.elements = r.elements[1:]
	x.definition++
	x.repetition++
	if x.listed = x.definition; x.repetition > 1 {
		x.nested = "list of lists"
	}
	n := integer(child, 5)
	if n > int64(len(r.elements)) {
		r.err = fmt.Errorf("a list of %d elements of %d: %w", n, len(r.elements), errThrift)
		return
	}
	for range n {
		if n == 1 {
			r.walk(x, x.name, depth+2)
		} else {
			r.walk(x, "", depth+2)
		}
	}
}

// isList reports whether a group is a list or a map, which is a list of keys and values.
func isList(element object) bool {
	logical := sub(element, 10)
	_, list := logical[logicalList]
	_, maps := logical[logicalMap]
	converted, ok := element[6].(int64)
	return list || maps || ok && (converted == convertedList || converted == convertedMap || converted == convertedMapKeyValue)
}

func joined(above, name string) string {
	if above == "" {
		return name
	}
	return above + "." + name
}
