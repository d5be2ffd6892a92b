package trace_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/h5dnn/h5dnn/internal/trace"
)

// Example records a span.
func Example() {
	r := trace.Start(true)
	trace.Begin(trace.Reading, "chunk", 3).End()
	r.Stop()
	var b strings.Builder
	fmt.Println(r.WriteChrome(&b), strings.Contains(b.String(), `"cat":"reading","name":"chunk 3"`), r.Total(trace.Reading) > 0)
	// Output: <nil> true true
}

// TestSpansOfAThreadDoNotOverlap: goroutines that work at once are on threads of their own, each with a name, and
// times are added up over them. Recorders around one get its spans too.
func TestSpansOfAThreadDoNotOverlap(t *testing.T) {
	outer := trace.Start(false)
	r := trace.Start(true)
	var wait sync.WaitGroup
	for g := range 4 {
		wait.Go(func() {
			for i := range 100 {
				s := trace.Begin(trace.Decoding, "block \"\x00", i)
				trace.Begin(trace.Reading, "chunk", -1).End()
				s.End()
				if g == 0 {
					trace.Begin(trace.Computing, "step", i).End()
				}
			}
		})
	}
	wait.Wait()
	r.Stop()
	outer.Stop()
	trace.Begin(trace.Reading, "after", 0).End()
	var b bytes.Buffer
	if err := r.WriteChrome(&b); err != nil {
		t.Fatal(err)
	}
	var file struct {
		TraceEvents []struct {
			Ph, Cat, Name string
			Pid, Tid      int
			Ts, Dur       float64
			Args          map[string]any
		}
	}
	if err := json.Unmarshal(b.Bytes(), &file); err != nil {
		t.Fatal(err)
	}
	count, named, busy := map[string]int{}, map[int]bool{}, map[int]float64{}
	slices.SortStableFunc(file.TraceEvents, func(a, b struct {
		Ph, Cat, Name string
		Pid, Tid      int
		Ts, Dur       float64
		Args          map[string]any
	}) int {
		return int(1000*a.Ts) - int(1000*b.Ts)
	})
	for _, e := range file.TraceEvents {
		if e.Ph == "M" {
			named[e.Tid] = true
			continue
		}
		count[e.Cat]++
		if !named[e.Tid] || e.Ph != "X" || e.Pid != 1 || e.Dur < 0 || e.Ts+0.002 < busy[e.Tid] {
			t.Errorf("event %+v on a thread that is busy until %v", e, busy[e.Tid])
		}
		busy[e.Tid] = e.Ts + e.Dur
	}
	if fmt.Sprint(count) != "map[decoding:400 reading:400 step:100]" || r.Dropped() != 0 {
		t.Errorf("spans %v, %d dropped", count, r.Dropped())
	}
	if outer.Total(trace.Decoding) != r.Total(trace.Decoding) || r.Total(trace.Decoding) == 0 {
		t.Errorf("the recorder around has %v of %v", outer.Total(trace.Decoding), r.Total(trace.Decoding))
	}
}

func BenchmarkIdle(b *testing.B) {
	for b.Loop() {
		trace.Begin(trace.Reading, "chunk", -1).End()
	}
}

func BenchmarkTotals(b *testing.B) {
	r := trace.Start(false)
	defer r.Stop()
	for b.Loop() {
		trace.Begin(trace.Reading, "chunk", -1).End()
	}
}
