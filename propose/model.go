package propose

import (
	"fmt"
	"slices"
	"strings"
)

// A network is a model in the YAML of a configuration.
type network struct {
	preset string
	layers []string
	graph  []string // instead, for several targets
	loss   string
	why    string

	measure measure
	targets []string // settings of targets with losses of their own
}

// lines returns the value of the setting model.
func (n network) lines() []string {
	switch {
	case n.graph != nil:
		return n.graph
	case n.preset != "":
		return []string{n.preset}
	}
	lines := make([]string, len(n.layers))
	for i, layer := range n.layers {
		lines[i] = "- " + layer
	}
	return lines
}

// network chooses a model and a loss for p. Several targets are outputs of a graph, which share
// all layers but the last.
func (p pair) network() (network, error) {
	n, err := p.single()
	if n.measure = p.measureOf(p.y, p.task, n.loss); err != nil || len(p.more) == 0 {
		return n, err
	}
	alike, lines := true, []string{}
	graph := []string{"graph:", "  nodes:", "    - name: body", "      from: x", "      layer:"}
	for _, layer := range n.layers[:len(n.layers)-1] {
		graph = append(graph, "        - "+layer)
	}
	var outputs []string
	for _, y := range p.targets() {
		q := p
		q.y, q.task = y, p.taskFor(y)
		one, err := q.single()
		if err != nil {
			return n, err
		}
		name, m := fieldName(y.Path), p.measureOf(y, q.task, one.loss)
		alike = alike && m.loss == n.measure.loss
		line := fmt.Sprintf("%s: {loss: %s}", name, m.loss)
		if m.metrics != "" {
			line = fmt.Sprintf("%s: {loss: %s, metrics: %s}", name, m.loss, m.metrics)
		}
		lines = append(lines, line+"   # "+m.lossWhy)
		outputs = append(outputs, name)
		graph = append(graph, fmt.Sprintf("    - {name: %s, from: body, layer: {%s}}", name, one.layers[len(one.layers)-1]))
	}
	if !alike {
		n.targets = lines
	}
	n.graph = append(graph, "  outputs: ["+strings.Join(outputs, ", ")+"]")
	n.why += fmt.Sprintf(", with an output for each of %d targets", len(outputs))
	return n, nil
}

// targets returns the first target and the others.
func (p pair) targets() []*candidate { return append([]*candidate{p.y}, p.more...) }

// taskFor returns the task of one of the targets, or "" without one.
func (p pair) taskFor(y *candidate) Task {
	if y == p.y {
		return p.task
	}
	task, _ := taskOf(p, y)
	return task
}

// nameOf returns the name of the field of a target.
func (p pair) nameOf(y *candidate) string {
	if len(p.more) == 0 {
		return "y"
	}
	return fieldName(y.Path)
}

// fieldName makes a name of a field from the last name of a path.
func fieldName(path string) string { return "y_" + strings.Join(wordsOf(baseOf(path)), "_") }

