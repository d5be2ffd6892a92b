package nn

import "encoding/json"

// A Submodule is a module as a setting of another. Configurations describe it as
// FromConfig and Describe do.
type Submodule struct{ Module }

// UnmarshalJSON builds the module that text describes.
func (s *Submodule) UnmarshalJSON(text []byte) (err error) {
	if string(text) == "null" {
		return nil
	}
	s.Module, err = fromJSON(text)
	return err
}

// MarshalJSON describes the module.
func (s Submodule) MarshalJSON() ([]byte, error) {
	if s.Module == nil {
		return []byte("null"), nil
	}
	description, err := Describe(s.Module)
	if err != nil {
		return nil, err
	}
	return json.Marshal(description)
}

// IsZero reports whether s holds no module.
func (s Submodule) IsZero() bool { return s.Module == nil }
