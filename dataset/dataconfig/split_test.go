package dataconfig_test

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/h5dnn/h5dnn/dataset/dataconfig"
	"github.com/h5dnn/h5dnn/storage"
)

// cohort is a table of patients: 90 rows of 12 patients at 3 sites, with the label ill of
// 2 in 5 patients; and the same rows as an episode for each patient.
func cohort() (s shelf, patients []string) {
	s = shelf{}
	r := rand.New(rand.NewPCG(5, 6))
	var number, site []int64
	var ill []string
	for p := range 12 {
		for range 3 + r.IntN(9) {
			patients, number, site = append(patients, fmt.Sprintf("p%d", p)), append(number, int64(100-p)), append(site, int64(p%3))
			ill = append(ill, []string{"yes", "no", "no", "yes", "no"}[p%5])
		}
	}
	n := len(patients)
	s["a:/x"], s["a:/ill"], s["a:/patient"], s["a:/number"], s["a:/site"] = numbered(0, n), ill, patients, storage.From(number, n), storage.From(site, n)
	s["a:/alone"] = append(slices.Repeat([]string{"b"}, n-1), "a")
	for first := 0; first < n; {
		end := first
		for end < n && patients[end] == patients[first] {
			end++
		}
		e := "a:/e/" + patients[first]
		s[e+"/x"], s[e+"/ill"], s[e+"/site"] = numbered(first, end-first), ill[first:end], storage.From(site[first:first+1], 1)
		s[e+"@ward"] = []any{fmt.Sprint("w", site[first])}
		first = end
	}
	return s, patients
}

// TestSplitsAreDisjointAndWhole divides a table and its episodes in every way, with all
// folds: no row is on both sides, no group either, the folds together are all rows, and
// equal seeds give equal splits.
func TestSplitsAreDisjointAndWhole(t *testing.T) {
	s, patients := cohort()
	site := storage.Elements[int64](s["a:/site"].(storage.Array))
	byPatient := func(row int) string { return patients[row] }
	bySite := func(row int) string { return fmt.Sprint(site[row]) }
	for _, c := range []struct {
		data  string
		group func(row int) string
		folds int
	}{
		{"x: /x, y: /ill, split: {folds: 4, fold: %d}", nil, 4},
		{"x: /x, y: /ill, split: {folds: 4, fold: %d, stratify: true}", nil, 4},
		{"x: /x, y: /ill, split: {folds: 5, fold: %d, group: /patient}", byPatient, 5},
		{"x: /x, y: /ill, split: {folds: 4, fold: %d, group: /number, stratify: /ill}", byPatient, 4},
		{"x: /x, y: /ill, split: {folds: 3, fold: %d, group: /site}", bySite, 3},
		{"x: /x, y: /ill, steps: 3, split: {folds: 5, fold: %d, group: /patient}", byPatient, 5},
		{"x: /x, y: /ill, steps: 2, split: {folds: 3, fold: %d, group: /site}", bySite, 3},
		{"x: /x, y: /ill, rows: '/site!=0', split: {folds: 3, fold: %d, group: /patient, stratify: true}", byPatient, 3},
		{"x: /e/*/x, y: /e/*/ill, split: {folds: 4, fold: %d}", byPatient, 4},
		{"x: /e/*/x, y: /e/*/ill, steps: 3, split: {folds: 4, fold: %d, stratify: true}", byPatient, 4},
		{"x: /e/*/x, y: /e/*/ill, split: {folds: 3, fold: %d, group: /e/*/site}", bySite, 3},
		{"x: /e/*/x, y: /e/*/ill, split: {folds: 2, fold: %d, group: 'attr:ward'}", bySite, 2},
		{"x: /e/*/x, y: /e/*/ill, split: {folds: 4, fold: %d, by: rows}", nil, 4},
		{"x: /x, y: /ill, split: {fraction: 0.3, group: /patient, stratify: true}", byPatient, 1},
		{"x: /x, y: /ill, split: {fraction: 0.1, stratify: true}", nil, 1},
		{"x: /e/*/x, y: /e/*/ill, split: 0.25", byPatient, 1},
	} {
		steps := 1
		if i := strings.Index(c.data, "steps: "); i > 0 {
			steps = int(c.data[i+len("steps: ")] - '0')
		}
		for seed := range uint64(4) {
			var validated, all []int
			for fold := range c.folds {
				data := c.data
				if strings.Contains(data, "%d") {
					data = fmt.Sprintf(data, fold)
				}
				config := parse(t, "{file: a, "+data+"}")
				d, err := dataconfig.Open(config, seed, s)
				if err != nil {
					t.Fatalf("%s: %v", data, err)
				}
				train, val := numbers(t, d.Train), numbers(t, d.Val)
				checkDisjoint(t, data, train, val, steps, c.group)
				validated, all = append(validated, val...), slices.Sorted(slices.Values(append(train, val...)))
				again, err := dataconfig.Open(config, seed, s)
				if err != nil || !slices.Equal(numbers(t, again.Val), val) {
					t.Errorf("%s: another split the second time, %v", data, err)
				}
			}
			slices.Sort(validated)
			if c.folds > 1 && (!slices.Equal(validated, all) || steps == 1 && !strings.Contains(c.data, "rows: ") && len(all) != len(patients)) {
				t.Errorf("%s: the folds have %d samples, of %d", c.data, len(validated), len(all))
			}
		}
	}
}

