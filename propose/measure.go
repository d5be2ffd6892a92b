package propose

import (
	"fmt"
	"slices"
	"strings"
)

// A measure is a loss and metrics of a target, in the YAML of a configuration, with the reason of each.
type measure struct{ loss, lossWhy, metrics, metricsWhy string }

// measureOf returns what compares the outputs of a network of that loss with y.
func (p pair) measureOf(y *candidate, task Task, loss string) measure {
	m := measure{loss: loss}
	ignored := ""
	if label, what := y.ignored(); loss == "cross_entropy" && task == Segment && what != "" {
		ignored = fmt.Sprintf("{ignore_index: %v}", label)
		m.loss = fmt.Sprintf("{cross_entropy: %s}", ignored)
		m.lossWhy = fmt.Sprintf("the label %v is %s, and left out", label, what)
	}
	switch {
	case loss == "cross_entropy" && task == Segment:
		m.lossWhy = strings.TrimPrefix(m.lossWhy+"; a label for each place, and an output for each of "+fmt.Sprint(y.placeClasses())+" classes", "; ")
		if m.metrics, m.metricsWhy = "[iou]", "a mean over classes: the accuracy, which is shown too, counts the commonest class most"; ignored != "" {
			m.metrics = fmt.Sprintf("[{iou: %s}]", ignored)
		}
	case loss == "cross_entropy":
		m.lossWhy = "labels of classes, whose accuracy is shown"
		if rarest, commonest := p.sharesOf(y); commonest > 3*rarest {
			m.metrics, m.metricsWhy = "[f1]", fmt.Sprintf("a mean over classes, which are uneven: %.0f%% to %.0f%% of the samples", 100*rarest, 100*commonest)
		}
	case loss == "bce_with_logits" && task == Tag:
		m.lossWhy, m.metrics, m.metricsWhy = "each label is 0 or 1", "[{f1: {masks: true}}]", "a mean over labels"
	case loss == "bce_with_logits" && task == Segment:
		m.lossWhy, m.metrics, m.metricsWhy = "each place is 0 or 1", "[{iou: {masks: true}}]", "of the places that are 1"
	case loss == "bce_with_logits":
		m.lossWhy, m.metrics, m.metricsWhy = "0 or 1", "[binary_accuracy]", "the share of samples on their side"
	case task == Regress || task == Forecast:
		m.lossWhy, m.metrics, m.metricsWhy = "numbers", "[mae, r2]", "the mean error in the units of the data, and the explained share of the variance"
	default:
		m.lossWhy, m.metrics, m.metricsWhy = "a number for each place", "[mae]", "the mean error in the units of the data"
	}
	return m
}

// sharesOf returns the share of the rarest and of the commonest class, 1 for each if they were not counted.
func (p pair) sharesOf(y *candidate) (rarest, commonest float64) {
	if y.counts == nil || y.n == 0 {
		return 1, 1
	}
	return y.shares()
}

// ignored returns the label of places without a class, and what says so: the only negative number, -1 or -100 as in
// PyTorch, or 255 in bytes, where all others are below 50.
func (c *candidate) ignored() (label float64, what string) {
	if c.Kind != Numbers || !c.integers || c.Type.IsFloat() {
		return 0, ""
	}
	lowest, highest := c.min, -1.0
	for _, x := range c.Sample.Values {
		switch {
		case x < 0 && x != c.min:
			return 0, ""
		case x != 255 && x > highest:
			highest = x
		}
	}
	switch {
	case lowest == -1 || lowest == -100:
		return lowest, "no class but the mark of places without one"
	case c.max == 255 && highest >= 1 && highest < mostClasses && c.distinct >= 3:
		return 255, "far from the others, as the mark of places without a class"
	}
	return 0, ""
}

// ignores reports whether places without a class have a label.
func (c *candidate) ignores() bool {
	_, what := c.ignored()
	return what != ""
}

// placeClasses returns the number of classes of labels for places, without the one that is ignored.
func (c *candidate) placeClasses() int {
	label, what := c.ignored()
	highest := 0.0
	for _, x := range c.Sample.Values {
		if what == "" || x != label {
			highest = max(highest, x)
		}
	}
	return int(highest) + 1
}

// tokenLayers give numbers of words the rows of a table, with the channels in front.
func (s *search) tokenLayers(c *candidate) ([]string, error) {
	most := c.max
	if s.file.Largest != nil {
		for _, path := range slices.Concat([]string{c.Path}, s.heldOut(c.Path)) {
			n, err := s.file.Largest(path)
			if err != nil {
				return nil, err
			}
			most = max(most, n)
		}
	}
	const largest = 1 << 20 // rows of a table
	if most >= largest {
		return nil, refuse("%s holds integers up to %v, and an embedding of more than a million rows is not proposed; number the words from 0", c.Path, most)
	}
	const elements = 1 << 19 // of a table, at most about
	width := max(8, min(64, int(most+1)/8, elements/int(most+1)))
	settings := fmt.Sprintf("num_embeddings: %v, embedding_dim: %d", most+1, width)
	if c.min == 0 && c.padded() {
		settings += ", padding_idx: 0"
	}
	return []string{fmt.Sprintf("embedding: {%s}   # integers from %v to %v", settings, c.min, most), "permute: [2, 1]   # channels first"}, nil
}

// heldOut returns the arrays of validation and test data for an array of training data.
func (s *search) heldOut(path string) (all []string) {
	for _, word := range heldOutWords {
		if c := s.partner(path, trainWords, word); c != nil {
			all = append(all, c.Path)
		}
	}
	return all
}
