package config

import (
	"encoding/json"
	"fmt"
)

// A Choice is yes, no or auto. The zero Choice is auto: done if possible and useful.
type Choice string

const (
	Auto Choice = ""
	Yes  Choice = "yes"
	No   Choice = "no"
)

// ParseChoice reads auto, yes or no.
func ParseChoice(text string) (Choice, error) {
	known := map[string]Choice{"": Auto, "auto": Auto, "yes": Yes, "true": Yes, "no": No, "false": No}
	c, ok := known[text]
	if !ok {
		return Auto, fmt.Errorf("cannot be %q; want auto, yes or no", text)
	}
	return c, nil
}

// UnmarshalJSON reads true and false too.
func (c *Choice) UnmarshalJSON(text []byte) (err error) {
	var written string
	if json.Unmarshal(text, &written) != nil {
		written = string(text)
	}
	*c, err = ParseChoice(written)
	return err
}

// OneOrMore reads a value, or a list of values.
func OneOrMore[T any](text []byte) ([]T, error) {
	var one T
	if json.Unmarshal(text, &one) == nil {
		return []T{one}, nil
	}
	var list []T
	err := json.Unmarshal(text, &list)
	return list, err
}