// checkDisjoint reports rows and groups on both sides, and windows of two groups.
func checkDisjoint(t *testing.T, data string, train, val []int, steps int, group func(row int) string) {
	t.Helper()
	rows, groups := map[int]int{}, map[string]int{}
	for side, firsts := range [][]int{train, val} {
		if len(firsts) == 0 {
			t.Errorf("%s: no samples on side %d", data, side)
		}
		for _, first := range firsts {
			for row := first; row < first+steps; row++ {
				if other, ok := rows[row]; ok && other != side {
					t.Fatalf("%s: row %d is on both sides", data, row)
				}
				rows[row] = side
				if group == nil {
					continue
				}
				if group(row) != group(first) {
					t.Fatalf("%s: the window of row %d has the groups %s and %s", data, first, group(first), group(row))
				}
				if other, ok := groups[group(row)]; ok && other != side {
					t.Fatalf("%s: group %s is on both sides", data, group(row))
				}
				groups[group(row)] = side
			}
		}
	}
}

// TestSplitsReportWhatGoesWhere compares the notes of splits.
func TestSplitsReportWhatGoesWhere(t *testing.T) {
	s, _ := cohort()
	for _, c := range []struct {
		files      shelf
		data, want string
	}{
		{s, "x: /e/*/x, y: /e/*/ill, split: 0.25", "3 of 12 episodes, 15 of 74 rows, are for validation"},
		{s, "x: /e/*/x, y: /e/*/ill, split: {folds: 4}", "3 of 12 episodes, 19 of 74 rows, are for validation"},
		{s, "x: /x, y: /ill, split: {fraction: 0.2, group: /patient}", "3 of the 12 groups of /patient, 12 of 74 rows, are for validation"},
		{s, "x: /x, y: /ill, split: {fraction: 0.2, stratify: true}", ""},
		{library(), "x: x, y: y, split: 'column:three'", `6 of 20 rows are neither for training nor for validation (["test"]), and are left out`},
		{library(), "x: /e/*/x, y: /e/*/y, split: {valid: /named, train: /first}", "2 of 17 rows are neither for training nor for validation, and are left out"},
		{library(), "x: x, y: y, steps: 4, split: 0.3", "rows 14 to 19 of 20 are for validation"},
		{library(), "x: /e/*/x, y: /e/*/y, split: {fraction: 0.5, by: rows}", ""},
	} {
		d, err := dataconfig.Open(parse(t, "{file: a, "+c.data+"}"), 1, c.files)
		if err != nil {
			t.Errorf("%s: %v", c.data, err)
		} else if got := strings.Join(d.Notes, "; "); got != c.want {
			t.Errorf("%s: noted %q, want %q", c.data, got, c.want)
		}
	}
}

// TestSplitsThatCannotBeAreErrors lists what a split can get wrong.
func TestSplitsThatCannotBeAreErrors(t *testing.T) {
	s, _ := cohort()
	for split, want := range map[string]string{
		"{folds: 1}":                                    "folds: want at least 2",
		"{folds: 3, fold: 3}":                           "from 0 to folds - 1",
		"{fraction: 0.1, folds: 3}":                     "want one of fraction, folds",
		"{fraction: 1.5}":                               "want a fraction of the samples",
		"{group: /patient}":                             "want one of fraction, folds",
		"{valid: '[3:]', group: /patient}":              "belong to a fraction or to folds",
		"{fraction: 0.1, by: week}":                     `no unit "week"`,
		"{fraction: 0.1, by: rows, group: /x}":          "leave by out",
		"{train: '[3:]', fraction: 0.1}":                "name valid too",
		"{valid: '[3:', train: '[3:]'}":                 "valid: ",
		"{valid: '[3:]', train: '[:4]'}":                "row 3 is among [:4] and [3:]",
		"{fold: 1}":                                     "want one of fraction, folds",
		"{fraction: 0.1, grouped: /patient}":            "no such setting",
		"{fraction: 0.1, group: /none}":                 "no /none",
		"{fraction: 0.1, group: /e/p0/ill}":             "want one for each of 74 rows",
		"{folds: 5, group: /site}":                      "3 groups cannot be divided into 5 parts",
		"{fraction: 0.1, stratify: /alone}":             `class "a" is in one row only`,
		"{folds: 3, group: /patient, stratify: /alone}": `class "a" is in one group`,
		"{fraction: 0.0001, stratify: true}":            "leaves one side",
		"column:/none":                                  "no /none",
		"column:/site":                                  "want some of both",
	} {
		if !strings.HasPrefix(split, "{") {
			split = "'" + split + "'"
		}
		c, err := parsed("{file: a, x: /x, y: /ill, split: " + split + "}")
		if err == nil {
			_, err = dataconfig.Open(c, 1, s)
		}
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %q", split, err, want)
		}
	}
}

// TestSplitsAreReadAsTheyAreWritten reads and writes splits as text.
func TestSplitsAreReadAsTheyAreWritten(t *testing.T) {
	for text, want := range map[string]string{
		"0.1": "0.1", "attr:kind": "attr:kind", "mask:[3:]": "mask:[3:]", "column:/set": "column:/set",
		"{fraction: 0.2}": "0.2",
		"{folds: 5, fold: 2, group: patient, stratify: true}": `{"folds":5,"fold":2,"group":"patient","stratify":"true"}`,
		"{valid: mask/valid, train: mask/train}":              `{"valid":"mask/valid","train":"mask/train"}`,
	} {
		s, err := dataconfig.ParseSplit(text)
		if err != nil || s.String() != want {
			t.Errorf("%s: %v, %v; want %s", text, s, err, want)
		}
		if again, err := dataconfig.ParseSplit(s.String()); err != nil || again != s {
			t.Errorf("%s: %v is read as %v, %v", text, s, again, err)
		}
	}
}
