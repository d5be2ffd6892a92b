package main

import (
	"io"
	"time"

	"github.com/schollz/progressbar/v3"
)

// A meter shows the progress of an operation in bytes, if the output is a terminal.
type meter struct{ bar *progressbar.ProgressBar }

func newMeter(w io.Writer, what string, total int) meter {
	if !isTerminal(w) {
		return meter{}
	}
	return meter{progressbar.NewOptions(total,
		progressbar.OptionSetWriter(w), progressbar.OptionFullWidth(), progressbar.OptionClearOnFinish(),
		progressbar.OptionSetDescription(what), progressbar.OptionShowBytes(true), progressbar.OptionSetPredictTime(true),
		progressbar.OptionThrottle(100*time.Millisecond), progressbar.OptionUseANSICodes(true))}
}

func (m meter) add(bytes int) {
	if m.bar != nil {
		m.bar.Add(bytes)
	}
}

// end clears the bar.
func (m meter) end() {
	if m.bar != nil {
		m.bar.Clear()
	}
}
