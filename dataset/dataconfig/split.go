package dataconfig

import (
	"encoding/json"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/h5dnn/h5dnn/dataset"
	"github.com/h5dnn/h5dnn/views"
)

// Split says which samples are for validation instead of training. As text:
//
//	0.1         a random fraction of them
//	attr:NAME   as an attribute of the episode, of the inputs or of the file says:
//	            a word such as "train" or "valid", a mask, or a list of rows
//	mask:ROWS   the rows that a filter selects; see Config.Rows
//
// If samples are windows of several rows, no row is on both sides: a random fraction
// is of whole episodes, or the end of the only one.
type Split struct {
	Fraction  float64
	Attribute string
	Mask      string
}

// ParseSplit reads a Split from text; "" is none.
func ParseSplit(text string) (Split, error) {
	if name, ok := strings.CutPrefix(text, "attr:"); ok && name != "" {
		return Split{Attribute: name}, nil
	}
	if rows, ok := strings.CutPrefix(text, "mask:"); ok {
		_, err := parseFilter(rows)
		return Split{Mask: rows}, err
	}
	if percent, err := strconv.ParseFloat(strings.TrimSuffix(text, "%"), 64); err == nil && strings.HasSuffix(text, "%") {
		return Split{}, fmt.Errorf("cannot be %q; write it as %v", text, percent/100)
	}
	fraction, err := strconv.ParseFloat(text, 64)
	if text != "" && err != nil {
		return Split{}, fmt.Errorf("cannot be %q; want a fraction of the samples, such as 0.1, attr:NAME or mask:PATH", text)
	}
	return Split{Fraction: fraction}, nil
}

func (s Split) String() string {
	switch {
	case s.Attribute != "":
		return "attr:" + s.Attribute
	case s.Mask != "":
		return "mask:" + s.Mask
	}
	return strconv.FormatFloat(s.Fraction, 'g', -1, 64)
}

// UnmarshalJSON reads a number or the text of a Split.
func (s *Split) UnmarshalJSON(text []byte) (err error) {
	var written string
	if json.Unmarshal(text, &written) != nil {
		written = string(text)
	}
	*s, err = ParseSplit(written)
	return err
}

// MarshalJSON writes what UnmarshalJSON reads.
func (s Split) MarshalJSON() ([]byte, error) {
	if s.Attribute == "" && s.Mask == "" {
		return json.Marshal(s.Fraction)
	}
	return json.Marshal(s.String())
}

// divide returns the rows of parts for training and for validation.
func (s Split) divide(files Files, parts []*part, seed uint64) (train, val []*part, err error) {
	if s.Fraction > 0 {
		return s.divideAtRandom(parts, seed)
	}
	for _, p := range parts {
		chosen, left, err := s.rows(files, p)
		if err != nil {
			return nil, nil, err
		}
		train, val = append(train, p.only(left)), append(val, p.only(chosen))
	}
	return train, val, nil
}

// divideAtRandom selects whole parts at random. If there is only one part, it selects
// its end, so that validation data comes after training data.
func (s Split) divideAtRandom(parts []*part, seed uint64) (train, val []*part, err error) {
	if len(parts) == 1 {
		n := parts[0].len()
		cut := n - int(math.Round(s.Fraction*float64(n)))
		early := allRows(cut)
		return []*part{parts[0].only(early)}, []*part{parts[0].only(early.Complement(n))}, nil
	}
	rest, chosen, err := dataset.SplitRows(len(parts), s.Fraction, seed)
	if err != nil {
		return nil, nil, fmt.Errorf("of episodes: %w", err)
	}
	for _, i := range rest {
		train = append(train, parts[i])
	}
	for _, i := range chosen {
		val = append(val, parts[i])
	}
	return train, val, nil
}

// rows returns the rows of p for validation, and those for training.
func (s Split) rows(files Files, p *part) (chosen, left dataset.RowSet, err error) {
	if s.Mask != "" {
		f, err := parseFilter(s.Mask)
		if err == nil {
			chosen, err = f.rows(files, p)
		}
		return chosen, chosen.Complement(p.len()), err
	}
	for _, path := range []string{p.at.group(), p.at.path, "/"} {
		if path == "" {
			continue
		}
		values, err := files.Attribute(p.file, path, s.Attribute)
		if err != nil {
			return nil, nil, err
		}
		if values != nil {
			chosen, left, err = p.sides(values)
			if err != nil {
				err = fmt.Errorf("%s: %s: attribute %s: %w", p.file, path, s.Attribute, err)
			}
			return chosen, left, err
		}
	}
	return nil, nil, fmt.Errorf("%s: %s: neither it, its group nor the file has an attribute %s: %w", p.file, p.at.path, s.Attribute, views.ErrShape)
}

// forValidation are the words for validation data. Data that is neither for
// validation nor for training, such as a test set, is left out.
var forValidation = []string{"val", "valid", "validation", "dev"}

// sides returns the rows of p for validation and for training, from the elements of an
// attribute: one word for all of p, a bool for each row, or the indices of the rows
// for validation.
func (p *part) sides(values []any) (chosen, left dataset.RowSet, err error) {
	n, none := p.len(), dataset.RowSet{}
	if word, ok := values[0].(string); ok && len(values) == 1 {
		switch word = strings.ToLower(word); {
		case slices.Contains(forValidation, word):
			return allRows(n), none, nil
		case word == "train" || word == "training":
			return none, allRows(n), nil
		}
		return none, none, nil
	}
	for k, value := range values {
		switch value := value.(type) {
		case bool:
			if len(values) != n {
				return nil, nil, fmt.Errorf("%d bools for %d rows: %w", len(values), n, views.ErrShape)
			}
			if value {
				chosen = append(chosen, k)
			}
		case int64:
			chosen = append(chosen, int(value))
		case uint64:
			chosen = append(chosen, int(value))
		default:
			return nil, nil, fmt.Errorf("holds %v; want a word such as train or valid, bools, or indices of rows: %w", value, views.ErrShape)
		}
	}
	slices.Sort(chosen)
	chosen = slices.Compact(chosen)
	if len(chosen) > 0 && (chosen[0] < 0 || chosen[len(chosen)-1] >= n) {
		return nil, nil, fmt.Errorf("rows %d to %d of %d: %w", chosen[0], chosen[len(chosen)-1], n, views.ErrShape)
	}
	return chosen, chosen.Complement(n), nil
}
