package train

import (
	"fmt"

	"github.com/h5dnn/h5dnn/dataset"
	"github.com/h5dnn/h5dnn/nn"
	"github.com/h5dnn/h5dnn/storage"
	"github.com/h5dnn/h5dnn/tensor"
)

// OverfitOptions are the settings of [Overfit].
type OverfitOptions struct {
	Batches int `json:"batches"` // number of batches of samples, the first of the data; 1 if 0
}

// Overfit trains and validates on the same few samples in all epochs. A model that does not learn these by heart has a mistake.
type Overfit struct {
	OnlyProgress
	OverfitOptions
}

// NewOverfit returns a callback that selects the samples to train on.
func NewOverfit(o OverfitOptions) *Overfit {
	o.Batches = batchesOf("overfit", o.Batches)
	return &Overfit{OverfitOptions: o}
}

// Select returns the samples of the first batches.
func (o *Overfit) Select(r *Run, d *Data) (*Data, error) {
	few, err := firstBatches(d.Train, r, o.Batches)
	return &Data{Train: few, Val: few}, err
}

var _ = RegisterCallback("overfit", NewOverfit, OverfitOptions{Batches: 1})

// A Selector chooses the samples that a run trains and validates on.
type Selector interface {
	Callback
	Select(*Run, *Data) (*Data, error)
}

// selected returns the data that the callbacks select.
func (t *trainer) selected(d *Data) (_ *Data, err error) {
	for _, c := range t.callbacks {
		s, ok := c.(Selector)
		if !ok {
			continue
		}
		if t.given != nil {
			return nil, fmt.Errorf("%s: the caller's loader has the samples; make it of a part of them: %w", CallbackName(c), storage.ErrState)
		}
		if d, err = s.Select(t.r, d); err != nil {
			return nil, fmt.Errorf("%s: %w", CallbackName(c), err)
		}
	}
	return d, nil
}

// batchesOf returns the number of batches in the settings of a callback, 1 for 0.
func batchesOf(callback string, n int) int {
	if n < 0 {
		tensor.Fail(callback, nn.ErrConfig, "%d batches; want at least 1", n)
	}
	return max(1, n)
}

// firstBatches returns the samples of the first batches of d.
func firstBatches(d dataset.Dataset, r *Run, batches int) (dataset.Dataset, error) {
	rows := make([]int, min(d.Len(), batches*r.Config.BatchSize))
	for i := range rows {
		rows[i] = i
	}
	return dataset.Subset(d, rows)
}
