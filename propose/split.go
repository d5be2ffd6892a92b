package propose

import (
	"fmt"
	"maps"
	"path"
	"slices"
	"strings"
)

// fewSamples are too few for a validation set of a tenth of them.
const fewSamples = 10

// A division is how validation data is set aside.
type division struct {
	settings []Setting
	Choice
}

// divide chooses the split of a pair: what the file has, else groups, else rows.
func (s *search) divide(p pair) division {
	choices := []func(pair) *division{s.byPartner, s.byMembers, s.byAttribute, s.byColumn, s.byMasks, s.byFolds}
	if p.task == Forecast { // windows need rows that follow one another
		choices = choices[:3]
	}
	for _, choose := range choices {
		if d := choose(p); d != nil {
			return *d
		}
	}
	return s.byFraction(p)
}

func splitAs(value, reason string) *division {
	return &division{[]Setting{{"split", value, reason}}, Choice{value, reason}}
}

// byPartner finds validation data in arrays of its own: x_train and x_test.
func (s *search) byPartner(p pair) *division {
	if len(p.x) > 1 {
		return nil
	}
	for _, side := range slices.Concat(validationWords, testWords) {
		for _, train := range trainWords {
			x, y := s.byPath[replaceWord(p.x[0].Path, train, side)], s.byPath[replaceWord(p.y.Path, train, side)]
			if x != nil && y != nil && x.Array != p.x[0].Array && slices.Equal(x.Row, p.x[0].Row) {
				settings := []Setting{{"val_x", Quoted(x.Path), ""}, {"val_y", Quoted(y.Path), ""}}
				return &division{settings, Choice{x.Path, fmt.Sprintf("%d samples of validation data in the file", x.rows())}}
			}
		}
	}
	return nil
}

// byMembers finds lists of the names of episodes, such as robomimic's mask/valid.
func (s *search) byMembers(p pair) *division {
	if stars(p.x[0]) == 0 {
		return nil
	}
	valid, train := s.listOf(validationWords), s.listOf(trainWords)
	switch {
	case valid == nil:
		return nil
	case train != nil:
		value := fmt.Sprintf("{valid: %s, train: %s}", Quoted(valid.Path), Quoted(train.Path))
		return &division{[]Setting{{"split", value, "episodes whole"}}, Choice{valid.Path, "the file lists the episodes for validation"}}
	}
	return &division{[]Setting{{"split", Quoted("mask:" + valid.Path), "episodes whole"}}, Choice{valid.Path, "the file lists the episodes for validation"}}
}

// listOf returns the list of names of episodes for a side.
func (s *search) listOf(side vocabulary) *candidate {
	for _, c := range s.all {
		dir := path.Base(path.Dir(c.Path))
		if c.Kind == Texts && len(c.Row) == 0 && side.named(c.Path) && (dir == "mask" || dir == "split" || dir == "splits") {
			return c
		}
	}
	return nil
}

// byAttribute finds an attribute of episodes with words such as train and valid.
func (s *search) byAttribute(p pair) *division {
	if stars(p.x[0]) == 0 {
		return nil
	}
	values := map[string]map[string]int{}
	for group, attrs := range s.file.Groups {
		if !matchesPrefix(p.x[0].Path, group) {
			continue
		}
		for name, value := range attrs {
			if values[name] == nil {
				values[name] = map[string]int{}
			}
			values[name][value]++
		}
	}
	for _, name := range slices.Sorted(maps.Keys(values)) {
		if sidesOf(facts{texts: values[name]}, nil)["val"] != "" {
			return splitAs("attr:"+name, "an attribute of the episodes")
		}
	}
	return nil
}

// matchesPrefix reports whether group is one of those that a path with stars leads through.
func matchesPrefix(starred, group string) bool {
	steps, names := strings.Split(starred, "/"), strings.Split(group, "/")
	for i := range names {
		if i >= len(steps) {
			return false
		}
		if ok, err := path.Match(steps[i], names[i]); err != nil || !ok {
			return false
		}
	}
	return true
}

// beside returns the candidates of a role with an element for each row of p.
func (s *search) beside(p pair, r role) (all []*candidate) {
	for _, c := range s.all {
		if c.role == r && slices.Equal(c.Rows, p.x[0].Rows) && stars(c) == stars(p.x[0]) && c.column() {
			all = append(all, c)
		}
	}
	return all
}

// byColumn finds a column of words such as train and val.
func (s *search) byColumn(p pair) *division {
	for _, c := range s.beside(p, splitting) {
		switch {
		case !c.words() && splitWords.is(c.Path) && c.min == 0 && c.max == 2:
			value := fmt.Sprintf("{valid: %s, train: %s}", Quoted(c.Path+"==1"), Quoted(c.Path+"==0"))
			return &division{[]Setting{{"split", value, "2 is the test set, which is left out"}}, Choice{c.Path, "the file's own split: 0, 1 and 2 for training, validation and test"}}
		case !c.words() && splitWords.is(c.Path) && c.min == 0 && c.max == 1:
			return &division{[]Setting{{"split", Quoted("mask:" + c.Path + "==1"), ""}}, Choice{c.Path, "the file's own split: rows of 1 are not for training"}}
		case !c.words():
			continue
		}
		sides := sidesOf(c.facts, c.Names)
		if sides["val"] != "" {
			return &division{[]Setting{{"split", Quoted("column:" + c.Path), "rows of other words are left out"}}, Choice{c.Path, "the file's own split: " + c.someTexts(3)}}
		}
		value := Quoted(fmt.Sprintf("mask:%s==%s", c.Path, sides["test"]))
		return &division{[]Setting{{"split", value, ""}}, Choice{c.Path, "the file's own split; it has no validation data but " + sides["test"]}}
	}
	return nil
}

