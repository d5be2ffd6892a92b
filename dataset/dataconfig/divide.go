package dataconfig

import (
	"fmt"
	"maps"
	"math"
	"slices"
	"strings"

	"github.com/h5dnn/h5dnn/dataset"
	"github.com/h5dnn/h5dnn/dtype"
	"github.com/h5dnn/h5dnn/storage"
	"github.com/h5dnn/h5dnn/views"
)

// sides are the samples for training and for validation, and what the user should know
// of them.
type sides struct {
	train, val []*part
	notes      []string
}

// episodes reports whether the parts of c are divided as a whole.
func (c Config) episodes() bool {
	return c.Split.By == "episodes" || c.Split.By == "" && (c.span() > 1 || c.starred())
}

// divide returns the rows of parts for training and for validation.
func (c Config) divide(parts []*part, seed uint64) (sides, error) {
	s := c.Split
	switch {
	case !s.random():
		return s.divideByName(parts)
	case c.episodes() && s.Group == "" && len(parts) == 1:
		return s.divideInTime(parts[0])
	case c.episodes() && s == (Split{Fraction: s.Fraction, By: s.By}):
		return s.divideEpisodes(parts, seed)
	}
	return c.divideRows(parts, seed)
}

// divideInTime selects the end of the only part, or one of as many blocks as there are
// folds. Validation data is then not between rows of training data.
func (s Split) divideInTime(p *part) (sides, error) {
	if s.Stratify != "" {
		return sides{}, fmt.Errorf("%s: stratify: there is one episode, which is divided in time; name the groups: %w", p.name(), views.ErrShape)
	}
	n := p.len()
	from, to := n-int(math.Round(s.Fraction*float64(n))), n
	if s.Folds > 0 {
		from, to = s.Fold*n/s.Folds, (s.Fold+1)*n/s.Folds
	}
	chosen := slices.Clone(allRows(n)[from:to])
	d := sides{train: []*part{p.only(chosen.Complement(n))}, val: []*part{p.only(chosen)}}
	d.notes = []string{fmt.Sprintf("rows %d to %d of %d are for validation", from, to-1, n)}
	return d, nil
}

// divideEpisodes selects a fraction of the parts at random.
func (s Split) divideEpisodes(parts []*part, seed uint64) (d sides, err error) {
	rest, chosen, err := dataset.SplitRows(len(parts), s.Fraction, seed)
	if err != nil {
		return d, fmt.Errorf("of episodes: %w", err)
	}
	for _, i := range rest {
		d.train = append(d.train, parts[i])
	}
	for _, i := range chosen {
		d.val = append(d.val, parts[i])
	}
	d.notes = []string{fmt.Sprintf("%d of %d episodes, %d of %d rows, are for validation", len(d.val), len(parts), countRows(d.val), countRows(parts))}
	return d, nil
}

// divideRows selects rows, or whole groups of rows, at random.
func (c Config) divideRows(parts []*part, seed uint64) (d sides, err error) {
	s := c.Split
	how := dataset.Division{Fraction: s.Fraction, Folds: s.Folds, Seed: seed}
	groups, groupNames, err := c.groups(parts)
	if err == nil {
		how.Groups = groups
		how.Classes, err = c.classes(parts, groups)
	}
	if err != nil {
		return d, err
	}
	sideOf, err := how.Sides(countRows(parts))
	if err != nil {
		return d, fmt.Errorf("split: %w", err)
	}
	validation := 1
	if s.Folds > 0 {
		validation = s.Fold
	}
	chosenGroups, k := map[int]bool{}, 0
	for _, p := range parts {
		var chosen, left dataset.RowSet
		for _, row := range p.rows() {
			if sideOf[k] == validation {
				chosen = append(chosen, row)
				if groups != nil {
					chosenGroups[groups[k]] = true
				}
			} else {
				left = append(left, row)
			}
			k++
		}
		d.add(p, chosen, left)
	}
	of := fmt.Sprintf("%d of %d rows, are for validation", countRows(d.val), countRows(parts))
	switch {
	case s.Group != "":
		d.notes = []string{fmt.Sprintf("%d of the %d groups of %s, %s", len(chosenGroups), len(groupNames), s.Group, of)}
	case groups != nil:
		d.notes = []string{fmt.Sprintf("%d of %d episodes, %s", len(chosenGroups), len(parts), of)}
	}
	return d, nil
}

// add divides the rows of p. A part without rows on one side is whole on the other.
func (d *sides) add(p *part, chosen, left dataset.RowSet) {
	switch {
	case len(chosen) == 0:
		d.train = append(d.train, p)
	case len(left) == 0:
		d.val = append(d.val, p)
	default:
		d.train, d.val = append(d.train, p.only(left)), append(d.val, p.only(chosen))
	}
}

// rows returns the rows of p that were selected.
func (p *part) rows() dataset.RowSet {
	if p.keep != nil {
		return p.keep
	}
	return allRows(p.len())
}

func countRows(parts []*part) (n int) {
	for _, p := range parts {
		if n += len(p.keep); p.keep == nil {
			n += p.len()
		}
	}
	return n
}

