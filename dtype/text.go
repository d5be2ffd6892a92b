package dtype

// MarshalText writes t's name, so that JSON and YAML show it.
func (t Type) MarshalText() ([]byte, error) { return []byte(t.String()), nil }

// UnmarshalText reads a name as Parse does.
func (t *Type) UnmarshalText(name []byte) (err error) {
	*t, err = Parse(string(name))
	return err
}
