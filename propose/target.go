package propose

import (
	"fmt"
	"slices"
	"strings"
)

// mostClasses is the number of classes that integers or strings may stand for without a name
// that says so.
const mostClasses = 50

// tasks returns the pairs of inputs with a target: none if the target says nothing.
func (s *search) tasks(x pair, y *candidate) []pair {
	x.x = slices.DeleteFunc(slices.Clone(x.x), func(c *candidate) bool { return c == y || slices.Contains(s.wishes.Y, c.Path) })
	if len(x.x) == 0 || len(x.x) == 1 && x.x[0].column() && len(s.wishes.X) == 0 && len(s.wishes.Y) == 0 {
		return nil // one column is not enough without being asked for
	}
	if x.x[0].rows() < fewSamples && !s.asked() {
		return nil
	}
	if in := x.x[0]; len(x.x) == 1 && in.kind == image && in.channels > 4 && slices.Equal(in.Row, y.Row) { // no image has as many targets
		deep := *in
		deep.form = form{kind: volume, sizes: in.Row, reason: "a target for each element of three axes"}
		x.x = []*candidate{&deep}
	}
	task, why := taskOf(x, y)
	if s.wishes.Task != "" {
		if !suits(s.wishes.Task, x, y) {
			return nil
		}
		task, why = s.wishes.Task, "as asked"
	}
	score, yWhy := s.targetScore(y, task, x.x[0].kind)
	if len(s.wishes.Y) > 0 {
		score, yWhy = max(score, likely), "as asked"
	}
	if task == "" || score < likely {
		return nil
	}
	if parentOf(x.x[0].Path) == parentOf(y.Path) {
		score += 2
	}
	x.y, x.task, x.taskWhy, x.yWhy = y, task, why, yWhy
	for _, path := range s.wishes.Y[min(1, len(s.wishes.Y)):] {
		x.more = append(x.more, s.byPath[path])
	}
	x.score += 2 * score
	return []pair{x}
}

// taskOf returns the task that the values and the shape of a target suggest.
func taskOf(x pair, y *candidate) (Task, string) {
	switch in := x.x[0]; {
	case y.Kind == Ragged:
		return "", ""
	case y.column() && y.words():
		return Classify, fmt.Sprintf("%d names of classes", y.classes())
	case y.column() && y.binary():
		return Classify, "0 and 1"
	case y.column() && y.integers && isLabels(y):
		return Classify, fmt.Sprintf("%d different integers", y.distinct)
	case y.column():
		return Regress, "one number for each sample"
	case in.kind == tokens && samePlaces(in, y):
		if !y.integers || y.distinct > mostClasses {
			return "", ""
		}
		return Segment, "a class for each token"
	case samePlaces(in, y) && in.kind == signal:
		if y.integers && y.distinct <= mostClasses {
			return Segment, "a class for each step"
		}
		return Segment, "a value for each step"
	case samePlaces(in, y):
		if y.integers && y.distinct <= mostClasses {
			return Segment, "a class for each pixel"
		}
		return Segment, "a value for each pixel"
	case eachPosition(in, y):
		return "", ""
	case len(y.Row) == 1 && y.binary() && y.Row[0] > 1 && y.oneHot():
		return Tag, fmt.Sprintf("one-hot rows of %d classes, learnt as labels of 0 and 1: cross entropy takes numbers of classes", y.Row[0])
	case len(y.Row) == 1 && y.binary() && y.Row[0] > 1:
		return Tag, fmt.Sprintf("%d labels of 0 and 1 for each sample", y.Row[0])
	case len(y.Row) == 1:
		return Regress, fmt.Sprintf("%d numbers for each sample", y.Row[0])
	}
	return "", ""
}

// isLabels reports whether integers are classes rather than quantities.
func isLabels(y *candidate) bool {
	few := y.distinct <= mostClasses && (y.distinct <= 2 || y.distinct*3 <= y.n)
	return few && !(valueWords.named(y.Path) && !targetWords.named(y.Path)) || y.distinct*2 <= y.n && (targetWords.named(y.Path) || y.Names != nil)
}

// suits reports whether a target has the form that a task needs.
func suits(t Task, x pair, y *candidate) bool {
	switch t {
	case Classify:
		return y.column() && (y.words() || y.integers)
	case Regress:
		return y.Kind == Numbers && !y.words() && len(y.Row) <= 1
	case Segment:
		return samePlaces(x.x[0], y)
	case Tag:
		return y.Kind == Numbers && len(y.Row) == 1 && y.Row[0] > 1 && y.integers && y.min >= 0 && y.max <= 1
	}
	return false
}

// samePlaces reports whether y has a value for each pixel, step or token of x.
func samePlaces(x, y *candidate) bool {
	if x == y || y.Kind != Numbers || x.spatial() == 0 && x.kind != tokens {
		return false
	}
	row := y.Row
	if len(row) == len(x.sizes)+1 {
		if row[len(row)-1] == 1 {
			row = row[:len(row)-1]
		} else if row[0] == 1 {
			row = row[1:]
		}
	}
	return slices.Equal(row, x.sizes)
}

// eachPosition reports whether y has a class for each element of the axes of x before the
// last: for each pixel of a cube, or each step of a series.
func eachPosition(x, y *candidate) bool {
	return len(y.Row) > 0 && len(y.Row) == len(x.Row)-1 && slices.Equal(y.Row, x.Row[:len(y.Row)]) && y.integers && y.distinct <= mostClasses && !samePlaces(x, y)
}

// oneHot reports whether each row has one 1.
func (c *candidate) oneHot() bool {
	sum := 0.0
	for i, x := range c.Sample.Values {
		if sum += x; (i+1)%c.Row[0] == 0 {
			if sum != 1 {
				return false
			}
			sum = 0
		}
	}
	return true
}

