package dataconfig

import (
	"cmp"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/h5dnn/h5dnn/config"
	"github.com/h5dnn/h5dnn/dataset"
	"github.com/h5dnn/h5dnn/storage"
	"github.com/h5dnn/h5dnn/views"
)

// What Missing says of missing values.
const (
	Refuse   = "error"    // they are an error
	Mean     = "mean"     // of the column in the training samples; of the channel in images
	Number   = "number"   // one for all
	Previous = "previous" // the row before in the same file or episode, else the mean
	Ignore   = "ignore"   // they are left out of the loss and of metrics
)

// MissingLabel is the class number of a sample whose label is missing.
const MissingLabel = -100 // as in PyTorch

// Missing says what becomes of missing values: NaN in inputs and targets of floats, which
// formats with missing values are read as, and class labels without a name. The zero Missing
// refuses them. Rules other than Ignore are for inputs, unless Fields name a target.
type Missing struct {
	Rule   string             // Refuse if empty
	Fill   []float64          // of Mean and Previous: for each column, or channel; of Number: one
	Fields map[string]Missing // by name of the input or target; nil if inputs are all alike
}

// For returns what becomes of missing values of the named input.
func (m Missing) For(input string) Missing {
	if m.Fields != nil {
		m = m.Fields[input]
	}
	if m.Rule == "" || m.Rule == Ignore {
		return Missing{Rule: Refuse}
	}
	return m
}

// ForTarget returns Ignore or Refuse: what becomes of missing values of the named target.
func (m Missing) ForTarget(target string) string {
	if m.Fields != nil {
		m = m.Fields[target]
	}
	if m.Rule == Ignore {
		return Ignore
	}
	return Refuse
}

// IsZero reports whether m refuses all missing values, and is not written.
func (m Missing) IsZero() bool { return m.Fields == nil && (m.Rule == "" || m.Rule == Refuse) }

// NeedsMeans reports whether m fills by means, which are computed over the training samples.
func (m Missing) NeedsMeans() bool { return m.Rule == Mean || m.Rule == Previous }

// ParseMissing reads error, mean, previous, ignore or a number, or these by name: x=mean,y=ignore.
func ParseMissing(text string) (Missing, error) {
	if number, err := strconv.ParseFloat(text, 64); err == nil && number-number == 0 {
		return Missing{Rule: Number, Fill: []float64{number}}, nil
	}
	if slices.Contains([]string{Refuse, Mean, Previous, Ignore}, text) {
		return Missing{Rule: text}, nil
	}
	if !strings.Contains(text, "=") {
		return Missing{}, config.Errorf("cannot be %q; want error, mean, previous, a number or ignore", text)
	}
	m := Missing{Fields: map[string]Missing{}}
	for part := range strings.SplitSeq(text, ",") {
		name, rule, _ := strings.Cut(part, "=")
		one, err := ParseMissing(rule)
		if err != nil {
			return Missing{}, err
		}
		m.Fields[name] = one
	}
	return m, nil
}

// UnmarshalJSON reads a number or the text of a rule, {"mean": [m, …]} and
// {"previous": [m, …]} of a run, or any of these for inputs and targets by name.
func (m *Missing) UnmarshalJSON(text []byte) (err error) {
	var rule string
	var number float64
	var named map[string]json.RawMessage
	switch {
	case json.Unmarshal(text, &rule) == nil:
		*m, err = ParseMissing(rule)
		return err
	case json.Unmarshal(text, &number) == nil:
		*m = Missing{Rule: Number, Fill: []float64{number}}
		return nil
	case json.Unmarshal(text, &named) != nil || len(named) == 0:
		return config.Errorf("want error, mean, previous, a number or ignore, or these by name of an input or target")
	}
	*m = Missing{Fields: map[string]Missing{}}
	for _, name := range slices.Sorted(maps.Keys(named)) {
		var fill []float64
		if len(named) == 1 && (name == Mean || name == Previous) && json.Unmarshal(named[name], &fill) == nil {
			*m = Missing{Rule: name, Fill: fill}
			return nil
		}
		var one Missing
		if err := json.Unmarshal(named[name], &one); err != nil {
			return config.At(err, name)
		}
		m.Fields[name] = one
	}
	return nil
}

// MarshalJSON writes what UnmarshalJSON reads.
func (m Missing) MarshalJSON() ([]byte, error) {
	switch {
	case m.Fields != nil:
		return json.Marshal(m.Fields)
	case m.Rule == Number:
		return json.Marshal(m.Fill[0])
	case m.NeedsMeans() && m.Fill != nil:
		return json.Marshal(map[string][]float64{m.Rule: m.Fill})
	case m.Rule == "":
		return json.Marshal(Refuse)
	}
	return json.Marshal(m.Rule)
}

