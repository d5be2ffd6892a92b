package propose

import (
	"fmt"
	"slices"
)

// A Refusal is the error that nothing is likely, or that training does not do it yet.
type Refusal struct {
	Found string // what was found, and what else would work
	Ask   Wishes // what the user may ask for besides; zero if there is nothing
}

func (r *Refusal) Error() string { return r.Found }

func refuse(format string, args ...any) *Refusal {
	return &Refusal{Found: fmt.Sprintf(format, args...)}
}

// possible returns an error for what training does not do yet, with what works instead.
func (s *search) possible(p pair) error {
	for _, y := range p.targets() {
		one := p
		if one.task = p.taskFor(y); one.task == "" {
			return refuse("%s %v is no target of %s", y.Path, y.shape(), p.x[0].Path)
		}
		if err := s.possibleTarget(one, y); err != nil {
			return err
		}
	}
	x := p.x[0]
	for _, c := range p.x {
		switch {
		case c.role == unusable, c.role == constant, c.role == identifier && c.Kind == Texts:
			return refuse("%s cannot be an input: %s", c.Path, c.why)
		case c.kind == tokens && c.Kind == Ragged:
			return refuse("%s holds the numbers of words in %s; pad the rows to one length with a number of their own, such as 0", c.Path, c.form.reason)
		case c.kind == tokens && len(p.x) > 1:
			return refuse("%s holds the numbers of words (%s), which are no columns to join with others; write a graph of several inputs in a configuration", c.Path, c.form.reason)
		case len(p.x) > 1 && (len(c.Row) > 1 || c.Kind == Ragged):
			return refuse("%s holds %s, which are no columns to join with others; write a graph of several inputs in a configuration", c.Path, c.kind)
		case len(p.x) > 1 && (stars(c) != stars(x) || !slices.Equal(c.Rows, x.Rows)):
			return refuse("%s has %d rows and %s %d; want the same", x.Path, x.rows(), c.Path, c.rows())
		case c.kind == unknown:
			return &Refusal{fmt.Sprintf("%s: rows of %v have more axes than a layer takes", c.Path, c.Row), Wishes{X: []string{c.Path + "[:, 0]"}}}
		}
	}
	return nil
}

// possibleTarget is possible for one target.
func (s *search) possibleTarget(p pair, y *candidate) error {
	switch x := p.x[0]; {
	case y.role == unusable || y.role == constant || y.role == identifier && p.task == Classify:
		return refuse("%s cannot be a target: %s", y.Path, y.why)
	case p.task == Classify && y.Kind == Numbers && y.Names == nil && y.min < 0 && !(y.min == -1 && y.distinct > 2):
		return &Refusal{fmt.Sprintf("%s holds classes from %v, and train counts classes from 0", y.Path, y.min), Wishes{Task: Regress}}
	case p.task == Classify && y.Type.IsFloat() && y.Kind == Numbers && !binaryOutput(y):
		return &Refusal{fmt.Sprintf("%s holds classes as %v, and cross entropy takes integers; store them as integers", y.Path, y.Type), Wishes{Task: Regress}}
	case p.task == Segment && y.pixelClasses() && (y.Type.IsFloat() || y.min < 0 && !y.ignores()):
		return refuse("%s holds %d classes of places from %v as %v, and cross entropy takes integers from 0; store them so", y.Path, y.distinct, y.min, y.Type)
	case !slices.Equal(x.Rows, y.Rows):
		return refuse("%s has %v rows and %s %v; want the same", x.Path, x.Rows, y.Path, y.Rows)
	}
	return nil
}

// nothing returns the error that nothing is likely: what was found, and what to ask for.
func (s *search) nothing() *Refusal {
	if len(s.wishes.X) > 0 && len(s.wishes.Y) > 0 {
		x, y := s.byPath[s.wishes.X[0]], s.byPath[s.wishes.Y[0]]
		fits := "no task fits"
		if s.wishes.Task != "" {
			fits = string(s.wishes.Task) + " does not fit"
		}
		return refuse("%s inputs %s %v and the target %s %v; a target is a class or a row of numbers for each sample, or a class or number for each pixel, step or token",
			fits, x.Path, x.shape(), y.Path, y.shape())
	}
	var found, others []string
	var features []*candidate
	for _, c := range s.all {
		switch {
		case !s.inScope(c):
		case c.role != feature:
			others = append(others, c.Path+" ("+c.why+")")
		case c.Kind != Texts && !c.column():
			features = append(features, c)
			found = append(found, fmt.Sprintf("%s (%s, %v)", c.Path, c.kind, c.shape()))
		default:
			features = append(features, c)
			found = append(found, fmt.Sprintf("%s (%s %v)", c.Path, c.Stored, c.shape()))
		}
	}
	const shown = 4
	found = append(found, others...)
	if len(found) > shown {
		found = append(found[:shown], fmt.Sprintf("and %d more", len(found)-shown))
	}
	if len(found) == 0 {
		return refuse("no array has two rows or more")
	}
	if cube := s.pixelLabels(); cube != "" {
		return refuse("%s", cube)
	}
	out := refuse("no likely inputs with a target in %s", someOf(found, len(found)))
	out.Ask = s.ask(features)
	return out
}

// ask returns the first wishes for features, beside the user's own, that lead to a proposal.
func (s *search) ask(features []*candidate) Wishes {
	tries := 50 // a proposal of a file of many arrays takes a while
	for _, task := range []Task{Forecast, "", Reconstruct} {
		for _, c := range features {
			t, w := *s, s.wishes
			fits := c.Kind == Numbers && (len(w.X) == 0 || slices.Contains(w.X, c.Path)) && w.Task == ""
			switch w.X, w.Task = []string{c.Path}, task; task {
			case Forecast:
				fits = fits && c.kind != tokens && c.persistence() > smooth && c.rows() > steps
			case Reconstruct:
				fits = fits && !c.column()
			default:
				w.X, w.Y, w.Task = s.wishes.X, []string{c.Path}, s.wishes.Task
				fits = c.column() && c.rows() >= fewSamples && !s.component(c) && !slices.Contains(w.X, c.Path) && (w.Task == "" || w.Task == Regress)
			}
			if !fits || len(s.wishes.Y) > 0 || tries == 0 {
				continue
			}
			tries--
			t.wishes = w
			if proposals, err := t.proposals(); err == nil && len(proposals) > 0 {
				return w
			}
		}
	}
	return Wishes{}
}

// pixelLabels says how to store a cube with a label for each of its pixels, or a series
// with one for each step, if the file holds such.
func (s *search) pixelLabels() string {
	for _, x := range s.all {
		if x.Kind != Numbers || len(x.Row) < 2 {
			continue
		}
		for _, y := range s.all {
			if y != x && y.Kind == Numbers && slices.Equal(y.Rows, x.Rows) && len(x.Rows) == 1 && eachPosition(x, y) {
				return fmt.Sprintf("%s %v has a label in %s for each element of the axes before the last, and samples are rows of the first axis; store them as rows: %v and [%d]", x.Path, x.shape(), y.Path, []int{product(x.shape()[:len(x.Row)]), x.Row[len(x.Row)-1]}, product(y.shape()))
			}
		}
	}
	return ""
}
