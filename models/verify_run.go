package models

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/h5dnn/h5dnn/models/keras"
	"github.com/h5dnn/h5dnn/nn"
	"github.com/h5dnn/h5dnn/serialize/kerasfile"
	"github.com/h5dnn/h5dnn/storage"
	"github.com/h5dnn/h5dnn/train"
)

// predict compares what the source and the output predict of the same random inputs, or what the output
// was converted back to. It is done if h5dnn runs both of them, and notRun is why it does not: some layers
// are translated to Keras only.
func (p *Plan) predict(written *Source, restored map[string]storage.Array) (done bool, notRun, err error) {
	var want, got *train.Predictor
	images := false
	switch {
	case p.From == H5dnn && p.To == Keras:
		if got, notRun = writtenPredictor(written); notRun == nil {
			want, images, err = p.modelPredictor()
		}
	case p.From == PyTorch && p.To == Keras && p.options.Rules == nil:
		if notRun = p.Err(); notRun == nil {
			got, notRun = writtenPredictor(written)
		}
		if notRun == nil {
			o := p.options
			o.Framework, o.Optimizer = H5dnn, false
			want, err = predictorOf(p.Source, o)
		}
	case len(restored) > 0:
		if want, notRun = p.predictor(p.Source.Model); notRun == nil {
			got, err = p.predictor(withWeights(p.Source.Model, "", restored))
		}
	default:
		return false, nil, nil
	}
	if notRun == nil && err == nil {
		err = p.samePredictions(want, got, images)
	}
	return notRun == nil && err == nil, notRun, err
}

// samePredictions compares the predictions of two models for the same random inputs: want is the source's,
// whose inputs are images with the channels first if it is a run's with such.
func (p *Plan) samePredictions(want, got *train.Predictor, images bool) error {
	inputs, err := randomInputs(want.Inputs())
	if err != nil {
		return err
	}
	if n := len(want.Inputs()); len(got.Inputs()) != n {
		return fmt.Errorf("it takes %d inputs; the model of %s takes %d", len(got.Inputs()), p.Source.Name, n)
	}
	others := slices.Clone(inputs)
	for i, f := range got.Inputs() {
		if images || !slices.Equal(f.Shape, want.Inputs()[i].Shape) {
			others[i] = channelsLast(inputs[i])
		}
		if !slices.Equal(others[i].Shape[1:], f.Shape) {
			return fmt.Errorf("it takes samples of %v; the model of %s takes %v", f.Shape, p.Source.Name, want.Inputs()[i].Shape)
		}
	}
	for i := range want.Outputs() {
		x, err1 := predicted(want, i, inputs)
		y, err2 := predicted(got, i, others)
		if err := errors.Join(err1, err2); err != nil {
			return err
		}
		transposed := p.From == H5dnn && x.Rank() >= 3 && p.agree(channelsLast(x), y) == nil
		if err := p.agree(x, y); err != nil && !transposed {
			return err
		}
	}
	return nil
}

// predictor runs a model of Keras on the CPU.
func (p *Plan) predictor(m *keras.Model) (*train.Predictor, error) {
	source := *p.Source
	source.Model = m
	return predictorOf(&source, Options{Framework: H5dnn, Flatten: p.options.Flatten, InputShapes: p.options.InputShapes})
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
	state := map[string]storage.Array{}
	for _, e := range p.Source.Entries {
		if name, ok := strings.CutPrefix(e.Name, runModel); ok {
			state[name] = e.Array
		}
	}
	if err := nn.LoadStateDict(model, maps.All(state)); err != nil {
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
