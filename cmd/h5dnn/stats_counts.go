package main

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/h5dnn/h5dnn/dtype"
	"github.com/h5dnn/h5dnn/inspect"
	"github.com/h5dnn/h5dnn/internal/blocks"
	"github.com/h5dnn/h5dnn/storage"
)

// A statistic is what --stats prints of data: a summary of numbers, or counts of values.
type statistic interface {
	lines() []string
	fields() fields
}

// statistics returns the statistic of data, and the statistics of the columns of a table or of the
// members of compounds.
func statistics(ctx context.Context, file inspect.File, e inspect.Object, data inspect.Selection) (statistic, []columnSummary, error) {
	s, err := statisticOf(ctx, data, true)
	if err != nil {
		return nil, nil, err
	}
	switch {
	case data.Numbers() && !data.Array.Type.IsComplex():
		if _, unwritten := storage.Unwritten(data.Array); unwritten {
			return s, nil, nil
		}
		columns, err := columnStatistics(ctx, data.Array, e.Attrs)
		return s, columns, err
	case !data.Numbers() && !data.Texts():
		columns, err := memberStatistics(ctx, file, e.Path)
		return s, columns, err
	}
	return s, nil, nil
}

// statisticOf returns the statistic of strings, bools, enums or real numbers, with a
// histogram if that is set; nil for other elements.
func statisticOf(ctx context.Context, data inspect.Selection, histogram bool) (statistic, error) {
	named := data.Names != nil || data.Numbers() && data.Array.Type == dtype.Bool
	if !data.Texts() && (!data.Numbers() || data.Array.Type.IsComplex()) {
		return nil, nil
	}
	if data.Numbers() {
		if s, ok := unwritten(data.Array); ok {
			return &s, nil
		}
	}
	if err := data.CheckSize(); err != nil {
		return nil, err
	}
	if data.Texts() {
		return countTexts(ctx, data)
	}
	s, err := summarize(ctx, data.Array)
	if err == nil && histogram {
		err = s.histogram(ctx, data.Array)
	}
	if err != nil || !named {
		return &s, err
	}
	return countNamed(ctx, data, &s)
}

// maxDistinct is the number of different values that are counted one by one; the others are
// counted together.
const maxDistinct = 1 << 16

// valueCounts count the values of strings, bools and enums.
type valueCounts struct {
	total, empty int
	counts       map[string]int
	others       int    // elements with values beyond the first maxDistinct
	longest      string // of strings
	texts        bool
	numbers      *summary // of bools and enums
}

func (c *valueCounts) add(value string, n int) {
	if c.total += n; value == "" {
		c.empty += n
	}
	if _, known := c.counts[value]; !known && len(c.counts) >= maxDistinct {
		c.others += n
	} else if !known {
		c.counts[strings.Clone(value)] = n
	} else {
		c.counts[value] += n
	}
	if utf8.RuneCountInString(value) > utf8.RuneCountInString(c.longest) {
		c.longest = strings.Clone(value)
	}
}

// countTexts reads strings once, block by block.
func countTexts(ctx context.Context, data inspect.Selection) (*valueCounts, error) {
	c := &valueCounts{counts: map[string]int{}, texts: true}
	for part, err := range blocks.Views(ctx, data.View(), valuesAtOnce) {
		if err != nil {
			return nil, err
		}
		values, err := data.Elements.Values(part)
		if err != nil {
			return nil, err
		}
		for _, value := range values {
			c.add(fmt.Sprint(value), 1)
		}
		progressOf(ctx).add(data.Size * len(values))
	}
	return c, nil
}

// noName marks integers that none of the names is for, such as the code -1 of a missing category.
const noName = " (no name)"

// countNamed counts bools, and integers whose values have names.
func countNamed(ctx context.Context, data inspect.Selection, s *summary) (*valueCounts, error) {
	names := map[float64]string{0: "false", 1: "true"}
	for i, name := range data.Names {
		value := int64(i)
		if data.NameValues != nil {
			value = data.NameValues[i]
		}
		names[float64(value)] = name
	}
	c := &valueCounts{counts: map[string]int{}, numbers: s}
	for _, name := range data.Names {
		c.counts[name] = 0
	}
	numbers := map[float64]int{}
	err := eachBlock(ctx, data.Array, func(xs []float64) {
		for _, x := range xs {
			numbers[x]++
		}
	})
	for x, n := range numbers {
		name, ok := names[x]
		if !ok {
			name = strconv.FormatFloat(x, 'g', -1, 64) + noName
		}
		c.add(name, n)
	}
	return c, err
}

// mostFrequent returns the values by falling count, then by name.
func (c *valueCounts) mostFrequent() []string {
	values := make([]string, 0, len(c.counts))
	for value := range c.counts {
		values = append(values, value)
	}
	slices.SortFunc(values, func(a, b string) int { return cmp.Or(c.counts[b]-c.counts[a], cmp.Compare(a, b)) })
	return values
}

// lines implements statistic.
func (c *valueCounts) lines() []string {
	const shown = 5
	line := fmt.Sprintf("of %d", c.total)
	if c.texts {
		distinct := strconv.Itoa(len(c.counts))
		if c.others > 0 {
			distinct = fmt.Sprintf("more than %d", maxDistinct)
		}
		line = fmt.Sprintf("%s distinct  empty %d  longest %d  of %d", distinct, c.empty, utf8.RuneCountInString(c.longest), c.total)
	}
	var frequent []string
	values := c.mostFrequent()
	for _, value := range values[:min(shown, len(values))] {
		name := shortValue(value)
		if c.texts {
			name = strconv.Quote(name)
		}
		if n := c.counts[value]; !c.texts || n > 1 {
			name += " " + strconv.Itoa(n)
		}
		frequent = append(frequent, name)
	}
	if len(values) > shown {
		frequent = append(frequent, fmt.Sprintf("and %d more", len(values)-shown))
	}
	if !c.texts {
		return []string{printable(strings.Join(append(frequent, line), "  "))}
	}
	text := []string{line}
	switch {
	case len(values) == 0:
		return text
	case c.counts[values[0]] == 1 && len(values) > 1:
		return append(text, printable("all different: "+strings.Join(frequent, "  ")))
	}
	return append(text, printable("most frequent: "+strings.Join(frequent, "  ")))
}

func shortValue(value string) string { return clip(value, 32) }

// fields implements statistic.
func (c *valueCounts) fields() fields {
	const listed = 100
	frequent := []fields{}
	values := c.mostFrequent()
	for _, value := range values[:min(listed, len(values))] {
		frequent = append(frequent, fields{{"value", value}, {"count", c.counts[value]}})
	}
	if c.numbers != nil {
		return append(c.numbers.fields(), field{"most_frequent", frequent})
	}
	return fields{{"count", c.total}, {"empty", c.empty}, {"distinct", len(c.counts)}, {"distinct_beyond", c.others},
		{"longest", c.longest}, {"most_frequent", frequent}}
}
