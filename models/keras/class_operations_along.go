package keras

import (
	"fmt"
	"slices"
)

// Operations that put tensors, or copies of one, along an axis.
var _ = register(class{copies: true, several: true, order: operationOrder, nodes: alongNodes, shapes: alongShapes}, "ops.Stack", "ops.Flip", "ops.Repeat", "ops.Tile")

// alongShapes returns the shape of tensors that are stacked, flipped or repeated.
func alongShapes(l *settings, in [][]int) [][]int {
	shape, rank := slices.Clone(in[0]), len(in[0])+1
	if l.Class == "ops.Stack" {
		at := axis(l.Int("axis", 0), rank+1)
		if at < 1 || at > rank || slices.ContainsFunc(in, func(s []int) bool { return !slices.Equal(s, shape) }) {
			l.refuse("axis %v of samples of shapes %v", l.Config["axis"], in)
			return nil
		}
		return [][]int{slices.Insert(shape, at-1, len(in))}
	}
	for i, n := range timesOf(l, rank) {
		if i > 0 && shape[i-1] > 0 {
			shape[i-1] *= n
		}
	}
	return [][]int{shape}
}

// timesOf returns how often an operation repeats each axis, with the samples.
func timesOf(l *settings, rank int) []int {
	times, list := slices.Repeat([]int{1}, rank), l.Ints("repeats")
	if l.Class == "ops.Flip" {
		return times
	}
	switch at := axis(l.Int("axis", 0), rank); {
	case l.Class == "ops.Tile" && len(list) <= rank:
		copy(times[rank-len(list):], list)
	case l.Class == "ops.Repeat" && len(list) == 1 && at > 0 && at < rank:
		times[at] = list[0]
	default:
		l.refuse("%v times along axis %v", list, l.Config["axis"])
	}
	if times[0] != 1 || slices.Min(times) < 1 {
		l.refuse("%v times", list)
	}
	return times
}

func alongNodes(b *builder, l *settings, in []value) value {
	args, all := operandsOf(l), slices.Clone(in)
	for i, v := range in {
		if all[i] = b.last(v); v.steps || len(args) != 1 {
			l.refuse("a mask, or operands besides tensors")
		}
		all[i].outer = false
	}
	v, rank := all[0], len(in[0].shape)+1
	switch l.Class {
	case "ops.Stack":
		return b.function(l, "stack", map[string]any{"dim": axis(l.Int("axis", 0), rank+1)}, all...)
	case "ops.Flip":
		axes := slices.Clone(l.Ints("axis"))
		for i := range axes {
			if axes[i] = axis(axes[i], rank); axes[i] < 1 || axes[i] >= rank {
				l.refuse("axis %v of samples of shape %v", l.Config["axis"], v.shape)
			}
		}
		if len(axes) == 0 {
			l.refuse("all axes, with the samples")
		}
		return b.function(l, "flip", map[string]any{"dims": axes}, v)
	}
	times := timesOf(l, rank)
	for at, n := range times {
		part := fmt.Sprintf("axis%d", at)
		switch {
		case n <= 1:
		case l.Class == "ops.Repeat":
			v = b.functionPart(l, part, "repeat_interleave", map[string]any{"repeats": []int{n}, "dim": at}, v)
		default:
			v.node = b.add(l, part, map[string]any{"concat": map[string]any{"axis": at}}, slices.Repeat([]string{v.node}, n)...)
		}
	}
	return v
}
