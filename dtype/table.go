package dtype

// A Table holds one value for each Type.
type Table[V any] [count]V

// TableOf returns the table of values, in which types without a value have the zero V.
func TableOf[V any](values map[Type]V) *Table[V] {
	var t Table[V]
	for key, value := range values {
		t[key.number] = value
	}
	return &t
}

// At returns the value of key.
func (t *Table[V]) At(key Type) V { return t[key.number] }
