package main

import (
	"fmt"
	"io"
	"math"
	"os"
	"strings"
	"time"

	"golang.org/x/term"
)

// columnsOf returns the number of columns of the terminal w, or otherwise for other writers.
func columnsOf(w io.Writer, otherwise int) int {
	if isTerminal(w) {
		if columns, _, err := term.GetSize(int(w.(*os.File).Fd())); err == nil && columns > 0 {
			return columns
		}
	}
	return otherwise
}

// A part is a text of a line that is shortened, and left out, where there is no room. The
// parts of the highest rank go first; those of rank 0 stay.
type part struct {
	text, short string // short is text if it is empty
	rank        int
}

// fit joins parts to a line of at most the given number of columns.
func fit(parts []part, columns int) string {
	join := func(short bool, rank int) string {
		var texts []string
		for _, p := range parts {
			if p.rank > rank {
				continue
			}
			text := p.text
			if short && p.short != "" {
				text = p.short
			}
			texts = append(texts, text)
		}
		return strings.Join(texts, "  ")
	}
	most := 0
	for _, p := range parts {
		most = max(most, p.rank)
	}
	for rank := most; rank >= 0; rank-- {
		for _, short := range []bool{false, true} {
			if short && rank > worthShortening {
				continue // leaving out speeds is better than shortening names
			}
			if line := join(short, rank); len([]rune(line)) <= columns {
				return line
			}
		}
	}
	return clip(join(true, 0), max(1, columns))
}

// worthShortening is the highest rank of parts for which others are shortened.
const worthShortening = 2

// narrowestBar is the fewest columns of a bar that are worth drawing.
const narrowestBar = 8

// barLine returns a line of at most the given number of columns: the label, a progress bar,
// the percentage and the parts behind.
func barLine(columns int, label string, share float64, behind []part) string {
	share = min(1, max(0, share))
	percent := fmt.Sprintf("%3.0f%%", math.Floor(100*share))
	tail := fit(behind, columns-len([]rune(label))-len(percent)-narrowestBar-6)
	if tail != "" {
		tail = "  " + tail
	}
	room := columns - len([]rune(label)) - len(percent) - len([]rune(tail)) - 2
	if room < narrowestBar { // a very narrow terminal
		return clip(label+" "+percent, max(1, columns))
	}
	room = min(room, 40)
	filled := int(share * float64(room))
	return label + " " + strings.Repeat("█", filled) + strings.Repeat("░", room-filled) + " " + percent + tail
}

// A liveLine is a line of a terminal that is written again and again.
type liveLine struct {
	w     io.Writer
	last  time.Time
	shown bool
}

// liveEvery is the least time between two writings.
const liveEvery = 100 * time.Millisecond

// due reports whether it is time to write the line again.
func (l *liveLine) due() bool { return time.Since(l.last) >= liveEvery }

// show replaces the line.
func (l *liveLine) show(text string) {
	l.last, l.shown = time.Now(), true
	fmt.Fprintf(l.w, "\r%s\x1b[K", text)
}

// clear removes the line.
func (l *liveLine) clear() {
	if l.shown {
		fmt.Fprint(l.w, "\r\x1b[K")
		l.shown = false
	}
}

// remaining estimates the time until a share of 1, in minutes and seconds.
func remaining(elapsed time.Duration, share float64) string {
	if share <= 0 {
		return ""
	}
	left := time.Duration(float64(elapsed) * (1 - share) / share).Round(time.Second)
	if left >= time.Hour {
		return fmt.Sprintf("%d:%02d:%02d left", left/time.Hour, left%time.Hour/time.Minute, left%time.Minute/time.Second)
	}
	return fmt.Sprintf("%d:%02d left", left/time.Minute, left%time.Minute/time.Second)
}

// clip cuts a text to at most n characters.
func clip(s string, n int) string {
	if text := []rune(s); len(text) > n {
		return string(text[:n-1]) + "…"
	}
	return s
}
