package main

import (
	"context"
	"fmt"
	"io"
	"time"

	"github.com/h5dnn/h5dnn/arrayfmt"
)

// A meter shows the progress of an operation in bytes, if the output is a terminal.
type meter struct{ state *meterState }

type meterState struct {
	line        liveLine
	what        string
	done, total int
	began       time.Time
}

func newMeter(w io.Writer, what string, total int) meter {
	if !isRedrawn(w) {
		return meter{}
	}
	return meter{&meterState{line: liveLine{w: w}, what: what, total: total, began: time.Now()}}
}

func (m meter) add(bytes int) {
	s := m.state
	if s == nil {
		return
	}
	if s.done += bytes; s.line.due() {
		s.line.show(s.text(columnsOf(s.line.w, 80), time.Since(s.began)))
	}
}

func (s *meterState) text(columns int, elapsed time.Duration) string {
	share := float64(s.done) / float64(max(1, s.total))
	rate := int(float64(s.done) / max(1e-3, elapsed.Seconds()))
	return barLine(columns, part{text: s.what}, share, []part{
		{text: fmt.Sprintf("%s of %s", arrayfmt.Bytes(s.done), arrayfmt.Bytes(s.total)), rank: 2},
		{text: arrayfmt.Bytes(rate) + "/s", rank: 3},
		{text: remaining(elapsed, share), rank: 1},
	})
}

// end clears the bar.
func (m meter) end() {
	if m.state != nil {
		m.state.line.clear()
	}
}

// progressKey is the key of a meter in the context of an operation.
type progressKey struct{}

// withProgress returns a context whose operations show their progress.
func withProgress(ctx context.Context, m meter) context.Context {
	return context.WithValue(ctx, progressKey{}, m)
}

// progressOf returns the meter of withProgress, or one that shows nothing.
func progressOf(ctx context.Context) meter {
	m, _ := ctx.Value(progressKey{}).(meter)
	return m
}
