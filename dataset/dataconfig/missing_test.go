package dataconfig_test

import (
	"encoding/json"
	"reflect"
	"strings"
	"testing"

	"github.com/h5dnn/h5dnn/dataset/dataconfig"
)

// TestRulesOfMissingValues: a configuration has no other rules than those that fill or leave
// out, each with the numbers that it needs, and reads the text that it writes.
func TestRulesOfMissingValues(t *testing.T) {
	type missing = dataconfig.Missing
	for _, c := range []struct {
		m    missing
		want string // of the error
	}{
		{missing{}, ""},
		{missing{Rule: dataconfig.Refuse}, ""},
		{missing{Rule: dataconfig.Mean}, ""},
		{missing{Rule: dataconfig.Previous, Fill: []float64{1, 2}}, ""},
		{missing{Rule: dataconfig.Number, Fill: []float64{0.5}}, ""},
		{missing{Fields: map[string]missing{"x": {Rule: dataconfig.Mean, Fill: []float64{3}}, "y": {Rule: dataconfig.Ignore}}}, ""},
		{missing{Rule: "zero"}, `missing: cannot be "zero"`},
		{missing{Rule: dataconfig.Number}, "missing: number has 0 numbers"},
		{missing{Rule: dataconfig.Number, Fill: []float64{1, 2}}, "missing: number has 2 numbers"},
		{missing{Rule: dataconfig.Mean, Fill: []float64{}}, "missing: mean has 0 numbers"},
		{missing{Fields: map[string]missing{"x": {Rule: "median"}}}, `missing: x: cannot be "median"`},
		{missing{Fields: map[string]missing{"x": {Rule: dataconfig.Ignore}}}, "x is an input"},
		{missing{Fields: map[string]missing{"y": {Rule: dataconfig.Mean}}}, "y is a target"},
		{missing{Fields: map[string]missing{"z": {Rule: dataconfig.Mean}}}, "missing: z: no such input or target"},
	} {
		err := dataconfig.Config{File: dataconfig.Names{"a"}, X: dataconfig.Path("x"), Y: dataconfig.Path("y"), Missing: c.m}.Check()
		if c.want == "" && err != nil || c.want != "" && (err == nil || !strings.Contains(err.Error(), c.want)) {
			t.Errorf("%+v: error %v, want %q", c.m, err, c.want)
		}
		if err != nil || c.m.IsZero() {
			continue
		}
		text, err := json.Marshal(c.m)
		var back missing
		if err == nil {
			err = json.Unmarshal(text, &back)
		}
		if err != nil || !reflect.DeepEqual(back, c.m) {
			t.Errorf("%+v: read %+v from %s, %v", c.m, back, text, err)
		}
	}
}
