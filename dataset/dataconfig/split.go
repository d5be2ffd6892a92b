package dataconfig

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strconv"
	"strings"

	"github.com/h5dnn/h5dnn/config"
)

// Split says which samples are for validation instead of training. As text:
//
//	0.1         a random fraction of them
//	attr:NAME   as an attribute of the episode, of the inputs or of the file says:
//	            a word such as "train" or "valid", a mask, or a list of rows
//	column:PATH as a column of such words says, one for each row
//	mask:ROWS   the rows that a filter selects; see Config.Rows
//
// Rows that are called neither train nor valid, such as a test set, are left out.
//
// If x has stars, or samples are windows of several rows, whole episodes are on one
// side: a random fraction is of episodes, or the end of the only one.
type Split struct {
	Fraction  float64  `json:"fraction,omitempty"`  // of the samples, or of the episodes, that are for validation, at random
	Folds     int      `json:"folds,omitempty"`     // of equal size, into which samples or episodes are divided at random
	Fold      int      `json:"fold,omitempty"`      // the one for validation, from 0 on
	Group     string   `json:"group,omitempty"`     // PATH of a column, such as of patients, whose equal values stay on one side
	Stratify  Stratify `json:"stratify,omitempty"`  // true, or PATH of a column of labels: each class has its share of both sides
	By        string   `json:"by,omitempty"`        // rows: divide the rows of episodes; episodes if empty
	Attribute string   `json:"attribute,omitempty"` // NAME of attr:NAME
	Column    string   `json:"column,omitempty"`    // PATH of column:PATH
	Mask      string   `json:"valid,omitempty"`     // ROWS for validation, as mask:ROWS
	Train     string   `json:"train,omitempty"`     // ROWS for training, such as a list of episodes; all that are not valid if empty
}

// Stratify is the path of a column of labels, or "true" for the targets' labels.
type Stratify string

// UnmarshalJSON reads a bool or a path.
func (s *Stratify) UnmarshalJSON(text []byte) error {
	var yes bool
	if json.Unmarshal(text, &yes) != nil {
		return json.Unmarshal(text, (*string)(s))
	}
	if *s = ""; yes {
		*s = stratifyTargets
	}
	return nil
}

// stratifyTargets is the Stratify of the labels of the targets.
const stratifyTargets Stratify = "true"

// ParseSplit reads a Split from text, or from the object of a configuration; "" means no split.
func ParseSplit(text string) (s Split, err error) {
	if strings.HasPrefix(text, "{") {
		doc, err := config.ParseYAML([]byte(text))
		if err == nil {
			err = doc.Decode(&s)
		}
		if err == nil {
			err = s.check()
		}
		return s, err
	}
	if name, ok := strings.CutPrefix(text, "attr:"); ok && name != "" {
		return Split{Attribute: name}, nil
	}
	if path, ok := strings.CutPrefix(text, "column:"); ok && path != "" {
		return Split{Column: path}, nil
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
		return Split{}, fmt.Errorf("cannot be %q; want a fraction of the samples, such as 0.1, attr:NAME, column:PATH, mask:ROWS or {folds: 5, fold: 0}", text)
	}
	return Split{Fraction: fraction}, nil
}

// text returns the short form of s, or false if it has none.
func (s Split) text() (string, bool) {
	switch s {
	case Split{Attribute: s.Attribute}:
		if s.Attribute != "" {
			return "attr:" + s.Attribute, true
		}
	case Split{Column: s.Column}:
		return "column:" + s.Column, true
	case Split{Mask: s.Mask}:
		return "mask:" + s.Mask, true
	}
	return strconv.FormatFloat(s.Fraction, 'g', -1, 64), s == Split{Fraction: s.Fraction}
}

// String returns what ParseSplit reads.
func (s Split) String() string {
	if text, ok := s.text(); ok {
		return text
	}
	text, _ := json.Marshal(s)
	return string(text)
}

// UnmarshalJSON reads a number, the text of a Split, or an object.
func (s *Split) UnmarshalJSON(text []byte) (err error) {
	if bytes.HasPrefix(text, []byte("{")) {
		type plain Split
		*s = Split{}
		return config.Decode(text, (*plain)(s))
	}
	var written string
	if json.Unmarshal(text, &written) != nil {
		written = string(text)
	}
	*s, err = ParseSplit(written)
	return err
}

// MarshalJSON writes what UnmarshalJSON reads.
func (s Split) MarshalJSON() ([]byte, error) {
	if s == (Split{Fraction: s.Fraction}) {
		return json.Marshal(s.Fraction)
	}
	if text, ok := s.text(); ok {
		return json.Marshal(text)
	}
	type plain Split
	return json.Marshal(plain(s))
}

// random reports whether samples are divided at random.
func (s Split) random() bool { return s.Fraction > 0 || s.Folds > 0 }

// check returns the first setting of s that cannot be.
func (s Split) check() error {
	ways := 0
	for _, given := range []bool{s.Fraction != 0, s.Folds != 0, s.Attribute != "", s.Column != "", s.Mask != ""} {
		if given {
			ways++
		}
	}
	switch {
	case s == Split{}:
		return nil
	case !(s.Fraction >= 0 && s.Fraction < 1):
		return config.Errorf("cannot be %v; want a fraction of the samples, such as 0.1", s.Fraction)
	case ways != 1:
		return config.Errorf("want one of fraction, folds, attribute, column and valid")
	case s.Folds < 0 || s.Folds == 1:
		return wrong("want at least 2", "folds")
	case s.Fold < 0 || s.Fold >= max(1, s.Folds):
		return wrong("want a number from 0 to folds - 1", "fold")
	case (s.Group != "" || s.Stratify != "" || s.By != "") && !s.random():
		return config.Errorf("group, stratify and by belong to a fraction or to folds")
	case s.By != "" && s.By != "rows" && s.By != "episodes":
		return wrong("no unit %q; want rows or episodes", s.By, "by")
	case s.By != "" && s.Group != "":
		return wrong("group names what stays whole; leave by out", "by")
	case s.Train != "" && s.Mask == "":
		return wrong("name valid too", "train")
	}
	if _, err := parseFilter(s.Mask); s.Mask != "" && err != nil {
		return config.At(err, "valid")
	}
	if _, err := parseFilter(s.Train); s.Train != "" && err != nil {
		return config.At(err, "train")
	}
	return nil
}
