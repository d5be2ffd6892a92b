package models

import (
	"context"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"

	"github.com/h5dnn/h5dnn/internal/blocks"
	"github.com/h5dnn/h5dnn/models/keras"
	"github.com/h5dnn/h5dnn/models/weights"
	"github.com/h5dnn/h5dnn/serialize"
	"github.com/h5dnn/h5dnn/serialize/kerasfile"
	"github.com/h5dnn/h5dnn/storage"
	"github.com/h5dnn/h5dnn/train"
	"github.com/h5dnn/h5dnn/views"
)

// A Verification is what Verify has compared. All of it was equal.
type Verification struct {
	Written  int // arrays of the output that are what the plan computes
	Restored int // arrays of the source that the output was converted back to
	// Predicted is set if h5dnn runs the model: the source and the output, or what it was
	// converted back to, have predicted the same of random inputs.
	Predicted bool
	// NotRun says why predictions were not compared where both architectures are known: mostly a
	// layer that h5dnn does not run. Nil if they were.
	NotRun error
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
	if k, ok := written.File.(*kerasfile.File); ok && k.Model() == nil && p.meta[kerasfile.MetaConfig] != "" {
		if err := k.Describe(p.meta); err != nil {
			return v, fmt.Errorf("verify %s: %w", out, err)
		}
		if written.Entries, err = serialize.Collect(k); err != nil {
			return v, fmt.Errorf("verify %s: %w", out, err)
		}
	} else if written.unnamed != nil {
		return v, fmt.Errorf("verify %s: %w", out, written.unnamed)
	}
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
	restored, err := p.restore(ctx, entries)
	if err != nil {
		return v, fmt.Errorf("verify %s: converted back: %w", out, err)
	}
	v.Restored = len(restored)
	if v.Predicted, v.NotRun, err = p.predict(written, restored); err != nil && v.Restored > 0 {
		err = fmt.Errorf("converted back: %w", err)
	}
	if err != nil {
		return v, fmt.Errorf("verify %s: %w", out, err)
	}
	return v, nil
}

const samples = 4 // that a verification predicts of

// randomInputs returns samples of random numbers.
func randomInputs(features []train.Feature) ([]storage.Array, error) {
	inputs := make([]storage.Array, len(features))
	random := rand.New(rand.NewPCG(1, 2))
	for i, f := range features {
		x := make([]float64, views.Of(f.Shape...).Len()*samples)
		for k := range x {
			if x[k] = random.NormFloat64(); f.Type.IsInt() {
				x[k] = 0 // an index that every embedding has
			}
		}
		var err error
		if inputs[i], err = weights.Cast(storage.From(x, append([]int{samples}, f.Shape...)...), f.Type).To(storage.CPU); err != nil {
			return nil, err
		}
	}
	return inputs, nil
}

// agree returns an error unless two predictions are nearly the same: want is the source's.
func (p *Plan) agree(want, got storage.Array) error {
	if !slices.Equal(want.Shape, got.Shape) {
		return fmt.Errorf("its predictions have the shape %v; those of %s %v", got.Shape, p.Source.Name, want.Shape)
	}
	x, err1 := storage.Read[float64](want)
	y, err2 := storage.Read[float64](got)
	if err := errors.Join(err1, err2); err != nil {
		return err
	}
	for k := range x {
		alike := x[k] == y[k] || math.IsNaN(x[k]) && math.IsNaN(y[k]) // infinities, too
		if d := math.Abs(x[k] - y[k]); !alike && !(d <= 1e-5*max(1, math.Abs(x[k]))) {
			return fmt.Errorf("its prediction is %v; that of %s is %v", y[k], p.Source.Name, x[k])
		}
	}
	return nil
}

// withWeights returns a copy of m with other weights of the same names.
func withWeights(m *keras.Model, prefix string, weights map[string]storage.Array) *keras.Model {
	c := *m
	c.Layers = slices.Clone(m.Layers)
	for i := range c.Layers {
		l := &c.Layers[i]
		if l.Model != nil {
			l.Model = withWeights(l.Model, prefix+l.Name+"/", weights)
		}
		l.Weights = slices.Clone(l.Weights)
		for k := range l.Weights {
			if a, ok := weights[prefix+l.Name+"/"+l.Weights[k].Name]; ok {
				l.Weights[k].Array = a
			}
		}
	}
	return &c
}

// same returns an error unless have is want, bit by bit.
func same(ctx context.Context, want, have storage.Array) error {
	if want.Type != have.Type || !slices.Equal(want.Shape, have.Shape) {
		return fmt.Errorf("%v%v; want %v%v", have.Type, have.Shape, want.Type, want.Shape)
	}
	equal, err := blocks.Equal(ctx, want, have)
	if err == nil && !equal {
		err = errors.New("elements differ from what was to be written")
	}
	return err
}

// restore converts PyTorch's arrays back to Keras's weights, compares them with the
// source, and returns those that it compared.
func (p *Plan) restore(ctx context.Context, entries map[string]storage.Array) (map[string]storage.Array, error) {
	if p.From != Keras || p.To != PyTorch {
		return nil, nil
	}
	plans, err := p.links(p.Source.Model, nil)
	if err != nil {
		return nil, err
	}
	parameters := map[string]weights.Tensor{}
	for name, a := range entries {
		parameters[name] = weights.Tensor{Name: name, Array: a}
	}
	var kept []keras.LayerPlan
	for _, plan := range plans {
		if plan.Refused == nil {
			layer := *plan.Layer
			layer.Weights = nil
			plan.Layer = &layer
			kept = append(kept, plan)
		}
	}
	tensors, missing, _, err := keras.Import(kept, parameters)
	if err != nil {
		return nil, err
	}
	if len(missing) > 0 {
		return nil, fmt.Errorf("%s is missing", missing[0])
	}
	source := map[string]storage.Array{}
	for _, e := range p.Source.Entries {
		source[e.Name] = e.Array
	}
	restored := map[string]storage.Array{}
	for _, t := range tensors {
		want, ok := source[t.Name]
		if !ok || want.Type != t.Array.Type {
			continue
		}
		if err := same(ctx, want, t.Array); err != nil {
			return nil, fmt.Errorf("%s: %w", t.Name, err)
		}
		restored[t.Name] = t.Array
	}
	return restored, nil
}
