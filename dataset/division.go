package dataset

import (
	"cmp"
	"fmt"
	"slices"

	"github.com/h5dnn/h5dnn/views"
)

// A Division divides rows at random between sides: those for training (0) and for
// validation (1), or folds of equal size. The same seed gives the same sides.
type Division struct {
	Fraction float64 // of the rows on side 1; 0 if there are Folds
	Folds    int
	Groups   []int // the group of each row, from 0 on: a group is on one side; nil if every row is a group
	Classes  []int // the class of each row, from 0 on: each class has its share of every side; nil if there is one class
	Seed     uint64
}

// Sides returns the side of each of n rows. Without groups the number of rows of a
// class on a side is within 1 of its share. Groups are dealt one by one to the side
// that lacks their rows most.
func (d Division) Sides(n int) ([]int, error) {
	if n > maxListedRows {
		return nil, fmt.Errorf("dataset: %d samples are too many for a random split, which lists at most %d; split the file, or slice it", n, maxListedRows)
	}
	units, what := n, "samples"
	if d.Groups != nil {
		units, what = 0, "groups"
		for _, g := range d.Groups {
			units = max(units, g+1)
		}
	}
	if units < d.sides() {
		return nil, fmt.Errorf("dataset: %d %s cannot be divided into %d parts: %w", units, what, d.sides(), views.ErrShape)
	}
	if d.Groups != nil {
		return d.dealGroups(units), nil
	}
	return d.dealRows(n)
}

func (d Division) sides() int { return max(2, d.Folds) }

// share returns the share of the rows that is on a side.
func (d Division) share(side int) float64 {
	switch {
	case d.Folds > 0:
		return 1 / float64(d.Folds)
	case side == 1:
		return d.Fraction
	}
	return 1 - d.Fraction
}

// dealRows sorts the rows by class, those of a class at random, and deals them to the
// sides in turn. Rows that are neighbours in this order, such as those of a class, are
// then divided within 1 of their share.
func (d Division) dealRows(n int) ([]int, error) {
	p := permute(n, mix(d.Seed, splitKey))
	order := make([]int, n)
	for row := range n {
		order[p.at(row)] = row
	}
	if d.Classes != nil {
		slices.SortStableFunc(order, func(a, b int) int { return cmp.Compare(d.Classes[a], d.Classes[b]) })
	}
	sides, chosen := make([]int, n), 0
	for k, row := range order {
		if d.Folds > 0 {
			sides[row] = k % d.Folds
			continue
		}
		// as many of the first k+1 rows as the fraction is of them, rounded
		if sides[row] = int(float64(float64(k+1)*d.Fraction)+0.5) - chosen; sides[row] > 0 {
			chosen++
		}
	}
	if d.Folds == 0 && (chosen == 0 || chosen == n) {
		return nil, fmt.Errorf("dataset: a fraction of %v leaves one side of a split of %d samples empty; choose one nearer to 0.5: %w", d.Fraction, n, views.ErrShape)
	}
	return sides, nil
}

// dealGroups deals groups at random, of folds the largest first, each to the side whose
// numbers of rows of each class then differ least from their share. No side stays empty.
func (d Division) dealGroups(groups int) []int {
	counts, total := d.countClasses(groups)
	p := permute(groups, mix(d.Seed, splitKey))
	order := make([]int, groups)
	for g := range groups {
		order[p.at(g)] = g
	}
	size := func(g int) int { // the rows of all classes are last
		if n := len(counts[g]); n > 0 {
			return counts[g][n-1].rows
		}
		return 0
	}
	if d.Folds > 0 {
		slices.SortStableFunc(order, func(a, b int) int { return cmp.Compare(size(b), size(a)) })
	}
	have := make([][]int, d.sides()) // rows of each class on each side
	members := make([][]int, d.sides())
	for side := range have {
		have[side] = make([]int, len(total))
	}
	for _, g := range order {
		best, least := 0, 0.0
		for side := range have {
			if change := d.change(have[side], counts[g], total, side); side == 0 || change < least {
				best, least = side, change
			}
		}
		members[best] = append(members[best], g)
		for _, c := range counts[g] {
			have[best][c.class] += c.rows
		}
	}
	fillEmpty(members, size)
	sideOf := make([]int, groups)
	for side, list := range members {
		for _, g := range list {
			sideOf[g] = side
		}
	}
	sides := make([]int, len(d.Groups))
	for row, g := range d.Groups {
		sides[row] = sideOf[g]
	}
	return sides
}

// A classRows is the number of rows of a class.
type classRows struct{ class, rows int }

// change returns how much the squared differences from the share of each class, in units
// of that share, grow when a group joins those that a side has.
func (d Division) change(have []int, group []classRows, total []int, side int) (sum float64) {
	for _, c := range group {
		want := d.share(side) * float64(total[c.class])
		sum += float64(c.rows) * (2*(float64(have[c.class])-want) + float64(c.rows)) / want
	}
	return sum
}

// countClasses returns the number of rows of each class in each group, and in all, with
// that of all classes behind if there are several.
func (d Division) countClasses(groups int) (counts [][]classRows, total []int) {
	class := func(row int) int {
		if d.Classes == nil {
			return 0
		}
		return d.Classes[row]
	}
	byGroup, classes := make([]int, len(d.Groups)), 1
	for row := range byGroup {
		if byGroup[row] = row; d.Classes != nil {
			classes = max(classes, class(row)+2)
		}
	}
	slices.SortFunc(byGroup, func(a, b int) int {
		return cmp.Or(cmp.Compare(d.Groups[a], d.Groups[b]), cmp.Compare(class(a), class(b)))
	})
	counts, total = make([][]classRows, groups), make([]int, classes)
	add := func(group *[]classRows, class int) {
		if k := len(*group); k == 0 || (*group)[k-1].class != class {
			*group = append(*group, classRows{class: class})
		}
		(*group)[len(*group)-1].rows++
		total[class]++
	}
	for _, row := range byGroup {
		add(&counts[d.Groups[row]], class(row))
	}
	if classes > 1 {
		for _, g := range d.Groups {
			add(&counts[g], classes-1)
		}
	}
	return counts, total
}

// fillEmpty moves the smallest group of the side with the most groups to a side without any.
func fillEmpty(members [][]int, size func(group int) int) {
	for side := range members {
		if len(members[side]) > 0 {
			continue
		}
		most := 0
		for other := range members {
			if len(members[other]) > len(members[most]) {
				most = other
			}
		}
		from := members[most]
		k := 0
		for i, g := range from {
			if size(g) < size(from[k]) {
				k = i
			}
		}
		members[side] = []int{from[k]}
		members[most] = slices.Delete(from, k, k+1)
	}
}
