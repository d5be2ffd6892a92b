package cuda

// #include "calls.h"
import "C"

import (
	"fmt"
	"runtime"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/h5dnn/h5dnn/kernels"
	"github.com/h5dnn/h5dnn/kernels/device"
	"github.com/h5dnn/h5dnn/storage"
)

// code is the kernels' device code on one device. Each entry is a module of its own,
// loaded at its first launch or by Preload.
type code struct {
	mu      sync.Mutex
	entries map[string]*loadedEntry
	loads   []Load
}

// A loadedEntry is an entry that is being loaded, or was.
type loadedEntry struct {
	once   sync.Once
	module *module
	err    error
}

// A Load says how the code of an entry was loaded.
type Load struct {
	Entry string
	From  string // "shipped", "cached", or "compiled" from PTX by the driver
	Took  time.Duration
}

// Loads lists the entries loaded so far.
func (d *Device) Loads() []Load {
	d.code.mu.Lock()
	defer d.code.mu.Unlock()
	return slices.Clone(d.code.loads)
}

// Preload loads, in the background, the code that training steps use most, so that the
// first step need not wait for one entry after another to be compiled. Entries that fail
// to load are tried again when they are launched.
func (d *Device) Preload() {
	names := make(chan string)
	go func() {
		defer close(names)
		for _, name := range kernels.TrainingEntries {
			names <- name
		}
	}()
	for range min(runtime.GOMAXPROCS(0), len(kernels.TrainingEntries)) {
		go func() {
			for name := range names {
				d.code.entry(d, name)
			}
		}()
	}
}

// function returns the handle of an entry, as module.function does.
func (c *code) function(d *Device, entry string, sizes ...int) (C.h5_handle, error) {
	m, err := c.entry(d, entry)
	if err != nil {
		return 0, err
	}
	return m.function(d, entry, sizes...)
}

// entry returns the module of an entry, which it loads, or waits for if another goroutine
// is loading it. An error is not kept.
func (c *code) entry(d *Device, name string) (*module, error) {
	c.mu.Lock()
	e := c.entries[name]
	if e == nil {
		if e = new(loadedEntry); c.entries == nil {
			c.entries = map[string]*loadedEntry{}
		}
		c.entries[name] = e
	}
	c.mu.Unlock()
	e.once.Do(func() {
		if e.module, e.err = c.load(d, name); e.err != nil {
			c.mu.Lock()
			delete(c.entries, name)
			c.mu.Unlock()
		}
	})
	return e.module, e.err
}

func (c *code) load(d *Device, name string) (*module, error) {
	began := time.Now()
	text, err := device.Entry(d.Capability, name)
	if err != nil {
		return nil, fmt.Errorf("%v: %w: %w", d, err, storage.ErrDevice)
	}
	m := new(module)
	from, err := m.loadCached(d, text)
	if err != nil {
		return nil, fmt.Errorf("%v: entry %s: %w", d, name, err)
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.loads = append(c.loads, Load{name, from, time.Since(began)})
	return m, nil
}

// LoadSummary describes Loads in a line: how many entries are from where, and the longest.
func (d *Device) LoadSummary() string {
	count, took := map[string]int{}, map[string]time.Duration{}
	var longest Load
	for _, l := range d.Loads() {
		count[l.From]++
		took[l.From] += l.Took
		if l.Took > longest.Took {
			longest = l
		}
	}
	var parts []string
	for _, from := range []string{"shipped", "cached", "compiled"} {
		if count[from] > 0 {
			parts = append(parts, fmt.Sprintf("%d entries %s in %v", count[from], from, took[from].Round(time.Microsecond)))
		}
	}
	if parts == nil {
		return "no code was loaded"
	}
	return fmt.Sprintf("%s; the longest, %s, in %v", strings.Join(parts, ", "), longest.Entry, longest.Took.Round(time.Microsecond))
}
