package propose

import (
	"fmt"
	"slices"

	"github.com/h5dnn/h5dnn/dtype"
)

// A form is what a row of an array is to a model.
type form struct {
	kind     formKind
	channels int   // 0: no axis of channels
	last     bool  // the axis of channels comes last
	sizes    []int // of the spatial axes, or the number of columns
	reason   string
}

type formKind int

const (
	scalar  formKind = iota
	table            // columns
	signal           // samples, and channels
	image            // height and width, and channels
	volume           // depth, height and width, and channels
	tokens           // numbers of words
	unknown          // more axes than a layer takes
)

func (k formKind) String() string {
	return []string{"numbers", "a table", "signals", "images", "volumes", "token numbers", "arrays of too many axes"}[k]
}

// spatial returns the number of axes that a convolution moves along.
func (f form) spatial() int {
	switch f.kind {
	case signal:
		return 1
	case image:
		return 2
	case volume:
		return 3
	}
	return 0
}

// smooth is the correlation of neighbours from which they belong together.
const smooth = 0.5

// formOf tells what a row of a is, from the names of its axes, its name, its type and shape,
// and its values, in this order.
func formOf(a *Array, f facts) form {
	if a.Kind == Ragged {
		if tokenWords.named(a.Path) || a.Type.IsInt() && f.max > 255 {
			return form{kind: tokens, reason: "rows of integers of different lengths"}
		}
		return form{kind: signal, sizes: []int{0}, reason: "rows of different lengths, padded to the longest"}
	}
	switch row := a.Row; len(row) {
	case 0:
		return form{kind: scalar}
	case 1:
		return vectorForm(a, f)
	case 2:
		return planeForm(a, f)
	case 3:
		return stackForm(a)
	case 4:
		return withChannels(volume, row, row[3] <= row[0], "four axes")
	}
	return form{kind: unknown, sizes: a.Row}
}

// withChannels is a form whose channels are on the first or the last axis.
func withChannels(k formKind, row []int, last bool, reason string) form {
	if last {
		return form{kind: k, channels: row[len(row)-1], last: true, sizes: row[:len(row)-1], reason: reason}
	}
	return form{kind: k, channels: row[0], sizes: row[1:], reason: reason}
}

// isTokens reports whether the rows are numbers of words: by their name, or because they
// are integers beyond bytes that are padded with zeros.
func isTokens(a *Array, f facts) bool {
	if !f.integers || f.n == 0 || a.Type.IsFloat() || f.min < 0 || a.Row[0] < 8 {
		return false
	}
	return f.max > 1 && tokenWords.named(a.Path) || f.max > 255 && a.Type.Size() >= dtype.Int32.Size() && a.Row[0] >= 16 && a.padded() && a.smoothness(0) < smooth
}

func vectorForm(a *Array, f facts) form {
	n := a.Row[0]
	axis := axisName(a, 1)
	switch {
	case isTokens(a, f):
		return form{kind: tokens, sizes: a.Row, reason: "integers like the numbers of words"}
	case slices.Contains(channelAxes, axis):
		return form{kind: table, sizes: a.Row, reason: "columns along the axis " + axis}
	case n >= 16 && slices.Contains(timeAxes, axis):
		return form{kind: signal, sizes: a.Row, reason: "samples along the axis " + axis}
	case n >= 64 && a.smoothness(0) > smooth:
		return form{kind: signal, sizes: a.Row, reason: "neighbours along the rows are alike"}
	case n >= 32 && signalWords.within(a.Path):
		return form{kind: signal, sizes: a.Row, reason: "named like a signal"}
	}
	return form{kind: table, sizes: a.Row, reason: plural(n, "column")}
}

// planeForm tells images (height, width) from signals of channels.
func planeForm(a *Array, f facts) form {
	h, w := a.Row[0], a.Row[1]
	first, second := axisName(a, 1), axisName(a, 2)
	longLast := w >= h
	isSignal := func(channelsLast bool, reason string) form { return withChannels(signal, a.Row, channelsLast, reason) }
	switch {
	case slices.Contains(heightAxes, first) && slices.Contains(widthAxes, second):
		return form{kind: image, sizes: a.Row, reason: "axes " + first + " and " + second}
	case slices.Contains(timeAxes, first) || slices.Contains(channelAxes, second):
		return isSignal(true, "axes of samples, then channels")
	case slices.Contains(channelAxes, first) || slices.Contains(timeAxes, second):
		return isSignal(false, "axes of channels, then samples")
	case imageWords.within(a.Path) && min(h, w) >= 4:
		return form{kind: image, sizes: a.Row, reason: "named like images"}
	case signalWords.within(a.Path):
		return isSignal(!longLast, "named like signals; the longer axis holds the samples")
	case max(h, w) >= 4*min(h, w) || min(h, w) < 8:
		return isSignal(!longLast, fmt.Sprintf("%d×%d is too narrow for an image; the longer axis holds the samples", h, w))
	case a.Type == dtype.Uint8:
		return form{kind: image, sizes: a.Row, reason: "bytes of height and width"}
	}
	alongFirst, alongSecond := a.smoothness(0), a.smoothness(1)
	switch {
	case alongFirst > smooth && alongSecond < smooth/2:
		return isSignal(true, "neighbours are alike along the first axis of a row only")
	case alongSecond > smooth && alongFirst < smooth/2:
		return isSignal(false, "neighbours are alike along the second axis of a row only")
	}
	return form{kind: image, sizes: a.Row, reason: "height and width"}
}

// stackForm tells images with channels from volumes.
func stackForm(a *Array) form {
	row := a.Row
	few := func(n int) bool { return n == 1 || n == 3 || n == 4 }
	switch {
	case a.Attrs["layout"] == "nhwc" || a.Attrs["layout"] == "nchw":
		return withChannels(image, row, a.Attrs["layout"] == "nhwc", "the layout that the file records")
	case slices.Contains(channelAxes, axisName(a, 3)):
		return withChannels(image, row, true, "channels on the axis "+axisName(a, 3))
	case slices.Contains(channelAxes, axisName(a, 1)):
		return withChannels(image, row, false, "channels on the axis "+axisName(a, 1))
	case volumeWords.within(a.Path):
		return form{kind: volume, sizes: row, reason: "named like volumes"}
	case few(row[2]) && !few(row[0]):
		return withChannels(image, row, true, fmt.Sprintf("channels last: %d", row[2]))
	case few(row[0]):
		return withChannels(image, row, false, fmt.Sprintf("channels first: %d", row[0]))
	case row[0] == row[1] && row[2] != row[1]:
		return withChannels(image, row, true, fmt.Sprintf("square images of %d channels, which come last", row[2]))
	case row[1] == row[2] && row[0] != row[1]:
		return withChannels(image, row, false, fmt.Sprintf("square images of %d channels, which come first", row[0]))
	}
	return form{kind: volume, sizes: row, reason: "three axes of space"}
}

// axisName returns the name of an axis in lower case, or "".
func axisName(a *Array, axis int) string {
	if axis >= len(a.Axes) {
		return ""
	}
	return lower(a.Axes[axis])
}

// plural counts things.
func plural(n int, thing string) string {
	if n == 1 {
		return "1 " + thing
	}
	return fmt.Sprintf("%d %ss", n, thing)
}
