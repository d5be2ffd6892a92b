package cudatest

import (
	"slices"
	"sync"
)

// A capture is the graph that streams build while they are being captured.
type capture struct {
	origin *stream
	joined []*stream // origin among them
	nodes  []node
	broken bool // by a call that is not allowed during capture
}

// A node is work that depends on other nodes of its capture.
type node struct {
	after []int
	run   func() error
}

// A capturedEventNode is the record of an event during capture.
type capturedEventNode struct {
	recording *capture
	after     []int
}

// ended reports whether the capture has ended.
func (m *capturedEventNode) ended() bool { return m.recording.origin.capture != m.recording }

// join makes s part of r; its next node depends on the nodes after.
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

// end ends the capture of all streams, and reports whether they are all joined to the
// origin.
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

// A graph is captured work.
type graph struct {
	nodes []node
	runs  int
}

// An executable is a graph that can be launched.
type executable struct{ *graph }

// run runs the nodes: in the order of capture, in another valid order, or concurrently.
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

// runNodes runs nodes in the order that walk gives, until one fails.
func (g *graph) runNodes(walk func(do func(i int))) (err error) {
	walk(func(i int) {
		if err == nil {
			err = g.nodes[i].run()
		}
	})
	return err
}

// runOutOfOrder visits the nodes in a valid order, preferring those captured last; every
// second time it alternates between last and first.
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

// runConcurrently runs each node in a goroutine that waits for its dependencies.
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
