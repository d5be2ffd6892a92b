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

// A division is the choice of validation data.
type division struct {
	settings []Setting
	Choice
}

// divide chooses the split of a pair: the file's own, else groups, else rows.
func (s *search) divide(p pair) division {
	choices := []func(pair) *division{s.byPartner, s.byMarks, s.byAttribute, s.byColumn, s.byFolds}
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

// splitAs is a division by a value of the setting split. text describes it.
func splitAs(value, text, reason string) *division {
	return &division{[]Setting{{"split", value, reason}}, Choice{text, reason}}
}

// splitInto writes the rows for validation, and the rows for training unless these are all others.
func splitInto(valid, train string) string {
	if train == "" {
		return Quoted("mask:" + valid)
	}
	return fmt.Sprintf("{valid: %s, train: %s}", Quoted(valid), Quoted(train))
}

// byPartner finds validation data in arrays of its own: x_train and x_test.
func (s *search) byPartner(p pair) *division {
	if len(p.x) > 1 {
		return nil
	}
	for _, side := range heldOutWords {
		held := p
		x := s.partner(p.x[0].Path, trainWords, side)
		held.y, held.more = s.partner(p.y.Path, trainWords, side), nil
		whole := x != nil && held.y != nil && slices.Equal(x.Row, p.x[0].Row)
		for _, y := range p.more {
			other := s.partner(y.Path, trainWords, side)
			held.more, whole = append(held.more, other), whole && other != nil
		}
		if whole {
			settings := []Setting{{"val_x", Quoted(x.Path), ""}, {"val_y", targetsYAML(held), ""}}
			return &division{settings, Choice{x.Path, fmt.Sprintf("%d samples of validation data in the file", x.rows())}}
		}
	}
	return nil
}

// byMarks finds masks, lists of rows, or lists of the names of episodes, such as robomimic's
// mask/valid. Of mask/valid and mask/20_percent_valid, the shorter name is meant.
func (s *search) byMarks(p pair) *division {
	marks := func(side vocabulary) (best *candidate) {
		for _, c := range s.all {
			masks := slices.Equal(c.Rows, p.x[0].Rows) && p.task != Forecast || c.unique()
			usable := c.Kind == Numbers && c.integers && masks && stars(c) == stars(p.x[0]) || c.Kind == Texts && stars(c) < stars(p.x[0])
			if usable && c.role == splitting && len(c.Row) == 0 && c.Names == nil && side.named(c.Path) && (best == nil || len(c.Path) < len(best.Path)) {
				best = c
			}
		}
		return best
	}
	valid, train := marks(validationWords), marks(trainWords)
	if valid == nil {
		valid = marks(testWords)
	}
	isMask := func(c *candidate) bool {
		return slices.Equal(c.Rows, p.x[0].Rows) && c.distinct <= 2 && c.Kind == Numbers
	}
	marked := func(c *candidate) string {
		if isMask(c) && c.Stored != "bool" {
			return c.Path + "!=0"
		}
		return c.Path
	}
	switch {
	case valid != nil:
		reason, rest := "the file's own split", ""
		if valid.Kind == Texts {
			reason = "the file lists the episodes for validation"
		}
		if train != nil {
			rest = marked(train)
		}
		return splitAs(splitInto(marked(valid), rest), valid.Path, reason)
	case train != nil && isMask(train):
		none := map[bool]string{true: "==false", false: "==0"}
		return splitAs(splitInto(train.Path+none[train.Stored == "bool"], ""), train.Path, "the rows that the file does not train on")
	}
	return nil
}

// byAttribute finds an attribute of episodes with words such as train and valid.
func (s *search) byAttribute(p pair) *division {
	steps := strings.Split(p.x[0].Path, "/")
	values := map[string][]string{}
	for group, attrs := range s.file.Groups {
		folders := strings.Join(steps[:min(len(steps), strings.Count(group, "/")+1)], "/")
		if ok, err := path.Match(folders, group); err != nil || !ok || stars(p.x[0]) == 0 {
			continue
		}
		for name, value := range attrs {
			values[name] = append(values[name], value)
		}
	}
	for _, name := range slices.Sorted(maps.Keys(values)) {
		if sidesOf(values[name])["val"] != "" {
			return splitAs("attr:"+name, "attr:"+name, "an attribute of the episodes")
		}
	}
	return nil
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

// byColumn finds a column of words such as train and val, or of the numbers of the parts of a split.
func (s *search) byColumn(p pair) *division {
	for _, c := range s.beside(p, splitting) {
		part := func(value any) string { return fmt.Sprintf("%s==%v", c.Path, value) }
		switch sides := sidesOf(c.categories()); {
		case sides["val"] != "":
			return splitAs(Quoted("column:"+c.Path), c.Path, "the file's own split: "+someOf(c.categories(), 3))
		case sides != nil:
			return splitAs(splitInto(part(sides["test"]), ""), c.Path, "the file's own split; it has no validation data but "+sides["test"])
		case splitWords.is(c.Path) && c.distinct == 3:
			return splitAs(splitInto(part(c.min+1), part(c.min)), c.Path, fmt.Sprintf("the file's own split: %v, %v and %v for training, validation and test", c.min, c.min+1, c.max))
		case splitWords.is(c.Path):
			return splitAs(splitInto(part(c.max), ""), c.Path, fmt.Sprintf("the file's own split: rows of %v are not for training", c.max))
		}
	}
	return nil
}

// byFolds finds a column of the numbers of folds. The last one is for validation, as in
// PTB-XL, unless it divides groups.
func (s *search) byFolds(p pair) *division {
	group := s.groupOf(p)
	for _, c := range s.beside(p, folding) {
		reason := fmt.Sprintf("one of %d folds in the file", c.distinct)
		if group != nil {
			reason += ", which keep each " + baseOf(group.Path) + " whole"
		}
		if fold := fmt.Sprintf("%s==%v", c.Path, c.max); group == nil || wholeIn(group, c) {
			return splitAs(splitInto(fold, ""), fold, reason)
		}
	}
	return nil
}

// wholeIn reports whether the rows of each group are in one fold. Samples of different rows
// do not tell.
func wholeIn(group, fold *candidate) bool {
	at := map[string]float64{}
	for row, f := range fold.Sample.Values {
		key := ""
		switch {
		case group.n != fold.n:
			return false
		case group.Kind == Texts:
			key = group.Sample.Texts[row]
		default:
			key = fmt.Sprint(group.Sample.Values[row])
		}
		if other, seen := at[key]; seen && other != f {
			return false
		}
		at[key] = f
	}
	return true
}

// groupOf returns the column of groups that stay whole: the one with the most groups.
func (s *search) groupOf(p pair) (best *candidate) {
	for _, c := range s.beside(p, grouping) {
		if c != p.y && !slices.Contains(p.x, c) && (best == nil || c.distinct > best.distinct) {
			best = c
		}
	}
	return best
}

// byFraction sets a tenth aside, or a fifth of few: whole groups, with the same shares of the
// classes where these are uneven, or the end of a series.
func (s *search) byFraction(p pair) division {
	rows, episodes, group := p.x[0].rows(), len(p.x[0].Rows), s.groupOf(p)
	few, options, reason := false, "", ""
	switch {
	case rows < fewSamples:
		return division{nil, Choice{"none", fmt.Sprintf("only %d samples", rows)}}
	case group != nil && group.distinct >= 3 && p.task != Forecast:
		few, options = group.distinct < 2*fewSamples, ", group: "+Quoted(group.Path)
		reason = fmt.Sprintf("whole groups: %d of %s", group.distinct, baseOf(group.Path))
	case episodes > 1:
		few, reason = episodes < 2*fewSamples, fmt.Sprintf("whole episodes: %d", episodes)
	case p.task == Forecast:
		few, reason = rows < 20*steps, "the end of the series" // a tenth would be less than two windows
	}
	if p.task == Classify && p.y.counts != nil && (episodes == 1 || options != "") {
		if rarest, commonest := p.y.shares(); commonest > 3*rarest && rarest*float64(p.y.n) >= 2 {
			options += ", stratify: true"
			reason = strings.TrimPrefix(fmt.Sprintf("%s; classes are uneven (%.0f%% to %.0f%% of the samples)", reason, 100*rarest, 100*commonest), "; ")
		}
	}
	if reason == "" {
		reason = "a random tenth of the rows; nothing in the file groups or splits them"
	}
	value := map[bool]string{true: "0.2", false: "0.1"}[few]
	if options != "" {
		value = "{fraction: " + value + options + "}"
	}
	return *splitAs(value, value, reason)
}
