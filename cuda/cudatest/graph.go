package cudatest

import (
	"slices"
	"sync"
)

// A recording is what streams are given while one of them is captured: work,
// and which of it comes after which.
type capture struct {
	origin *stream
	joined []*stream // origin among them
	nodes  []node
	broken bool // by a call that must not be recorded
}

// A node is work that comes after other nodes of its recording.
type node struct {
	after []int
	run   func() error
}

// A mark is where an event was recorded in a recording: behind so many of its nodes.
type capturedEventNode struct {
	recording *capture
	after     []int
}

// ended reports whether that recording is over.
func (m *capturedEventNode) ended() bool { return m.recording.origin.capture != m.recording }

// join makes s part of r, its next node behind those of a mark.
func (r *capture) join(s *stream, after []int) {
	if s.capture == nil {
		s.capture = r
		r.joined = append(r.joined, s)
	}
	s.dependencies = slices.Concat(s.dependencies, after)
}

func (r *capture) add(s *stream, run func() error) {
	r.nodes = append(r.nodes, node{s.dependencies, run})
	s.dependencies = []int{len(r.nodes) - 1}
}

// end releases all streams of r, and reports whether the origin waits for
// everything that was recorded.
func (r *capture) end() (joined bool) {
	reached := make([]bool, len(r.nodes))
	reach := func(nodes []int) {
		for _, i := range nodes {
			reached[i] = true
		}
	}
	reach(r.origin.dependencies)
	for i, n := range slices.Backward(r.nodes) {
		if reached[i] {
			reach(n.after)
		}
	}
	for _, s := range r.joined {
		s.capture, s.dependencies = nil, nil
	}
	return !slices.Contains(reached, false)
}

// A graph is work that was recorded.
type graph struct {
	nodes []node
	runs  int
}

// An executable is a graph that can be launched.
type executable struct{ *graph }

// run does the work: as recorded, in another order where it may be in any, or all
// at once that may be.
func (g *graph) run(s Schedule) error {
	switch s {
	case Eager:
		return g.runNodes(func(do func(i int)) {
			for i := range g.nodes {
				do(i)
			}
		})
	case Deferred:
		return g.runNodes(g.runOutOfOrder)
	}
	return g.runConcurrently()
}

// each does nodes in the order in which walk names them, until one fails.
func (g *graph) runNodes(walk func(do func(i int))) (err error) {
	walk(func(i int) {
		if err == nil {
			err = g.nodes[i].run()
		}
	})
	return err
}

// astray names all nodes, each behind those that it comes after, and otherwise what
// was recorded last first; but every second time by turns with what was first.
func (g *graph) runOutOfOrder(do func(i int)) {
	g.runs++
	waits, next := make([]int, len(g.nodes)), make([][]int, len(g.nodes))
	var ready []int
	for i, n := range g.nodes {
		for _, k := range n.after {
			next[k] = append(next[k], i)
		}
		if waits[i] = len(n.after); waits[i] == 0 {
			ready = append(ready, i)
		}
	}
	for turn := 0; len(ready) > 0; turn++ {
		i := slices.Max(ready)
		if g.runs%2 == 0 && turn%2 == 1 {
			i = slices.Min(ready)
		}
		ready = slices.DeleteFunc(ready, func(k int) bool { return k == i })
		do(i)
		for _, k := range next[i] {
			if waits[k]--; waits[k] == 0 {
				ready = append(ready, k)
			}
		}
	}
}

// together does nodes at once that wait for nothing but others.
func (g *graph) runConcurrently() error {
	done := make([]chan struct{}, len(g.nodes))
	for i := range done {
		done[i] = make(chan struct{})
	}
	var all sync.WaitGroup
	failures := make(chan error, len(g.nodes))
	for i, n := range g.nodes {
		all.Go(func() {
			defer close(done[i])
			for _, k := range n.after {
				<-done[k]
			}
			if err := n.run(); err != nil {
				failures <- err
			}
		})
	}
	all.Wait()
	close(failures)
	return <-failures
}
