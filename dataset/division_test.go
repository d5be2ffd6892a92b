package dataset_test

import (
	"math"
	"math/rand/v2"
	"runtime"
	"slices"
	"testing"

	"github.com/h5dnn/h5dnn/dataset"
)

// TestDivisionsKeepGroupsAndShares divides random rows in random groups and classes:
// every row has a side and every side a row, groups are whole, equal seeds give equal
// sides, and without groups each class has its share of every side, within 1.
func TestDivisionsKeepGroupsAndShares(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	for trial := range 400 {
		n := 2 + r.IntN(200)
		d := dataset.Division{Seed: r.Uint64()}
		if d.Fraction = 0.05 + 0.9*r.Float64(); trial%2 == 0 {
			d.Fraction, d.Folds = 0, 2+r.IntN(6)
		}
		if trial%4 > 1 {
			d.Classes = labelled(r, n, 1+r.IntN(5))
		}
		if trial%8 > 3 {
			d.Groups = labelled(r, n, 1+r.IntN(n))
		}
		sides, err := d.Sides(n)
		if err != nil {
			if units := units(d, n); d.Folds > 0 && units >= d.Folds || d.Folds == 0 && units > 1 && float64(n)*min(d.Fraction, 1-d.Fraction) > 0.5 {
				t.Errorf("%+v of %d rows: %v", d, n, err)
			}
			continue
		}
		checkSides(t, d, sides, n)
		if again, err := d.Sides(n); err != nil || !slices.Equal(again, sides) {
			t.Errorf("%+v of %d rows: other sides the second time, %v", d, n, err)
		}
	}
}

func checkSides(t *testing.T, d dataset.Division, sides []int, n int) {
	t.Helper()
	count := max(2, d.Folds)
	share := func(side int) float64 {
		if d.Folds > 0 {
			return 1 / float64(d.Folds)
		}
		return []float64{1 - d.Fraction, d.Fraction}[side]
	}
	have, whole := make([]int, count), map[int]int{}
	classes := map[[2]int]int{}
	totals := map[int]int{}
	for row, side := range sides {
		have[side]++
		if d.Groups != nil {
			if first, ok := whole[d.Groups[row]]; ok && first != side {
				t.Fatalf("%+v: group %d is on the sides %d and %d", d, d.Groups[row], first, side)
			}
			whole[d.Groups[row]] = side
		}
		if d.Classes != nil {
			classes[[2]int{d.Classes[row], side}]++
			totals[d.Classes[row]]++
		}
	}
	if len(sides) != n || slices.Min(have) == 0 {
		t.Fatalf("%+v: %d of %d rows, %v on each side", d, len(sides), n, have)
	}
	if d.Groups != nil {
		return
	}
	for side, k := range have {
		if math.Abs(float64(k)-share(side)*float64(n)) > 1 {
			t.Errorf("%+v: %d of %d rows on side %d", d, k, n, side)
		}
		for c, total := range totals {
			if k := classes[[2]int{c, side}]; math.Abs(float64(k)-share(side)*float64(total)) > 1 {
				t.Errorf("%+v: %d of %d rows of class %d on side %d", d, k, total, c, side)
			}
		}
	}
}

// labelled returns a random label for each row; every label occurs among the first rows.
func labelled(r *rand.Rand, n, labels int) []int {
	list := make([]int, n)
	for k := range list {
		if list[k] = r.IntN(labels); k < labels {
			list[k] = k
		}
	}
	return list
}

func units(d dataset.Division, n int) int {
	if d.Groups == nil {
		return n
	}
	return slices.Max(d.Groups) + 1
}

// TestGroupsAreDividedNearTheirShare compares folds of many small groups with scikit-learn's
// promise: sizes and classes about equal.
func TestGroupsAreDividedNearTheirShare(t *testing.T) {
	r := rand.New(rand.NewPCG(3, 4))
	const n, groups = 6000, 150
	for _, d := range []dataset.Division{{Fraction: 0.2}, {Folds: 5}} {
		d.Groups, d.Classes = labelled(r, n, groups), make([]int, n)
		for row, g := range d.Groups {
			if d.Classes[row] = g % 3; r.IntN(4) == 0 { // mostly of one class
				d.Classes[row] = r.IntN(3)
			}
		}
		sides, err := d.Sides(n)
		if err != nil {
			t.Fatal(err)
		}
		var chosen, rare float64
		for row, side := range sides {
			if side == 1 {
				chosen++
				if d.Classes[row] == 2 {
					rare++
				}
			}
		}
		if math.Abs(chosen/n-0.2) > 0.02 || math.Abs(rare/chosen-1./3) > 0.03 {
			t.Errorf("%+v: %v of the rows, %v of them of class 2; want 0.2 and 1/3", dataset.Division{Fraction: d.Fraction, Folds: d.Folds}, chosen/n, rare/chosen)
		}
	}
}

// TestDivisionsTakeMemoryOfTheirRows: a table of the classes of all groups would take 3 GiB.
func TestDivisionsTakeMemoryOfTheirRows(t *testing.T) {
	const n = 40_000
	d := dataset.Division{Fraction: 0.2, Groups: make([]int, n), Classes: make([]int, n)}
	for row := range n {
		d.Groups[row], d.Classes[row] = row/2, row%(n/2)
	}
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	if _, err := d.Sides(n); err != nil {
		t.Fatal(err)
	}
	if runtime.ReadMemStats(&after); after.TotalAlloc-before.TotalAlloc > 64<<20 {
		t.Errorf("%d MiB to divide %d rows", (after.TotalAlloc-before.TotalAlloc)>>20, n)
	}
}
