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

// joinParts joins the parts up to a rank. Those of a rank above long are short.
func joinParts(parts []part, long, rank int, space string) string {
	var texts []string
	for _, p := range parts {
		if p.rank > rank {
			continue
		}
		text := p.text
		if p.rank > long && p.short != "" {
			text = p.short
		}
		texts = append(texts, text)
	}
	return strings.Join(texts, space)
}

// fit joins parts to a line of at most the given number of columns.
func fit(parts []part, columns int) string {
	join := func(short bool, rank int) string {
		long := rank
		if short {
			long = -1
		}
		return joinParts(parts, long, rank, "  ")
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
// the percentage and the parts behind. Where there is no room for a bar and all parts, short at least, the parts
// take its place.
func barLine(columns int, label part, share float64, behind []part) string {
	share = min(1, max(0, share))
	percent := fmt.Sprintf("%.0f%%", math.Floor(100*share))
	const last = 4 // rank of parts
	for long := last; long >= -1; long-- {
		tail := "  " + joinParts(behind, long, last, "  ")
		room := columns - len([]rune(label.text)) - 4 - len([]rune(tail)) - 2
		if room >= narrowestBar {
			room = min(room, 40)
			filled := int(share * float64(room))
			return strings.TrimRight(fmt.Sprintf("%s %s%s %4s%s", label.text, strings.Repeat("█", filled), strings.Repeat("░", room-filled), percent, tail), " ")
		}
	}
	line := append([]part{label, {percent, "", 0}}, behind...)
	for long := last; long >= -1; long-- {
		if text := joinParts(line, long, last, "  "); len([]rune(text)) <= columns {
			return text
		}
	}
	for rank := last; rank >= 0; rank-- {
		if text := joinParts(line, -1, rank, " "); len([]rune(text)) <= columns {
			return text
		}
	}
	return clip(joinParts(line, -1, 0, " "), max(1, columns))
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
	return clockText(time.Duration(float64(elapsed)*(1-share)/share)) + " left"
}

// clockText formats a time in hours, minutes and seconds.
func clockText(t time.Duration) string {
	if t = t.Round(time.Second); t >= time.Hour {
		return fmt.Sprintf("%d:%02d:%02d", t/time.Hour, t%time.Hour/time.Minute, t%time.Minute/time.Second)
	}
	return fmt.Sprintf("%d:%02d", t/time.Minute, t%time.Minute/time.Second)
}

// clip cuts a text to at most n characters.
func clip(s string, n int) string {
	if text := []rune(s); len(text) > n {
		return string(text[:n-1]) + "…"
	}
	return s
}
