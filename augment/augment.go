// Package augment changes samples as a loader reads them: flips, crops, warps, colors, noise, mixtures, and the masks,
// boxes and points that move with an image.
//
// A [Chain] of augmentations is a [dataset.Stage]. What becomes of a sample is a function of the seed, the epoch and the number of
// its row, so that threads, shards, processes and resumed epochs see the same samples. Augmentations of other packages
// are values of [Augmentation]; those that [Register] adds have a name in configurations.
package augment

import (
	"fmt"

	"github.com/h5dnn/h5dnn/config"
	"github.com/h5dnn/h5dnn/dataset"
	"github.com/h5dnn/h5dnn/nn"
)

// A Kind is the role of a field in augmentations.
type Kind string

// The kinds of fields. Names in configurations.
const (
	Still  Kind = "still"  // not changed
	Image  Kind = "image"  // (C, H, W), (H, W, C) or (H, W)
	Mask   Kind = "mask"   // a number for each pixel of an image, (H, W) or with an axis of 1, which moves as the image does
	Boxes  Kind = "boxes"  // (…, 4): x0, y0, x1, y1 in pixels; the left and upper edge of the image are 0. They are cut at its edges
	Points Kind = "points" // (…, 2): x, y in pixels, as boxes have them
	Signal Kind = "signal" // (T) or (C, T)
	Label  Kind = "label"  // the number of a class, or a probability for each class, which mixtures mix
)

// kinds are all kinds.
var kinds = []Kind{Still, Image, Mask, Boxes, Points, Signal, Label}

// A Field is a field of a sample.
type Field struct {
	dataset.Field
	Kind         Kind
	ChannelsLast bool // an Image is (H, W, C)
	Classes      int  // of a Label; 0 if it is not known
}

// A Sample is the fields of one sample, each in row-major order.
type Sample struct {
	Fields []Field
	Data   [][]byte
}

// An Augmentation changes samples. Its methods are called concurrently.
type Augmentation interface {
	// Changes reports whether Apply writes fields of a kind. Others do not change.
	Changes(k Kind) bool
	// Output returns the fields of the samples that Apply makes of samples with these fields, in the same order.
	Output(fields []Field) ([]Field, error)
	// Apply makes the sample to of the sample from. Data of fields that change does not overlap.
	Apply(to, from Sample, r *Random) error
}

// A Mixing is an augmentation that makes each sample of two. Its Apply is not called.
type Mixing interface {
	Augmentation
	// Mix makes the sample to of the samples from and other.
	Mix(to, from, other Sample, r *Random) error
}

// Sometimes is an augmentation that leaves a sample as it is with a probability of 1 - Probability(). It does not
// change types and shapes.
type Sometimes interface{ Probability() float64 }

// Fixed is an augmentation that may draw no random numbers, so that samples to validate and predict on can have it.
type Fixed interface {
	// Fixed reports whether it draws none.
	Fixed() bool
}

var registered = nn.NewKind[Augmentation]("augmentation")

// Register makes augmentations of type A available to configurations under name, as nn.RegisterLayer does for layers. A
// embeds S, or has a method Config that returns its settings.
func Register[S any, A Augmentation](name string, make func(settings S) A, defaults S) bool {
	return nn.Register[S, A](registered, name, make, defaults)
}

// FromConfig builds the augmentation that description describes: "flip" or {"flip": {"p": 0.3}}.
func FromConfig(description any) (Augmentation, error) { return registered.FromConfig(description) }

// ListFromConfig builds the augmentations of a list of descriptions.
func ListFromConfig(descriptions []any) (list []Augmentation, err error) {
	for i, d := range descriptions {
		a, err := FromConfig(d)
		if err != nil {
			return nil, config.At(err, config.Item{Kind: "augmentation", Index: i})
		}
		list = append(list, a)
	}
	return list, nil
}

// Describe returns the settings of a as FromConfig reads them.
func Describe(a Augmentation) (any, error) { return registered.Describe(a) }

// Name returns the name of a in configurations, or else its type.
func Name(a Augmentation) string { return registered.Name(a) }

// Registrations lists the augmentations that configurations can name.
func Registrations() []nn.Registration { return registered.Registrations() }

// orDefault sets a setting that is 0 to its default.
func orDefault(setting *float64, value float64) {
	if *setting == 0 {
		*setting = value
	}
}

// wrongField returns an error for a field that an augmentation cannot change.
func wrongField(a Augmentation, f Field, want string) error {
	return fmt.Errorf("%s: %v as %s; want %s: %w", Name(a), f.Field, f.Kind, want, config.ErrInvalid)
}
