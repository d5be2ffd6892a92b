package cuda

import (
	"cmp"
	"fmt"
	"runtime"
	"slices"
	"strings"
	"sync"
	"text/tabwriter"
	"time"

	"github.com/h5dnn/h5dnn/kernels"
)

// A Profile counts a device's launches and copies, by their callers.
type Profile struct {
	device *Device
	timed  bool // whether launches are timed
	mu     sync.Mutex
	rows   map[Row]*Row // by Activity and Name
	timers []launchTimer
}

// A Row counts one kind of activity of one caller.
type Row struct {
	// Activity is "launch", of a kernel or a library call; "copy", of strided arrays by a
	// kernel; "upload", "download" or "move", between host and device or within devices;
	// "capture" or "replay", of a graph.
	Activity string
	Name     string // the kernel's entry, the library, the graph's size, or the calling function: "tensor.(*Tensor).Item"
	Count    int
	Bytes    int           // 0 for launches and replays
	Time     time.Duration // on the GPU, of launches; 0 if they are not timed
}

// A launchTimer is the time of a launch, between two events.
type launchTimer struct {
	name       string
	start, end *Event
}

// Profile starts counting on d, until Stop. Only the last profile of a device counts.
// Launches of a graph are counted when it is captured.
func (d *Device) Profile() *Profile {
	p := &Profile{device: d, rows: map[Row]*Row{}}
	d.profile.Store(p)
	return p
}

// ProfileTimes is Profile with the time that each launch takes on the GPU, measured by events
// before and after it. A GPU that waits for the host counts as busy: to avoid that, launch
// something long first. Launches into a graph are not timed.
func (d *Device) ProfileTimes() *Profile {
	p := &Profile{device: d, timed: true, rows: map[Row]*Row{}}
	d.profile.Store(p)
	return p
}

// startTimer returns a recorded timer if launches are timed, else nil.
func (d *Device) startTimer(s *Stream) *Event {
	if p := d.profile.Load(); p == nil || !p.timed || d.capturing.Load() != nil {
		return nil
	}
	e, err := d.NewTimer()
	if err != nil || e.Record(s) != nil {
		return nil
	}
	return e
}

// stopTimer ends the time of a launch that startTimer began, unless start is nil.
func (d *Device) stopTimer(start *Event, s *Stream, name string) {
	p := d.profile.Load()
	if start == nil || p == nil {
		return
	}
	end, err := d.NewTimer()
	if err != nil || end.Record(s) != nil {
		return
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	p.timers = append(p.timers, launchTimer{name, start, end})
}

// addTimes waits for all timed launches and adds their times to the rows. The lock is held.
func (p *Profile) addTimes() {
	for _, t := range p.timers {
		if t.end.Wait() == nil {
			if took, err := t.end.Since(t.start); err == nil && p.rows[Row{Activity: "launch", Name: t.name}] != nil {
				p.rows[Row{Activity: "launch", Name: t.name}].Time += took
			}
		}
		t.start.Close()
		t.end.Close()
	}
	p.timers = nil
}

// Stop ends the counting.
func (p *Profile) Stop() { p.device.profile.CompareAndSwap(p, nil) }

// Rows returns the counts so far, by bytes, then by time and number, in descending order.
func (p *Profile) Rows() []Row {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.addTimes()
	rows := make([]Row, 0, len(p.rows))
	for _, r := range p.rows {
		rows = append(rows, *r)
	}
	slices.SortFunc(rows, func(a, b Row) int {
		return cmp.Or(b.Bytes-a.Bytes, cmp.Compare(b.Time, a.Time), b.Count-a.Count, strings.Compare(a.Activity, b.Activity), strings.Compare(a.Name, b.Name))
	})
	return rows
}

// String formats the rows as a table.
func (p *Profile) String() string {
	var b strings.Builder
	w := tabwriter.NewWriter(&b, 0, 0, 2, ' ', 0)
	for _, r := range p.Rows() {
		fmt.Fprintf(w, "%s\t%s\t%d×", r.Activity, r.Name, r.Count)
		if r.Bytes > 0 {
			fmt.Fprintf(w, "\t%s", amount(r.Bytes))
		}
		fmt.Fprintln(w)
	}
	w.Flush()
	return b.String()
}

// count adds one to a row, if d is profiled. Without a name it is counted for the caller.
func (d *Device) count(what, by string, bytes int) {
	p := d.profile.Load()
	if p == nil {
		return
	}
	if by == "" {
		by = callerName()
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	key := Row{Activity: what, Name: by}
	r := p.rows[key]
	if r == nil {
		r = &Row{Activity: what, Name: by}
		p.rows[key] = r
	}
	r.Count++
	r.Bytes += bytes
}

// countCopy counts a call of the copy kernel.
func (d *Device) countCopy(k *kernels.Kernel, c *kernels.Call) {
	if k == kernels.Copy && len(c.Out) == 1 {
		d.count("copy", "", c.Out[0].Len()*c.Out[0].Type.Size())
	}
}

// forwarders are functions of other packages that only forward a call.
var forwarders = map[string]bool{"Run": true, "run": true, "Compute": true, "compute": true, "Read": true}

// callerName returns the function on whose behalf the device was called: the first one
// outside of the packages that forward calls to devices.
func callerName() string {
	pcs := make([]uintptr, 64)
	frames := runtime.CallersFrames(pcs[:runtime.Callers(2, pcs)])
	for {
		f, more := frames.Next()
		name := f.Function[strings.LastIndex(f.Function, "/")+1:]
		if dot := strings.Index(name, "."); dot > 0 {
			last := name[strings.LastIndex(name, ".")+1:]
			if p := name[:dot]; p != "cuda" && p != "storage" && p != "kernels" && !forwarders[last] {
				return name
			}
		}
		if !more {
			return "unknown"
		}
	}
}