// byMasks finds a mask, or a list of rows, of validation data.
func (s *search) byMasks(p pair) *division {
	var valid, test, train *candidate
	for _, c := range s.all {
		mask := c.role == splitting && !c.words() && len(c.Row) == 0 && c.integers && (slices.Equal(c.Rows, p.x[0].Rows) || c.unique())
		if !mask || stars(c) != stars(p.x[0]) {
			continue
		}
		switch words := wordsOf(c.Path); {
		case validationWords.among(words):
			valid = c
		case testWords.among(words):
			test = c
		case trainWords.among(words):
			train = c
		}
	}
	of := func(c *candidate, marked bool) string {
		switch {
		case slices.Equal(c.Rows, p.x[0].Rows) && c.distinct <= 2 && c.Stored == "bool":
			if marked {
				return c.Path
			}
			return c.Path + "==false"
		case slices.Equal(c.Rows, p.x[0].Rows) && c.distinct <= 2:
			if marked {
				return c.Path + "!=0"
			}
			return c.Path + "==0"
		}
		return c.Path
	}
	if valid == nil {
		valid, test = test, nil
	}
	switch {
	case valid != nil && train != nil:
		value := fmt.Sprintf("{valid: %s, train: %s}", Quoted(of(valid, true)), Quoted(of(train, true)))
		return &division{[]Setting{{"split", value, ""}}, Choice{valid.Path, "the file's own split"}}
	case valid != nil:
		return &division{[]Setting{{"split", Quoted("mask:" + of(valid, true)), ""}}, Choice{valid.Path, "the file's own split"}}
	case train != nil && slices.Equal(train.Rows, p.x[0].Rows):
		return &division{[]Setting{{"split", Quoted("mask:" + of(train, false)), ""}}, Choice{train.Path, "the rows that the file does not train on"}}
	}
	return nil
}

// byFolds finds a column of the numbers of folds.
func (s *search) byFolds(p pair) *division {
	for _, c := range s.beside(p, folding) {
		last := c.max // PTB-XL's convention: the last fold was checked best
		value := Quoted(fmt.Sprintf("mask:%s==%v", c.Path, last))
		reason := fmt.Sprintf("one of %d folds in the file", c.distinct)
		if g := s.groupOf(p); g != nil {
			if !wholeIn(g, c) {
				continue
			}
			reason += ", which keep each " + baseOf(g.Path) + " whole"
		}
		return &division{[]Setting{{"split", value, reason}}, Choice{fmt.Sprintf("%s==%v", c.Path, last), reason}}
	}
	return nil
}

// wholeIn reports whether rows of one group are in one fold.
func wholeIn(group, fold *candidate) bool {
	at := map[string]float64{}
	for row := range min(group.n, fold.n) {
		key := element(group, row)
		if f, seen := at[key]; seen && f != fold.Sample.Values[row] {
			return false
		}
		at[key] = fold.Sample.Values[row]
	}
	return true
}

func element(c *candidate, row int) string {
	if c.Kind == Texts {
		return c.Sample.Texts[row]
	}
	return fmt.Sprint(c.Sample.Values[row])
}

// groupOf returns the column of what has to stay together: the one with the most groups.
func (s *search) groupOf(p pair) (best *candidate) {
	for _, c := range s.beside(p, grouping) {
		if c != p.y && !slices.Contains(p.x, c) && (best == nil || c.distinct > best.distinct) {
			best = c
		}
	}
	return best
}

// byFraction sets a tenth aside: whole groups, with the same shares of the classes where these
// are uneven, or the end of a series.
func (s *search) byFraction(p pair) division {
	rows, stratify := p.x[0].rows(), ""
	if p.task == Classify && p.y.counts != nil {
		rarest, commonest := p.y.shares()
		if commonest > 3*rarest && rarest*float64(p.y.n) >= 2 {
			stratify = fmt.Sprintf("classes are uneven (%s to %s of the samples)", percent(rarest), percent(commonest))
		}
	}
	group := s.groupOf(p)
	switch {
	case rows < fewSamples:
		return division{nil, Choice{"none", fmt.Sprintf("only %d samples", rows)}}
	case group != nil && group.distinct >= 3 && p.task != Forecast:
		value := fmt.Sprintf("{fraction: %s, group: %s}", fractionOf(group.distinct), Quoted(group.Path))
		if stratify != "" {
			value = strings.TrimSuffix(value, "}") + ", stratify: true}"
		}
		reason := fmt.Sprintf("whole groups: %d of %s", group.distinct, baseOf(group.Path))
		if stratify != "" {
			reason += "; " + stratify
		}
		return *splitAs(value, reason)
	case p.task == Forecast && len(p.x[0].Rows) == 1:
		fraction := "0.1"
		if rows < 20*steps { // a tenth would be less than two windows
			fraction = "0.2"
		}
		return *splitAs(fraction, "the end of the series")
	case len(p.x[0].Rows) > 1:
		return *splitAs(fractionOf(len(p.x[0].Rows)), fmt.Sprintf("whole episodes: %d", len(p.x[0].Rows)))
	case stratify != "":
		return *splitAs("{fraction: 0.1, stratify: true}", stratify)
	}
	return *splitAs("0.1", "a random tenth of the rows; nothing in the file groups or splits them")
}

// fractionOf returns a tenth, or the fraction of one group of few.
func fractionOf(groups int) string {
	if groups < 2*fewSamples {
		return "0.2"
	}
	return "0.1"
}

func percent(share float64) string { return fmt.Sprintf("%.0f%%", 100*share) }
