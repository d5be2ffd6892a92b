package augment

import (
	"fmt"
	"slices"

	"github.com/h5dnn/h5dnn/config"
	"github.com/h5dnn/h5dnn/dtype"
	"github.com/h5dnn/h5dnn/nn"
	"github.com/h5dnn/h5dnn/storage"
	"github.com/h5dnn/h5dnn/tensor"
)

// MixOptions are the settings of a Mixup and a Cutmix.
type MixOptions struct {
	Alpha   float64 `json:"alpha"`             // parts are of the distribution Beta(alpha, alpha); 1 if absent
	Classes int     `json:"classes,omitempty"` // of the labels; from the data if 0
	P       float64 `json:"p"`                 // probability; 1 if absent
}

func (o MixOptions) withDefaults() MixOptions {
	orDefault(&o.Alpha, 1)
	orDefault(&o.P, 1)
	return o
}

func (o MixOptions) check(name string) {
	if !(o.Alpha > 0) || o.Classes < 0 {
		tensor.Fail(name, nn.ErrConfig, "alpha %v, classes %d; want positive numbers", o.Alpha, o.Classes)
	}
	checkProbability(name, o.P)
}

// soft returns fields whose labels are probabilities of classes.
func (o MixOptions) soft(a Augmentation, fields []Field) ([]Field, error) {
	if !slices.ContainsFunc(fields, func(f Field) bool { return f.Kind == Label }) {
		return nil, fmt.Errorf("%s: no labels of classes among %v; set augment_fields: {NAME: label}: %w", Name(a), namesOf(fields), config.ErrInvalid)
	}
	for i, f := range fields {
		if f.Kind == Mask || f.Kind == Boxes || f.Kind == Points {
			return nil, wrongField(a, f, "labels of whole images")
		}
		if f.Kind != Label || f.Type.IsFloat() {
			continue
		}
		if f.Classes = max(f.Classes, o.Classes); f.Classes < 2 {
			return nil, wrongField(a, f, "labels of a known number of classes; set classes")
		}
		f.Type, f.Shape = dtype.Float32, []int{f.Classes}
		fields[i] = f
	}
	return fields, nil
}

// mixLabels sets a label to part of one and the rest of another.
func mixLabels(to Field, dst []byte, from Field, one, other []byte, part float64) error {
	if !from.Type.IsInt() && from.Type != dtype.Float32 {
		return fmt.Errorf("labels of %v; want integers or float32: %w", from.Type, dtype.ErrType)
	}
	p := dtype.Cast[float32](dst)
	if from.Type.IsFloat() {
		x, y := dtype.Cast[float32](one), dtype.Cast[float32](other)
		for i := range p {
			p[i] = float32(part*float64(x[i]) + (1-part)*float64(y[i]))
		}
		return nil
	}
	clear(p)
	for k, data := range [][]byte{one, other} {
		label, err := labelOf(from.Type, data)
		if err != nil || label < 0 || label >= int64(to.Classes) {
			return fmt.Errorf("label %d of %s; there are %d classes: %w", label, from.Name, to.Classes, config.ErrInvalid)
		}
		p[label] += float32([]float64{part, 1 - part}[k])
	}
	return nil
}

// labelOf returns the integer in data.
func labelOf(t dtype.Type, data []byte) (int64, error) {
	host, err := storage.Empty(t, 1)
	if err != nil {
		return 0, err
	}
	bytes, _ := host.Bytes()
	copy(bytes, data)
	labels, err := storage.Read[int64](host)
	if err != nil {
		return 0, err
	}
	return labels[0], nil
}
