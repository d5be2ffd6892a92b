package models

import (
	"context"
	"fmt"

	"github.com/h5dnn/h5dnn/checkpoint"
	"github.com/h5dnn/h5dnn/internal/blocks"
	"github.com/h5dnn/h5dnn/serialize"
	"github.com/h5dnn/h5dnn/storage"
)

// A Verification is what Verify has compared. All of it was equal.
type Verification struct {
	Written  int // arrays of the output that are what the plan computes
	Restored int // arrays of the source that the output was converted back to
}

// Verify reads the output and compares every array with what the plan computes, bit by
// bit. Where the other direction is known, it converts the output back and compares with
// the source.
func (p *Plan) Verify(ctx context.Context, out string) (v Verification, err error) {
	written, err := Open(out, serialize.Options{Format: p.Format.Name})
	if err != nil {
		return v, err
	}
	defer written.Close()
	entries := map[string]storage.Array{}
	for _, e := range written.Entries {
		entries[e.Name] = e.Array
	}
	for _, t := range p.Tensors {
		have, ok := entries[t.Name]
		if !ok {
			return v, fmt.Errorf("verify %s: %s is missing", out, t.Name)
		}
		if err := same(ctx, t.Array, have); err != nil {
			return v, fmt.Errorf("verify %s: %s: %w", out, t.Name, err)
		}
		v.Written++
	}
	v.Restored, err = p.restore(ctx, entries)
	if err != nil {
		return v, fmt.Errorf("verify %s: converted back: %w", out, err)
	}
	return v, nil
}

func same(ctx context.Context, want, have storage.Array) error {
	if want.Type != have.Type || fmt.Sprint(want.Shape) != fmt.Sprint(have.Shape) {
		return fmt.Errorf("%v%v; want %v%v", have.Type, have.Shape, want.Type, want.Shape)
	}
	equal, err := blocks.Equal(ctx, want, have)
	if err == nil && !equal {
		err = fmt.Errorf("elements differ from what was to be written")
	}
	return err
}

// restore converts PyTorch's arrays back to Keras's weights, compares them with the
// source, and returns how many it compared.
func (p *Plan) restore(ctx context.Context, entries map[string]storage.Array) (n int, err error) {
	if p.From != checkpoint.Keras || p.To != checkpoint.PyTorch {
		return 0, nil
	}
	plans, err := p.links(p.Source.Model)
	if err != nil {
		return 0, err
	}
	parameters := map[string]checkpoint.Tensor{}
	for name, a := range entries {
		parameters[name] = checkpoint.Tensor{Name: name, Array: a}
	}
	var kept []checkpoint.LayerPlan
	for _, plan := range plans {
		if plan.Refused == nil {
			layer := *plan.Layer
			layer.Weights = nil
			plan.Layer = &layer
			kept = append(kept, plan)
		}
	}
	tensors, missing, _, err := checkpoint.Import(kept, parameters)
	if err != nil {
		return 0, err
	}
	if len(missing) > 0 {
		return 0, fmt.Errorf("%s is missing", missing[0])
	}
	source := map[string]storage.Array{}
	for _, e := range p.Source.Entries {
		source[e.Name] = e.Array
	}
	for _, t := range tensors {
		want, ok := source[t.Name]
		if !ok || want.Type != t.Array.Type {
			continue
		}
		if err := same(ctx, want, t.Array); err != nil {
			return n, fmt.Errorf("%s: %w", t.Name, err)
		}
		n++
	}
	return n, nil
}
