package keras

import (
	"fmt"
	"slices"

	"github.com/h5dnn/h5dnn/checkpoint"
)

var (
	_ = register(class{nodes: merging("add")}, "Add")
	_ = register(class{nodes: merging("mul")}, "Multiply")
	_ = register(class{nodes: merging("subtract")}, "Subtract")
	_ = register(class{nodes: merging("average")}, "Average")
	_ = register(class{nodes: merging("maximum")}, "Maximum")
	_ = register(class{nodes: merging("minimum")}, "Minimum")
	_ = register(class{shapes: concatShapes, nodes: concatNodes}, "Concatenate")
	_ = register(class{}, "Dot")
)

// alike returns all values in the order of axes of the first.
func (b *builder) alike(in []value) ([]value, error) {
	list := slices.Clone(in)
	flat := slices.ContainsFunc(in, func(v value) bool { return !slices.EqualFunc(v.flat, in[0].flat, slices.Equal) })
	for i, v := range in {
		var err error
		switch {
		case flat || !in[0].first:
			if v.flat == nil || flat {
				list[i], err = b.last(v)
			}
		default:
			list[i] = b.toFirst(v)
		}
		if err != nil {
			return nil, err
		}
	}
	return list, nil
}

func nodesOf(list []value) (names []string) {
	for _, v := range list {
		names = append(names, v.node)
	}
	return names
}

// merging adds a node that combines inputs of one shape.
func merging(layer string) func(*builder, use, []value) (value, error) {
	return func(b *builder, u use, in []value) (value, error) {
		for _, v := range in[1:] {
			if !slices.Equal(v.shape, in[0].shape) {
				return v, unsupported("inputs of shapes %v and %v, one of which is broadcast", in[0].shape, v.shape)
			}
		}
		in, err := b.alike(in)
		if err != nil {
			return value{}, err
		}
		v := in[0]
		v.node = b.add(u, "", layer, nodesOf(in)...)
		return v, nil
	}
}

// concatAxis returns the axis that a Concatenate joins, from 0 without the batch.
func concatAxis(l *checkpoint.Layer, shape []int) (int, error) {
	setting, err := l.Int("axis", -1)
	at := axis(setting, len(shape)+1) - 1
	if err == nil && (at < 0 || at >= len(shape)) {
		err = unsupported("axis %d of %v", setting, shape)
	}
	return at, err
}

func concatShapes(l *checkpoint.Layer, in [][]int) ([][]int, error) {
	at, err := concatAxis(l, in[0])
	if err != nil {
		return nil, err
	}
	shape := slices.Clone(in[0])
	for _, s := range in[1:] {
		switch {
		case len(s) != len(shape):
			return nil, fmt.Errorf("inputs of shapes %v and %v: %w", shape, s, ErrConfig)
		case s[at] < 0 || shape[at] < 0:
			shape[at] = -1
		default:
			shape[at] += s[at]
		}
	}
	return [][]int{shape}, nil
}

func concatNodes(b *builder, u use, in []value) (value, error) {
	at, err := concatAxis(u.Layer, in[0].shape)
	if err != nil {
		return value{}, err
	}
	if len(in[0].shape) == 1 {
		return b.concatFlat(u, in), nil
	}
	if in, err = b.alike(in); err != nil {
		return value{}, err
	}
	v := in[0]
	nnAxis := at + 1
	if v.first {
		nnAxis = (at+1)%len(v.shape) + 1
	}
	v.node = b.add(u, "", map[string]any{"concat": map[string]any{"axis": nnAxis}}, nodesOf(in)...)
	return v, nil
}

// concatFlat joins features, some of which may be flattened images.
func (b *builder) concatFlat(u use, in []value) value {
	v := value{node: b.add(u, "", map[string]any{"concat": map[string]any{"axis": 1}}, nodesOf(in)...)}
	if !slices.ContainsFunc(in, func(v value) bool { return v.flat != nil }) {
		return v
	}
	v.parts = in
	for _, one := range in {
		if one.flat != nil {
			v.flat = append(v.flat, one.flat...)
		} else {
			v.flat = append(v.flat, one.shape)
		}
	}
	return v
}
