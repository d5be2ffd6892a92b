package propose

import (
	"fmt"
	"path"
	"regexp"
	"slices"
	"strings"
)

// A search is for proposals for a file.
type search struct {
	file   File
	wishes Wishes
	all    []*candidate
	byPath map[string]*candidate
}

func newSearch(file File, w Wishes) (*search, error) {
	s := &search{file: file, wishes: w, byPath: map[string]*candidate{}}
	for i := range file.Arrays {
		c := &candidate{Array: &file.Arrays[i], facts: factsOf(&file.Arrays[i])}
		c.form = formOf(c.Array, c.facts)
		s.all = append(s.all, c)
		s.byPath[c.Path] = c
	}
	for _, c := range s.all {
		c.role, c.why = s.assign(c)
	}
	for _, p := range slices.Concat(w.X, w.Y) {
		if s.byPath[p] == nil {
			return nil, fmt.Errorf("no array %s", p)
		}
	}
	return s, nil
}

// A pair is inputs and a target for a task. Inputs are several if they are columns of a table.
type pair struct {
	x                   []*candidate
	y                   *candidate   // the first input, for Forecast and Reconstruct
	more                []*candidate // other targets that were asked for
	task                Task
	score               int
	xWhy, yWhy, taskWhy string
	embedding           []string // layers that give tokens vectors
}

// asked reports whether the user chose something to learn.
func (s *search) asked() bool { return len(s.wishes.X)+len(s.wishes.Y) > 0 || s.wishes.Task != "" }

// pairs returns the pairs with evidence.
func (s *search) pairs() []pair {
	var all []pair
	for _, x := range s.inputs() {
		for _, y := range s.targets(x) {
			all = append(all, s.tasks(x, y)...)
		}
		all = append(all, s.alone(x)...)
	}
	return all
}

// inScope reports whether c is in the group that was asked for, and no validation data of others.
func (s *search) inScope(c *candidate) bool {
	g := s.wishes.Group
	return g == "" || c.Path == g || strings.HasPrefix(c.Path, strings.TrimSuffix(g, "/")+"/") || strings.HasPrefix(c.Path, g+"['")
}

// inputs returns the inputs that could be: arrays, and columns of the same length together.
func (s *search) inputs() []pair {
	if len(s.wishes.X) > 0 {
		p := pair{xWhy: "as asked"}
		for _, path := range s.wishes.X {
			p.x = append(p.x, s.byPath[path])
		}
		return []pair{p}
	}
	var all []pair
	columns := map[string]*pair{}
	var order []string
	for _, c := range s.all {
		if c.role != feature || !s.inScope(c) || s.trained(c.Path) {
			continue
		}
		observed := c.kind == table && slices.Contains(inputWords, path.Base(parentOf(c.Path)))
		if s.file.Format == "anndata" && c.column() {
			continue // what is known of cells beside their matrix
		}
		if c.column() || observed {
			key := parentOf(c.Path) + fmt.Sprint(c.Rows)
			if columns[key] == nil {
				columns[key] = &pair{xWhy: "columns of the same length"}
				order = append(order, key)
			}
			columns[key].x = append(columns[key].x, c)
			if observed {
				columns[key].score, columns[key].xWhy = 7, "arrays of "+path.Base(parentOf(c.Path))
			}
		}
		if !c.column() && c.Kind != Texts && c.kind != unknown {
			p := pair{x: []*candidate{c}}
			p.score, p.xWhy = s.inputScore(c)
			all = append(all, p)
		}
	}
	for _, key := range order {
		p := columns[key]
		p.score = max(2, p.score)
		all = append(all, *p)
	}
	return all
}

// inputScore is the evidence that an array holds inputs.
func (s *search) inputScore(c *candidate) (score int, why string) {
	group := s.file.Groups[parentOf(c.Path)]
	dir := path.Base(path.Dir(c.Path))
	switch {
	case s.component(c):
		return 0, "a component of vectors"
	case s.file.Format == "anndata" && c.Path == "/X":
		return 12, "the matrix of AnnData"
	case group["nx_class"] == "NXdata" && group["signal"] == path.Base(c.Path):
		return 12, "the signal of NXdata"
	case inputWords.is(c.Path):
		score, why = 6, "named as inputs are"
	case inputWords.named(c.Path):
		score, why = 4, "named as inputs are"
	case slices.Contains(inputWords, dir):
		score, why = 4, "in the group "+dir
	}
	switch c.kind {
	case image, volume, signal:
		score += 4
	case table, tokens:
		score += 2
	}
	if targetWords.is(c.Path) {
		score -= 6
	}
	if why == "" {
		why = c.kind.String()
	}
	return score, why
}

// targets returns the candidates for targets of x.
func (s *search) targets(x pair) []*candidate {
	var all []*candidate
	if len(s.wishes.Y) > 0 {
		return []*candidate{s.byPath[s.wishes.Y[0]]}
	}
	for _, c := range s.all {
		if (c.role == feature || c.role == grouping && identityWords.named(c.Path)) && s.inScope(c) && !s.trained(c.Path) && slices.Equal(c.Rows, x.x[0].Rows) && stars(c) == stars(x.x[0]) {
			all = append(all, c)
		}
	}
	return all
}

func stars(c *candidate) int { return strings.Count(c.Path, "*") }

// trained reports whether p is validation or test data of training data in the file.
func (s *search) trained(p string) bool {
	return slices.ContainsFunc(trainWords, func(train string) bool { return s.partner(p, heldOutWords, train) != nil })
}

// partner returns the array whose path has the word by in the place of words of v, or nil. A name may also begin or
// end with the words: validxdata and trainxdata, Xtest and Xtrain.
func (s *search) partner(p string, v vocabulary, by string) *candidate {
	if c := s.byPath[replaceWords(p, v, by)]; c != nil && c.Path != p {
		return c
	}
	folder, name := path.Split(p)
	for _, word := range v {
		if rest, ok := strings.CutPrefix(name, word); ok && s.byPath[folder+by+rest] != nil && word != by {
			return s.byPath[folder+by+rest]
		}
		if rest, ok := strings.CutSuffix(name, word); ok && s.byPath[folder+rest+by] != nil && word != by {
			return s.byPath[folder+rest+by]
		}
	}
	return nil
}

var letters = regexp.MustCompile(`[A-Za-z]+`)

// replaceWords returns a path with another word in the place of words of v.
func replaceWords(p string, v vocabulary, by string) string {
	return letters.ReplaceAllStringFunc(p, func(word string) string {
		if slices.Contains(v, lower(word)) {
			return by
		}
		return word
	})
}