// groups returns the group of each selected row and the names of the groups: the values
// of a column, or the episodes. Without either there are none.
func (c Config) groups(parts []*part) (ids []int, names []string, err error) {
	if c.Split.Group == "" && !c.episodes() {
		return nil, nil, nil
	}
	var words []string
	for i, p := range parts {
		list := slices.Repeat([]string{fmt.Sprint(i)}, p.len())
		if c.Split.Group != "" {
			if list, err = p.words(c.Split.Group); err != nil {
				return nil, nil, err
			}
		}
		if len(p.at.stars) > 0 && len(slices.Compact(slices.Clone(list))) > 1 {
			return nil, nil, fmt.Errorf("%s: %s differs within the episode; a group has whole episodes: %w", p.name(), c.Split.Group, views.ErrShape)
		}
		if c.span() > 1 {
			p.runs = mergeRuns(p.runs, runsOf(list))
		}
		for _, row := range p.rows() {
			words = append(words, list[row])
		}
	}
	ids, names = numbered(words)
	return ids, names, nil
}

// runsOf numbers the runs of equal elements.
func runsOf(list []string) []int {
	runs := make([]int, len(list))
	for i := 1; i < len(list); i++ {
		if runs[i] = runs[i-1]; list[i] != list[i-1] {
			runs[i]++
		}
	}
	return runs
}

// classes returns the class of each selected row; each side gets its share of every class. It is nil
// without stratify. Every class must have two members, rows or groups.
func (c Config) classes(parts []*part, groups []int) ([]int, error) {
	if c.Split.Stratify == "" {
		return nil, nil
	}
	var words []string
	for _, p := range parts {
		list, err := c.strata(p)
		if err != nil {
			return nil, fmt.Errorf("stratify: %w", err)
		}
		for _, row := range p.rows() {
			words = append(words, list[row])
		}
	}
	ids, names := numbered(words)
	first, several := map[int]int{}, map[int]bool{} // a member of each class, and whether there are others
	for row, class := range ids {
		member := row
		if groups != nil {
			member = groups[row]
		}
		if other, ok := first[class]; !ok {
			first[class] = member
		} else if other != member {
			several[class] = true
		}
	}
	unit := "row"
	if groups != nil {
		unit = "group or episode"
	}
	for class, name := range names {
		if !several[class] {
			return nil, fmt.Errorf("stratify: the class %q is in one %s only, which cannot be on both sides; leave its rows out, or leave stratify out: %w", name, unit, views.ErrShape)
		}
	}
	return ids, nil
}

// strata returns the label of each row of p that c stratifies by.
func (c Config) strata(p *part) ([]string, error) {
	if c.Split.Stratify != stratifyTargets {
		return p.words(string(c.Split.Stratify))
	}
	i := slices.IndexFunc(p.fields, func(f field) bool { return f.Role == dataset.Target })
	y := p.fields[i]
	if !y.Array.Type.IsInt() && y.Array.Type != dtype.Bool {
		return nil, fmt.Errorf("%s holds %v; want class labels, or the path of a column of labels: %w", y.path, y.Array.Type, dtype.ErrType)
	}
	return p.spread(Found{Array: y.Array}, y.path)
}

// words returns the values of a column, or of an attribute attr:NAME of the episode, for
// each row of p.
func (p *part) words(path string) ([]string, error) {
	if name, ok := strings.CutPrefix(path, "attr:"); ok {
		values, at, err := p.attribute(name)
		if err == nil && len(values) != 1 {
			err = fmt.Errorf("%s: %s: attribute %s has %d elements; want one: %w", p.file, at, name, len(values), views.ErrShape)
		}
		if err != nil {
			return nil, err
		}
		return slices.Repeat([]string{fmt.Sprint(values[0])}, p.len()), nil
	}
	found, path, err := p.find(p.file, path)
	if err != nil {
		return nil, err
	}
	return p.spread(found, path)
}

// spread returns what was found at a path as a word for each row of p. One element is
// the share in all rows.
func (p *part) spread(found Found, path string) ([]string, error) {
	words, err := found.words()
	switch {
	case err != nil:
		return nil, fmt.Errorf("%s: %s: %w", p.file, path, err)
	case len(words) == 1:
		return slices.Repeat(words, p.len()), nil
	case len(words) != p.len():
		return nil, fmt.Errorf("%s: %s has %d elements; want one for each of %d rows: %w", p.file, path, len(words), p.len(), views.ErrShape)
	}
	return words, nil
}

// words returns the elements of f as text: strings, names of categories, or numbers.
func (f Found) words() ([]string, error) {
	if texts := f.texts(); texts != nil {
		return texts()
	}
	a := f.Array
	switch {
	case a.Data == nil:
		return nil, fmt.Errorf("holds rows of different lengths; want a column: %w", dtype.ErrType)
	case a.Type == dtype.Bool:
		return wordsOf[bool](a)
	case a.Type == dtype.Uint64:
		return wordsOf[uint64](a)
	case a.Type.IsInt():
		return wordsOf[int64](a)
	case a.Type.IsFloat():
		return wordsOf[float64](a)
	}
	return nil, fmt.Errorf("holds %v; want strings or numbers: %w", a.Type, dtype.ErrType)
}

