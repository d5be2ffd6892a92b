package dataconfig

import (
	"fmt"
	"slices"

	"github.com/h5dnn/h5dnn/config"
	"github.com/h5dnn/h5dnn/dataset"
	"github.com/h5dnn/h5dnn/views"
)

// ahead is YAhead, 0 if it is absent.
func (c Config) ahead() int {
	if c.YAhead == nil {
		return 0
	}
	return *c.YAhead
}

// targetRows returns the number of rows that the target of a sample has, and whether they
// are an axis of it.
func (c Config) targetRows() (rows int, axis bool) {
	switch {
	case c.YSteps > 0:
		return c.YSteps, c.Steps > 1 || c.YSteps > 1
	case c.ahead() > 0:
		return 1, false
	}
	return max(1, c.Steps), c.Steps > 1
}

// span is the number of neighbouring rows that a sample takes, inputs and targets.
func (c Config) span() int {
	steps := max(1, c.Steps)
	if c.ahead() == 0 {
		return steps
	}
	rows, _ := c.targetRows()
	return steps + c.ahead() - 1 + rows
}

// windowed reports whether samples of a field have an axis of rows.
func (c Config) windowed(role dataset.Role) bool {
	switch role {
	case dataset.Target:
		_, axis := c.targetRows()
		return axis
	case dataset.Weight:
		return false
	}
	return c.Steps > 1
}

// windows makes samples of several rows of a field, if c says so: of inputs the first
// rows of a span, of targets the last ones, of weights the last.
func (c Config) windows(n dataset.NamedArray) (dataset.NamedArray, error) {
	span := c.span()
	if span == 1 {
		return n, nil
	}
	first, length := 0, max(1, c.Steps)
	switch n.Role {
	case dataset.Target:
		length, _ = c.targetRows()
		first = span - length
	case dataset.Weight:
		first, length = span-1, 1
	}
	v, err := n.Array.View.Slice(0, first, n.Array.Shape[0]-(span-first-length), 1)
	if err != nil {
		return n, err
	}
	n.From.Row = first
	if n.Array = n.Array.With(v); !c.windowed(n.Role) {
		return n, nil
	}
	n.From.Steps = length
	if n.Array, err = dataset.SlidingWindows(n.Array, length); err != nil || n.Role != dataset.Input {
		return n, err
	}
	return c.frames(n)
}

// frames makes samples of some rows of the windows of an input, if c says so.
func (c Config) frames(n dataset.NamedArray) (dataset.NamedArray, error) {
	slice := c.Frames.of(n.Name)
	if slice == "" {
		return n, nil
	}
	all := n.Array.View
	v, err := all.Index(":, " + slice)
	if err == nil && (v.Rank() != all.Rank() || v.Shape[1] == 0 || v.Stride[1] < 1) {
		err = config.Errorf("%q is no slice with a positive step of the %d rows of a window", slice, all.Shape[1])
	}
	if err != nil {
		return n, config.At(err, "frames", n.Name)
	}
	row := all.Stride[1]
	n.From.Row += (v.Offset - all.Offset) / row
	n.From.Stride = v.Stride[1] / row
	n.Array = n.Array.With(v)
	return n, nil
}

// checkForecast refuses targets among the rows of their own inputs, which a model would
// only have to copy, unless YAhead asks for them.
func (c Config) checkForecast(p *part) error {
	if c.Steps < 2 || c.YAhead != nil || p.file != p.yFile {
		return nil
	}
	var inputs []field
	for _, f := range p.fields {
		if f.columns != nil {
			inputs = append(inputs, f.columns...)
		} else if f.Role == dataset.Input {
			inputs = append(inputs, f)
		}
	}
	for _, x := range inputs {
		for _, y := range p.fields {
			xPath, _ := views.CutIndex(x.path)
			yPath, _ := views.CutIndex(y.path)
			if y.Role != dataset.Target || xPath != yPath || x.Array.Data == nil || y.Array.Data == nil {
				continue
			}
			rows, err := c.windows(x.NamedArray)
			if err != nil {
				return err
			}
			targets, err := c.windows(y.NamedArray)
			if err != nil {
				return err
			}
			if views.Overlap(firstOf(rows.Array.View), firstOf(targets.Array.View)) {
				return config.Errorf("%s is an input and a target, and a target's rows are among its input's rows; forecast the next rows with y_ahead: 1, or ask for these with y_ahead: 0, as an autoencoder does", xPath)
			}
		}
	}
	return nil
}

// firstOf returns the first sample.
func firstOf(v views.View) views.View {
	one, err := v.Select(0, 0)
	if err != nil {
		return views.Of(0)
	}
	return one
}

// shortest is the number of rows of the shortest episode that has a sample.
func (c Config) shortest() int { return max(1, c.span()-c.PadBefore-c.PadAfter) }

// dropShort returns the parts that are long enough for one sample.
func (c Config) dropShort(parts []*part) ([]*part, error) {
	least := c.shortest()
	long := slices.DeleteFunc(slices.Clone(parts), func(p *part) bool { return p.len() < least })
	switch {
	case len(long) > 0 || len(parts) == 0:
	case least == 1:
		return nil, fmt.Errorf("%s has no rows: %w", parts[0].name(), views.ErrShape)
	default:
		return nil, fmt.Errorf("%s: none of %d parts is %d steps long: %w", parts[0].name(), len(parts), least, views.ErrShape)
	}
	return long, nil
}

// noteShort adds to notes that some of all episodes are left out, if there are any.
func noteShort(notes []string, short, all, span int) []string {
	if short > 0 {
		notes = append(notes, fmt.Sprintf("%d of %d episodes are shorter than %d steps, and left out", short, all, span))
	}
	return notes
}