// single is network for the first target.
func (p pair) single() (network, error) {
	in := p.x[0].form
	if len(p.x) > 1 {
		in = form{kind: table}
	}
	switch p.task {
	case Segment:
		return segmenter(p, in, p.y), nil
	case Forecast:
		return forecaster(p)
	case Reconstruct:
		return autoencoder(p)
	}
	n := network{loss: "cross_entropy"}
	outputs := 0
	switch p.task {
	case Classify:
		if outputs = p.y.classes(); binaryOutput(p.y) {
			outputs, n.loss = 1, "bce_with_logits"
		}
	case Tag:
		outputs, n.loss = product(p.y.Row), "bce_with_logits"
	case Regress:
		outputs, n.loss = product(p.y.Row), "mse"
	}
	head := fmt.Sprintf("dense: %d", outputs)
	labels := n.loss == "cross_entropy"
	switch small := len(in.sizes) > 0 && slices.Min(in.sizes) < 8; {
	case in.kind == tokens:
		n.layers = append(slices.Clone(p.embedding), "conv1d: {out_channels: 64, kernel_size: 5, padding: 2}", "relu", "globalmaxpool1d", "flatten", head)
		n.why = "vectors of the words, convolutions along them, and their maximum"
	case in.kind == signal:
		n.layers, n.why = append(signalLayers(in), head), "convolutions along the samples, averaged over them"
	case in.kind == image && labels && !small && slices.Max(in.sizes) <= 32:
		n.layers = append(spatialLayers(in, 2, 16), head)
		n.preset, n.why = "cnn", "a small convolutional network for images of "+sizes(in)
	case in.kind == image && !small:
		n.layers, n.why = append(spatialLayers(in, 2, 16), head), "convolutions, averaged over the pixels of "+sizes(in)
	case in.kind == volume && !small:
		n.layers, n.why = append(spatialLayers(in, 3, 8), head), "convolutions in three axes of "+sizes(in)
	case labels:
		n.layers = []string{"flatten", "dense: 128", "relu", head}
		n.preset, n.why = "mlp", "one hidden layer"
	default:
		n.layers, n.why = []string{"flatten", "dense: 128", "relu", "dense: 128", "relu", head}, "two hidden layers"
	}
	return n, nil
}

// binaryOutput reports whether the classes of y are compared as numbers, 0 and 1: cross entropy takes
// integers only.
func binaryOutput(y *candidate) bool {
	return y.Kind == Numbers && y.Names == nil && y.binary() && (y.Type.IsFloat() || y.Stored == "bool")
}

func sizes(f form) string {
	return strings.Trim(strings.ReplaceAll(fmt.Sprint(f.sizes), " ", "×"), "[]")
}

// channelsFirst moves the channels of signals and volumes in front. The setting layout does so
// for images.
func channelsFirst(in form) []string {
	order := map[formKind]string{signal: "[2, 1]", volume: "[4, 1, 2, 3]"}[in.kind]
	if order == "" || in.channels == 0 || !in.last {
		return nil
	}
	return []string{"permute: " + order + "   # channels first"}
}

// signalLayers are strided convolutions until few samples are left.
func signalLayers(in form) []string {
	layers := channelsFirst(in)
	left := in.sizes[0]
	for i, kernel := range []int{7, 5, 5} {
		if i > 0 && left != 0 && left < 32 {
			break
		}
		layers = append(layers, fmt.Sprintf("conv1d: {out_channels: %d, kernel_size: %d, stride: 2, padding: %d}", 32<<min(i, 1), kernel, kernel/2), "relu")
		left /= 2
	}
	return append(layers, "globalavgpool1d", "flatten")
}

// spatialLayers are convolutions and pooling until few pixels are left. Three axes begin with
// fewer channels.
func spatialLayers(in form, axes, channels int) []string {
	layers := channelsFirst(in)
	for left := slices.Min(in.sizes); ; left /= 2 {
		layers = append(layers, fmt.Sprintf("conv%dd: {out_channels: %d, kernel_size: 3, padding: 1}", axes, channels), "relu")
		if left < 16 || channels >= 64 && left < 32 {
			break
		}
		layers = append(layers, fmt.Sprintf("maxpool%dd: 2", axes))
		channels = min(2*channels, 128)
	}
	return append(layers, fmt.Sprintf("globalavgpool%dd", axes), "flatten")
}

// segmenter is convolutions of growing dilation, with an output for each pixel, step or token.
func segmenter(p pair, in form, y *candidate) network {
	axes := max(1, in.spatial())
	layers := append(slices.Clone(p.embedding), channelsFirst(in)...)
	for i, channels := range []int{16, 32, 32} {
		layers = append(layers, fmt.Sprintf("conv%dd: {out_channels: %d, kernel_size: 3, padding: %d, dilation: %d}", axes, channels, 1<<i, 1<<i), "relu")
	}
	n, outputs := network{loss: "bce_with_logits", why: "convolutions of growing dilation, which keep the size"}, 1
	switch {
	case y.pixelClasses():
		n.loss, outputs = "cross_entropy", y.placeClasses()
	case !y.binary():
		n.loss = "mse" // of values, or of masks of 0 and 255
	}
	n.layers = append(layers, fmt.Sprintf("conv%dd: {out_channels: %d, kernel_size: 1}", axes, outputs))
	return n
}