// check reports a rule that there is not, or that has no numbers to fill with.
func (m Missing) check() error {
	switch {
	case !slices.Contains([]string{"", Refuse, Mean, Previous, Number, Ignore}, m.Rule):
		return config.Errorf("cannot be %q; want error, mean, previous, a number or ignore", m.Rule)
	case m.Rule == Number && len(m.Fill) != 1, m.NeedsMeans() && m.Fill != nil && len(m.Fill) == 0:
		return config.Errorf("%s has %d numbers to fill with; want one, or the means of all columns", m.Rule, len(m.Fill))
	}
	return nil
}

// checkMissing reports a rule of c.Missing that its field cannot have.
func (c Config) checkMissing() error {
	if err := c.Missing.check(); err != nil {
		return config.At(err, "missing")
	}
	inputs, targets := c.X.names("x"), c.Y.names("y")
	for _, name := range slices.Sorted(maps.Keys(c.Missing.Fields)) {
		if err := c.Missing.Fields[name].check(); err != nil {
			return config.At(err, "missing", name)
		}
		switch rule := c.Missing.Fields[name].Rule; {
		case slices.Contains(targets, name) && rule != Ignore && rule != Refuse:
			return wrong("%s is a target; want ignore or error", name, "missing")
		case slices.Contains(inputs, name) && rule == Ignore:
			return wrong("%s is an input; want mean, previous, a number or error", name, "missing")
		case !slices.Contains(inputs, name) && !slices.Contains(targets, name):
			return config.At(config.Unknown("input or target", name, append(inputs, targets...)), "missing", name)
		}
	}
	for _, name := range inputs {
		if c.Missing.For(name).Rule == Previous && c.XColumns.of(name) != "" {
			return wrong("rows of a sparse matrix do not follow each other; use mean or a number", "missing")
		}
	}
	return nil
}

// fillPrevious returns the rows of an input, with previous values in the place of missing ones
// if c says so.
func (c Config) fillPrevious(n dataset.NamedArray) (dataset.NamedArray, error) {
	if c.Missing.For(n.Name).Rule != Previous || !n.Array.Type.IsFloat() {
		return n, nil
	}
	at := cmp.Or(n.From.Name, n.Name)
	if n.Array.Rank() > 2 {
		return n, fmt.Errorf("%s: rows of %v are no rows of a table, which follow each other; set data.missing: mean, or a number: %w", at, n.Array.Shape[1:], views.ErrShape)
	}
	var err error
	n.Array, err = dataset.FillPrevious(at, n.Array)
	return n, err
}

// A MissingError says which value is missing, or infinite, where that is refused.
type MissingError struct {
	Found dataset.Missing
	Among string // what Found were counted in
	Way   string // to train nevertheless
}

func (e *MissingError) Error() string { return e.Found.Among(e.Among) + "; " + e.Way }

// Unwrap returns storage.ErrState.
func (*MissingError) Unwrap() error { return storage.ErrState }

// RefuseMissing returns a *MissingError for the first of found that c neither fills nor leaves
// out. They were counted in all samples, or in what else among says.
func (c Config) RefuseMissing(found []dataset.Missing, among string) error {
	for _, m := range found {
		ignored := m.Role == dataset.Target && c.Missing.ForTarget(m.Name) == Ignore
		filled := m.Role == dataset.Input && c.Missing.For(m.Name).Rule != Refuse
		switch {
		case m.NaN > 0 && !ignored && !filled:
			m.Inf = 0
			return &MissingError{m, among, c.waysFor(m)}
		case m.Inf > 0:
			m.NaN = 0
			return &MissingError{m, among, "infinities are never filled; replace them, or leave these rows out"}
		}
	}
	return nil
}

// waysFor returns the settings that accept the NaN of m.
func (c Config) waysFor(m dataset.Missing) string {
	switch {
	case m.Role == dataset.Weight:
		return "weights are numbers; replace it, or leave these rows out"
	case m.Role == dataset.Input && len(c.X) == 1 && c.Missing.Fields == nil:
		return "set data.missing: mean, previous or a number to fill it"
	case m.Role == dataset.Input:
		return fmt.Sprintf("set data.missing: {%s: mean}, previous or a number to fill it", m.Name)
	case c.Missing.IsZero() && len(c.Y) == 1:
		return "set data.missing: ignore to leave it out of the loss"
	}
	var rules []string
	for _, name := range c.X.names("x") {
		if one := c.Missing.For(name); one.Rule == Number {
			rules = append(rules, fmt.Sprintf("%s: %v", name, one.Fill[0]))
		} else if one.Rule != Refuse {
			rules = append(rules, name+": "+one.Rule)
		}
	}
	return fmt.Sprintf("set data.missing: {%s} to leave it out of the loss", strings.Join(append(rules, m.Name+": ignore"), ", "))
}
