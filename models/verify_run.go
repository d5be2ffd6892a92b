package models

import (
	"fmt"
	"iter"
	"slices"
	"strings"

	"github.com/h5dnn/h5dnn/nn"
	"github.com/h5dnn/h5dnn/serialize/kerasfile"
	"github.com/h5dnn/h5dnn/storage"
	"github.com/h5dnn/h5dnn/train"
)

// predictRun compares what the model of a run predicts with what the file of Keras that was written
// of it does, when that is translated to a run. notRun is why h5dnn does not run the latter.
func (p *Plan) predictRun(written *Source) (notRun, err error) {
	got, notRun := writtenPredictor(written) // some layers are translated to Keras only
	if notRun != nil {
		return notRun, nil
	}
	want, images, err := p.modelPredictor()
	if err != nil {
		return nil, err
	}
	inputs, err := randomInputs(want.Inputs())
	if err != nil {
		return nil, err
	}
	if n := len(want.Inputs()); len(got.Inputs()) != n {
		return nil, fmt.Errorf("it takes %d inputs; the model of %s takes %d", len(got.Inputs()), p.Source.Name, n)
	}
	others := slices.Clone(inputs)
	for i, f := range got.Inputs() {
		if images || !slices.Equal(f.Shape, want.Inputs()[i].Shape) {
			others[i] = channelsLast(inputs[i])
		}
		if !slices.Equal(others[i].Shape[1:], f.Shape) {
			return nil, fmt.Errorf("it takes samples of %v; the model of %s takes %v", f.Shape, p.Source.Name, want.Inputs()[i].Shape)
		}
	}
	for i := range want.Outputs() {
		x, err := predicted(want, i, inputs)
		if err != nil {
			return nil, err
		}
		y, err := predicted(got, i, others)
		if err != nil {
			return nil, err
		}
		if err := p.agree(x, y); err != nil && (x.Rank() < 3 || p.agree(channelsLast(x), y) != nil) {
			return nil, err
		}
	}
	return nil, nil
}

// predictStateDict is predictRun for a state_dict of PyTorch whose architecture is one of Keras.
func (p *Plan) predictStateDict(written *Source) (notRun, err error) {
	if err := p.Err(); err != nil {
		return err, nil
	}
	got, notRun := writtenPredictor(written)
	if notRun != nil {
		return notRun, nil
	}
	o := p.options
	o.Framework, o.Optimizer = H5dnn, false
	want, err := predictorOf(p.Source, o)
	if err != nil {
		return nil, err
	}
	return nil, p.sameOutputs(want, got)
}

// writtenPredictor runs the model in a file of Keras.
func writtenPredictor(written *Source) (*train.Predictor, error) {
	if k, ok := written.File.(*kerasfile.File); ok && written.Model == nil {
		written.Model = k.Model()
	}
	return predictorOf(written, Options{Framework: H5dnn})
}

// predictorOf runs the model of a source on the CPU.
func predictorOf(s *Source, o Options) (*train.Predictor, error) {
	plan, err := New(s, "hdf5", o)
	if err != nil {
		return nil, err
	}
	run, err := plan.Run(storage.CPU)
	if err != nil {
		return nil, err
	}
	return run.Predictor()
}

// modelPredictor returns a predictor with the model of a run, which takes normalized inputs, and
// whether these have their channels first.
func (p *Plan) modelPredictor() (_ *train.Predictor, images bool, err error) {
	model, err := nn.FromConfigOn(p.Source.Config.Model, storage.CPU)
	if err != nil {
		return nil, false, err
	}
	features, err := p.runFeatures()
	if err != nil {
		return nil, false, err
	}
	shapes := make([][]int, len(features))
	for i, f := range features {
		shapes[i] = f.Shape
	}
	prepared, err := train.InputsOf(model, *p.Source.Config, shapes...)
	if err != nil {
		return nil, false, err
	}
	for i, f := range prepared {
		shapes[i] = f.SampleShape(f.Shape)
	}
	if _, err := nn.Build(model, shapes...); err != nil {
		return nil, false, err
	}
	if err := nn.LoadStateDict(model, p.modelState()); err != nil {
		return nil, false, err
	}
	plain := train.Defaults()
	plain.Data.Layout = "nchw"
	if prepared, err = train.InputsOf(model, plain, shapes...); err != nil {
		return nil, false, err
	}
	predictor, err := train.NewPredictor(model, storage.CPU, prepared...)
	return predictor, nn.SpatialAxes(model, "") > 0, err
}

// modelState yields the arrays of the model of a run.
func (p *Plan) modelState() iter.Seq2[string, storage.Array] {
	return func(yield func(string, storage.Array) bool) {
		for _, e := range p.Source.Entries {
			if name, ok := strings.CutPrefix(e.Name, runModel); ok && !yield(name, e.Array) {
				return
			}
		}
	}
}

// predicted returns an output of a model.
func predicted(by *train.Predictor, output int, inputs []storage.Array) (storage.Array, error) {
	if err := by.SelectOutput(output); err != nil {
		return storage.Array{}, err
	}
	return by.Predict(inputs...)
}

// channelsLast returns samples with axis 1 at the end.
func channelsLast(a storage.Array) storage.Array {
	if a.Rank() < 3 {
		return a
	}
	axes := []int{0}
	for axis := 2; axis < a.Rank(); axis++ {
		axes = append(axes, axis)
	}
	v, err := a.Transpose(append(axes, 1)...)
	if err != nil {
		panic(err) // the axes are those of a
	}
	return a.With(v)
}