func wordsOf[T bool | int64 | uint64 | float64](a storage.Array) ([]string, error) {
	values, err := storage.Read[T](a)
	words, known := make([]string, len(values)), map[T]string{}
	for i, value := range values {
		word, ok := known[value]
		if !ok {
			word = fmt.Sprint(value)
			known[value] = word
		}
		words[i] = word
	}
	return words, err
}

// numbered returns the numbers of words among the different ones in order.
func numbered(words []string) (ids []int, names []string) {
	known := map[string]int{}
	for _, word := range words {
		known[word] = 0
	}
	names = slices.Sorted(maps.Keys(known))
	for i, name := range names {
		known[name] = i
	}
	ids = make([]int, len(words))
	for k, word := range words {
		ids[k] = known[word]
	}
	return ids, names
}

// divideByName divides rows as masks, columns or attributes say.
func (s Split) divideByName(parts []*part) (d sides, err error) {
	others := map[string]bool{}
	for _, p := range parts {
		chosen, left, err := s.rows(p, others)
		if err != nil {
			return d, err
		}
		d.train, d.val = append(d.train, p.only(left)), append(d.val, p.only(chosen))
	}
	if n := countRows(parts) - countRows(d.train) - countRows(d.val); n > 0 {
		names := slices.Sorted(maps.Keys(others))
		called := ""
		if len(names) > 0 {
			called = fmt.Sprintf(" (%q)", names[:min(len(names), 8)])
		}
		d.notes = []string{fmt.Sprintf("%d of %d rows are neither for training nor for validation%s, and are left out", n, countRows(parts), called)}
	}
	return d, nil
}

// rows returns the rows of p for validation, and those for training. It adds the words
// for other rows to others.
func (s Split) rows(p *part, others map[string]bool) (chosen, left dataset.RowSet, err error) {
	switch {
	case s.Mask != "":
		return s.masked(p)
	case s.Column != "":
		words, err := p.words(s.Column)
		if err != nil {
			return nil, nil, err
		}
		chosen, left = bySide(words, others)
		return chosen, left, nil
	}
	values, at, err := p.attribute(s.Attribute)
	if err == nil {
		if chosen, left, err = p.sides(values, others); err != nil {
			err = fmt.Errorf("%s: %s: attribute %s: %w", p.file, at, s.Attribute, err)
		}
	}
	return chosen, left, err
}

// masked returns the rows that Mask selects, and those that Train selects, or all others.
func (s Split) masked(p *part) (chosen, left dataset.RowSet, err error) {
	f, err := parseFilter(s.Mask)
	if err == nil {
		chosen, err = f.rows(p)
	}
	if err != nil || s.Train == "" {
		return chosen, chosen.Complement(p.len()), err
	}
	if f, err = parseFilter(s.Train); err == nil {
		left, err = f.rows(p)
	}
	if both := chosen.Intersect(left); err == nil && len(both) > 0 {
		err = fmt.Errorf("%s: row %d is among %s and %s: %w", p.name(), both[0], s.Train, s.Mask, views.ErrShape)
	}
	return chosen, left, err
}

// attribute returns the elements of the attribute of an episode, of its inputs or of the
// file, and the path that has it.
func (p *part) attribute(name string) (values []any, at string, err error) {
	for _, path := range []string{p.at.group(), p.at.path, "/"} {
		if path == "" {
			continue
		}
		values, err := p.files.Attribute(p.file, path, name)
		if err != nil || values != nil {
			return values, path, err
		}
	}
	return nil, "", fmt.Errorf("%s: %s: neither it, its group nor the file has an attribute %s: %w", p.file, p.at.path, name, views.ErrShape)
}

// The words for validation and for training data. Rows of other words, such as a test set,
// are left out.
var (
	ValidationWords = []string{"val", "valid", "validation", "dev"}
	TrainingWords   = []string{"train", "training"}
)

// bySide returns the rows whose words are for validation and for training.
func bySide(words []string, others map[string]bool) (chosen, left dataset.RowSet) {
	chosen, left = dataset.RowSet{}, dataset.RowSet{}
	for row, word := range words {
		switch lower := strings.ToLower(word); {
		case slices.Contains(ValidationWords, lower):
			chosen = append(chosen, row)
		case slices.Contains(TrainingWords, lower):
			left = append(left, row)
		default:
			others[word] = true
		}
	}
	return chosen, left
}

// sides returns the rows of p for validation and for training, from the elements of an
// attribute: one word for all of p, a bool for each row, or the indices of the rows
// for validation.
func (p *part) sides(values []any, others map[string]bool) (chosen, left dataset.RowSet, err error) {
	n := p.len()
	if word, ok := values[0].(string); ok && len(values) == 1 {
		chosen, left = bySide(slices.Repeat([]string{word}, n), others)
		return chosen, left, nil
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
