// Package trace records how long a program reads, decodes, copies and computes, in all goroutines, and writes that as a Chrome
// trace.
//
// Nothing is recorded unless a Recorder is started: Begin then is a load and a comparison.
package trace

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io"
	"sync"
	"sync/atomic"
	"time"
)

// A Kind is a kind of work.
type Kind int

// The kinds of work. Those below it happen inside of Decoding, Computing and Validating too.
const (
	Reading    Kind = iota // of stored bytes, from files
	Decoding               // of blocks of samples, reading included
	Copying                // of samples into batches and of batches to a device
	Augmenting             // of samples, by a loader's stage
	Waiting                // for batches
	Computing              // of training steps
	Operation              // of one operation or kernel
	Validating             // of an epoch
	Saving                 // of the run
	kinds
)

var kindNames = [kinds]string{"reading", "decoding", "copying", "augmenting", "waiting", "step", "operation", "validation", "saving"}

func (k Kind) String() string { return kindNames[k] }

// A Recorder adds up the time of each kind of work, in all goroutines that do it at once, and keeps the spans if that is asked for.
type Recorder struct {
	began  time.Time
	totals [kinds]atomic.Int64 // nanoseconds
	spans  bool

	mu      sync.Mutex
	events  []event
	dropped int
	lanes   [kinds][]bool // which lanes of a kind are taken
	outer   *Recorder     // that was active before
}

// An event is a span that has ended.
type event struct {
	kind        Kind
	lane        int
	name        string
	number      int
	start, took time.Duration
}

// maxEvents bounds the memory of a recorder. Further spans are counted.
const maxEvents = 2_000_000

var active atomic.Pointer[Recorder]

// Start starts to record, until Stop. Spans are kept if spans is set, and otherwise only added up. Recorders may be nested:
// the last one records, and passes everything on to the one before.
func Start(spans bool) *Recorder {
	r := &Recorder{began: time.Now(), spans: spans, outer: active.Load()}
	active.Store(r)
	return r
}

// Stop ends the recording by r and those started since.
func (r *Recorder) Stop() { active.Store(r.outer) }

// Spans reports whether spans are kept, so that work is worth recording whose time nothing adds up.
func Spans() bool { return active.Load() != nil && spansKept() }

func spansKept() bool {
	for r := active.Load(); r != nil; r = r.outer {
		if r.spans {
			return true
		}
	}
	return false
}

// A Span is work that goes on. Nil records nothing.
type Span struct {
	r      *Recorder
	kind   Kind
	name   string
	number int
	lanes  []int // of each recorder that keeps spans
	start  time.Time
}

// Begin begins a span, of the active recorder. The name and the number, unless it is negative, are for its readers.
func Begin(k Kind, name string, number int) *Span {
	if active.Load() == nil {
		return nil
	}
	return begin(k, name, number)
}

func begin(k Kind, name string, number int) *Span {
	s := &Span{r: active.Load(), kind: k, name: name, number: number}
	for r := s.r; r != nil; r = r.outer {
		if r.spans {
			s.lanes = append(s.lanes, r.takeLane(k))
		}
	}
	s.start = time.Now()
	return s
}

// End ends s.
func (s *Span) End() {
	if s != nil {
		s.end()
	}
}

func (s *Span) end() {
	took := time.Since(s.start)
	for r, k := s.r, 0; r != nil; r = r.outer {
		r.totals[s.kind].Add(int64(took))
		if r.spans {
			r.keep(event{s.kind, s.lanes[k], s.name, s.number, s.start.Sub(r.began), took})
			k++
		}
	}
}

// takeLane returns the first lane of a kind that no span is on, so that spans of a lane do not overlap.
func (r *Recorder) takeLane(k Kind) int {
	r.mu.Lock()
	defer r.mu.Unlock()
	for i, taken := range r.lanes[k] {
		if !taken {
			r.lanes[k][i] = true
			return i
		}
	}
	r.lanes[k] = append(r.lanes[k], true)
	return len(r.lanes[k]) - 1
}

// keep keeps a span that has ended, and frees its lane.
func (r *Recorder) keep(e event) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.lanes[e.kind][e.lane] = false
	if len(r.events) >= maxEvents {
		r.dropped++
		return
	}
	r.events = append(r.events, e)
}

// Total returns the time of a kind of work so far, added up over goroutines.
func (r *Recorder) Total(k Kind) time.Duration { return time.Duration(r.totals[k].Load()) }

// Dropped returns how many spans were not kept, after the first two million.
func (r *Recorder) Dropped() int {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.dropped
}

// WriteChrome writes the spans in the Trace Event Format, which chrome://tracing and Perfetto load: complete events (X) in
// microseconds, on a thread for each kind of work and for each more that goes on at once.
func (r *Recorder) WriteChrome(w io.Writer) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	b := bufio.NewWriter(w)
	b.WriteString(`{"displayTimeUnit":"ms","traceEvents":[`)
	fmt.Fprintf(b, "\n"+`{"ph":"M","pid":1,"name":"process_name","args":{"name":"h5dnn"}}`)
	for k, lanes := range r.lanes {
		for lane := range lanes {
			name := Kind(k).String()
			if lane > 0 {
				name = fmt.Sprint(name, " ", lane+1)
			}
			fmt.Fprintf(b, ",\n"+`{"ph":"M","pid":1,"tid":%d,"name":"thread_name","args":{"name":%q}}`, thread(Kind(k), lane), name)
			fmt.Fprintf(b, ",\n"+`{"ph":"M","pid":1,"tid":%d,"name":"thread_sort_index","args":{"sort_index":%d}}`, thread(Kind(k), lane), thread(Kind(k), lane))
		}
	}
	for _, e := range r.events {
		if e.number >= 0 {
			e.name = fmt.Sprint(e.name, " ", e.number)
		}
		name, err := json.Marshal(e.name)
		if err != nil {
			return err
		}
		fmt.Fprintf(b, ",\n"+`{"ph":"X","pid":1,"tid":%d,"cat":%q,"name":%s,"ts":%.3f,"dur":%.3f}`, thread(e.kind, e.lane), e.kind, name, micros(e.start), micros(e.took))
	}
	fmt.Fprintf(b, "\n"+`],"otherData":{"dropped":"%d"}}`+"\n", r.dropped)
	return b.Flush()
}

// thread returns the number of a lane's thread.
func thread(k Kind, lane int) int { return 1 + int(k)*1000 + lane }

func micros(d time.Duration) float64 { return float64(d) / float64(time.Microsecond) }