// pixelClasses reports whether a map of pixels has integers of three classes or more.
func (c *candidate) pixelClasses() bool {
	return c.integers && c.distinct > 2 && c.distinct <= mostClasses
}

// steps is the window of a forecast, in rows.
const steps = 24

// window returns the window of a forecast for series of some rows: shorter than what is set
// aside of the end of a single series.
func window(rows []int) int {
	parts := 16
	if len(rows) > 1 {
		parts = 4
	}
	return max(2, min(steps, slices.Min(rows)/parts))
}

// forecaster predicts the next row from a window.
func forecaster(p pair) (network, error) {
	c := p.y
	if rows := c.Rows; len(rows) == 1 && rows[0]/5 <= window(rows)+1 {
		return network{}, refuse("%s: %d rows are too few for a forecast", c.Path, rows[0])
	}
	switch len(c.Row) {
	case 0, 1:
		n := product(c.Row)
		layers := []string{"flatten", "dense: 128", "relu", "dense: 128", "relu", fmt.Sprintf("dense: %d", n)}
		if len(c.Row) == 1 {
			layers = append(layers, fmt.Sprintf("reshape: [1, %d]", n))
		}
		return network{layers: layers, loss: "mse", why: "two hidden layers over the window"}, nil
	case 2:
		return network{layers: []string{
			"conv2d: {out_channels: 32, kernel_size: 3, padding: 1}   # the steps of the window are channels", "relu",
			"conv2d: {out_channels: 32, kernel_size: 3, padding: 1}", "relu",
			"conv2d: {out_channels: 1, kernel_size: 3, padding: 1}"}, loss: "mse", why: "convolutions of the fields in the window"}, nil
	}
	return network{}, &Refusal{fmt.Sprintf("%s: a forecast takes rows of at most two axes; %v has %d", c.Path, c.Row, len(c.Row)), Wishes{Task: Forecast, X: []string{c.Path + "[:, 0]"}}}
}

// autoencoder compresses inputs and restores them.
func autoencoder(p pair) (network, error) {
	c := p.x[0]
	n := network{loss: "mse", why: "an autoencoder"}
	sizes := c.sizes
	if c.kind == image && len(sizes) == 2 && sizes[0]%4 == 0 && sizes[1]%4 == 0 {
		n.layers = []string{
			"conv2d: {out_channels: 16, kernel_size: 3, stride: 2, padding: 1}", "relu",
			"conv2d: {out_channels: 32, kernel_size: 3, stride: 2, padding: 1}", "relu",
			"conv_transpose2d: {out_channels: 16, kernel_size: 2, stride: 2}", "relu",
			fmt.Sprintf("conv_transpose2d: {out_channels: %d, kernel_size: 2, stride: 2}", max(1, c.channels))}
		n.why = "a convolutional autoencoder: a quarter of each side"
		return n, nil
	}
	size := product(c.Row)
	const most = 1 << 16 // elements, for layers that connect all of them
	if size > most || c.Kind == Ragged {
		return n, fmt.Errorf("%s: no autoencoder is proposed for rows of %v; write its layers in a configuration", c.Path, c.Row)
	}
	n.layers = []string{"flatten", "dense: 128", "relu", fmt.Sprintf("dense: %d", min(32, max(1, size/2))), "relu", "dense: 128", "relu", fmt.Sprintf("dense: %d", size)}
	if len(c.Row) > 1 {
		n.layers = append(n.layers, "reshape: "+strings.ReplaceAll(fmt.Sprint(c.Row), " ", ", "))
	}
	return n, nil
}
