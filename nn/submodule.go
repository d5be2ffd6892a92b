package nn

import (
	"encoding/json"

	"github.com/h5dnn/h5dnn/storage"
)

// A Submodule is a module as a setting of another. Configurations describe it as
// FromConfig and Describe do.
type Submodule struct {
	Module
	device storage.Device // of the parameters of a module that UnmarshalJSON builds
}

// UnmarshalJSON builds the module that text describes.
func (s *Submodule) UnmarshalJSON(text []byte) (err error) {
	if string(text) == "null" {
		return nil
	}
	s.Module, err = fromJSON(text, s.device)
	return err
}

func (s *Submodule) placeOn(d storage.Device) { s.device = d }

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