// classes returns the number of classes of a column.
func (c *candidate) classes() int {
	switch {
	case c.Kind == Texts && c.noClass():
		return c.distinct - 1
	case c.Kind == Texts:
		return c.distinct
	case c.Names != nil:
		return len(c.Names)
	}
	return int(c.max) + 1
}

// A claim is that y is the target of a task. words are the words of its name.
type claim struct {
	y     *candidate
	task  Task
	words []string
	of    formKind // of the inputs
}

// places reports whether the target is classes of steps or tokens.
func (c claim) places() bool {
	return c.task == Segment && (c.of == tokens || c.of == signal) && c.y.integers
}

// evidence lists what speaks for a claim. The first that holds counts.
var evidence = []struct {
	score int
	why   string
	holds func(c claim) bool
}{
	{5, "who it is", func(c claim) bool { return c.y.role == grouping }},
	{12, "the codes of MNE's events", func(c claim) bool { return strings.HasSuffix(c.y.Path, "/events[:, 2]") }},
	{12, "named as targets are", func(c claim) bool { return targetWords.is(c.y.Path) }},
	{10, "named as classes are", func(c claim) bool { return subjectWords.among(c.words) && c.classes() }},
	{8, "named as targets are", func(c claim) bool { return targetWords.among(c.words) }},
	{6, "named as a quantity to predict", func(c claim) bool { return valueWords.is(c.y.Path) && c.task == Regress }},
	{6, "named as targets are", func(c claim) bool { return subjectWords.among(c.words) && c.task == Regress && len(c.y.Row) == 1 }},
	{10, "masks of the pixels", func(c claim) bool { return c.task == Segment && maskWords.within(c.y.Path) }},
	{10, "named as labels of steps are", func(c claim) bool { return c.places() && (targetWords.among(c.words) || subjectWords.among(c.words)) }},
	{5, "few different integers, one for each token", func(c claim) bool { return c.places() && c.of == tokens && c.y.distinct > 1 }},
	{8, "a map of the pixels", func(c claim) bool { return c.task == Segment && mapWords.within(c.y.Path) }},
	{4, "named as a quantity to predict", func(c claim) bool { return valueWords.among(c.words) && c.task == Regress }},
	{5, "names of classes", func(c claim) bool { return c.y.words() }},
	{5, "0 and 1 in columns", func(c claim) bool { return c.task == Tag }},
	{4, "0 and 1", func(c claim) bool { return c.task == Classify && c.y.binary() }},
	{3, "few different integers", func(c claim) bool { return c.task == Classify }},
}

// classes reports whether the values of the target may be classes.
func (c claim) classes() bool {
	return c.y.words() || c.task == Tag || c.y.integers && (c.y.column() || c.y.distinct == 2)
}

// targetScore is the evidence that y is the target of a task.
func (s *search) targetScore(y *candidate, task Task, of formKind) (score int, why string) {
	if s.component(y) {
		return 0, ""
	}
	c := claim{y, task, wordsOf(baseOf(y.Path)), of}
	for _, e := range evidence {
		if e.holds(c) {
			score, why = e.score, e.why
			break
		}
	}
	if nuisanceWords.among(c.words) && !targetWords.among(c.words) {
		score -= 6
	}
	if inputWords.is(y.Path) {
		score -= 6
	}
	return score, why
}

// component reports whether c is one of the components x, y and z of vectors.
func (s *search) component(c *candidate) bool {
	base, parent := baseOf(c.Path), parentOf(c.Path)
	return slices.Contains([]string{"x", "y", "z"}, base) && s.byPath[parent+"/x"] != nil && s.byPath[parent+"/y"] != nil && s.byPath[parent+"/z"] != nil
}

// alone returns the pairs of inputs without another target: forecasts of what follows in time,
// and reconstructions if they were asked for.
func (s *search) alone(x pair) []pair {
	c := x.x[0]
	x.y = c
	if len(s.wishes.Y) > 0 {
		x.y = s.byPath[s.wishes.Y[0]]
	}
	why := s.overTime(c)
	switch task := s.wishes.Task; {
	case c.rows() < fewSamples && !s.asked():
		return nil
	case len(x.x) > 1 && len(s.wishes.Y) == 0 || c.Kind != Numbers:
		return nil
	case task == Forecast && why == "":
		why = "as asked"
	case task == Reconstruct && (len(c.Row) > 0 || len(s.wishes.X) > 0):
		x.task, x.yWhy, x.taskWhy = Reconstruct, "the inputs themselves", "as asked"
		return []pair{x}
	case task != Forecast && task != "" || why == "" || len(s.wishes.Y) > 0 && task == "":
		return nil
	}
	x.task, x.yWhy, x.taskWhy = Forecast, "the rows that follow", why
	x.score += 8
	return []pair{x}
}

// overTime returns why the rows of c follow one another in time, or "". Labels in the file
// are stronger evidence.
func (s *search) overTime(c *candidate) string {
	const persistent = 0.3
	if c.Type.IsInt() || c.kind == tokens || c.persistence() < persistent {
		return ""
	}
	if axis := axisName(c.Array, 0); slices.Contains(timeAxes[:4], axis) {
		return "the rows follow the axis " + axis
	}
	for _, t := range s.all {
		if (t.role == coordinate || t.role == identifier) && slices.Equal(t.Rows, c.Rows) && slices.ContainsFunc(wordsOf(baseOf(t.Path)), func(w string) bool { return slices.Contains(coordinateWords[:3], w) || w == "date" || w == "dates" }) {
			return "the rows follow " + t.Path
		}
	}
	return ""
}
