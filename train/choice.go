package train

import (
	"encoding/json"
	"fmt"
)

// A Choice is yes, no or auto. The zero Choice is auto: done if possible and useful.
type Choice string

const (
	auto Choice = ""
	yes  Choice = "yes"
	no   Choice = "no"
)

// ParseChoice reads auto, yes or no.
func ParseChoice(text string) (Choice, error) {
	known := map[string]Choice{"": auto, "auto": auto, "yes": yes, "true": yes, "no": no, "false": no}
	c, ok := known[text]
	if !ok {
		return auto, fmt.Errorf("cannot be %q; want auto, yes or no", text)
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
