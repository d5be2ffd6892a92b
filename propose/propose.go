// Package propose ranks what a file of arrays can be trained for: inputs, targets, task,
// split and model, each with its reason.
//
// It knows names, shapes, attributes and sampled values. Reading these from files, and
// writing configurations, belong to the caller.
package propose

import (
	"cmp"
	"slices"

	"github.com/h5dnn/h5dnn/dtype"
)

// A Kind says what the elements of an array are.
type Kind int

// The kinds of elements.
const (
	Numbers Kind = iota
	Texts        // strings
	Ragged       // rows of numbers of different lengths
	Other        // what training cannot read, such as references
)

// An Array describes an array of a file, or the arrays of its episodes, whose paths differ
// where Path has stars.
type Array struct {
	Path   string
	Rows   []int // along the first axis, of each episode
	Row    []int // the shape of a row
	Type   dtype.Type
	Kind   Kind
	Stored string            // the stored type
	Names  []string          // of the classes that integers stand for; nil if they have none
	Axes   []string          // names of all axes; nil if there are none
	Attrs  map[string]string // attributes that are one string, by names in lower case
	Sample Sample
	Unread string // why elements of Other are not read; "" if their type is the reason
}

// A Sample holds elements of an array, in row-major order.
type Sample struct {
	Values []float64 // of numbers
	Texts  []string  // of strings
	Blocks []int     // the lengths, in rows, of the runs of neighbouring rows
}

// A File is the input of proposals: the arrays of a file and its conventions.
type File struct {
	Format string
	Arrays []Array
	Groups map[string]map[string]string // string attributes of groups, by path and name; lists are joined by commas

	Largest func(path string) (float64, error) // the largest of all integers of an array; from the sample if nil
}

// A Task is what a model learns.
type Task string

// The tasks.
const (
	Classify    Task = "classify"    // one class of each sample
	Regress     Task = "regress"     // values
	Segment     Task = "segment"     // a class or a value for each pixel, step or token
	Forecast    Task = "forecast"    // the next rows of a series
	Tag         Task = "tag"         // any of several labels
	Reconstruct Task = "reconstruct" // the inputs
)

// Tasks lists the tasks.
var Tasks = []Task{Classify, Regress, Segment, Forecast, Tag, Reconstruct}

// Wishes are what the user has chosen. The zero Wishes leave everything open.
type Wishes struct {
	X, Y  []string // paths
	Task  Task
	Group string // only arrays at and below this path
}

// A Setting is a line of a configuration with a comment.
type Setting struct{ Key, Value, Comment string }

// A Choice is what was chosen, and why.
type Choice struct{ Text, Reason string }

// A Proposal is one way to train on a file.
type Proposal struct {
	Task                                Task
	X, Y                                []string // paths
	Input, Target, Goal, Split, Network Choice
	Data                                []Setting // of data, but for the file
	Model                               []string  // a preset, or the lines of a list of layers
	Loss, LossWhy                       string
	Metrics, MetricsWhy                 string   // besides those that are always shown; "" for none
	Targets                             []string // the lines of the setting targets, where these have losses of their own
	Notes                               []string // what the engine cannot do yet, and what the proposal does instead
}

// likely is the score of a target that is proposed without being asked for.
const likely = 4

// From returns what a file can be trained for, the best first, or an error that says what
// was found and what to ask for where nothing is likely.
func From(file File, w Wishes) ([]Proposal, error) {
	s, err := newSearch(file, w)
	if err != nil {
		return nil, err
	}
	proposals, err := s.proposals()
	if err == nil && len(proposals) == 0 {
		return nil, s.nothing()
	}
	return proposals, err
}

// proposals returns the proposals, the best first. If there are none, the error is the reason
// against the best pair; it is nil without pairs.
func (s *search) proposals() (all []Proposal, refused error) {
	pairs := s.pairs()
	slices.SortStableFunc(pairs, func(a, b pair) int { return cmp.Compare(b.score, a.score) })
	for _, p := range pairs {
		proposal, err := s.propose(p)
		if err == nil && !slices.ContainsFunc(all, proposal.same) {
			all = append(all, proposal)
		} else if err != nil && refused == nil && len(all) == 0 {
			refused = err
		}
	}
	if len(all) > 0 && refused != nil {
		all[0].Notes = append([]string{refused.Error()}, all[0].Notes...)
		refused = nil
	}
	return all, refused
}

// same reports whether q is the same task of the same arrays.
func (p Proposal) same(q Proposal) bool {
	return p.Task == q.Task && slices.Equal(p.X, q.X) && slices.Equal(p.Y, q.Y)
}

// propose completes a pair, or says why training would not take it.
func (s *search) propose(p pair) (Proposal, error) {
	if err := s.possible(p); err != nil {
		return Proposal{}, err
	}
	if p.x[0].kind == tokens {
		layers, err := s.tokenLayers(p.x[0])
		if err != nil {
			return Proposal{}, err
		}
		p.embedding = layers
	}
	net, err := p.network()
	if err != nil {
		return Proposal{}, err
	}
	p.x = s.usefulColumns(p)
	split := s.divide(p)
	out := Proposal{
		Task: p.task, Goal: Choice{string(p.task), p.taskWhy}, Model: net.lines(), Targets: net.targets,
		Loss: net.measure.loss, LossWhy: net.measure.lossWhy, Metrics: net.measure.metrics, MetricsWhy: net.measure.metricsWhy,
		Input: s.describeInputs(p), Target: describeTarget(p),
		Split: split.Choice, Network: Choice{kindsOf(net), net.why},
	}
	out.X, out.Y, out.Notes = pathsOf(p.x), pathsOf(p.targets()), notes(p)
	out.Data = slices.Concat(
		[]Setting{{"x", pathsYAML(p.x), commentOf(out.Input)}, {"y", targetsYAML(p), commentOf(out.Target)}},
		rowForm(p), split.settings, s.rowSettings(p), missing(p), normalization(p, net))
	return out, nil
}
