package train

import (
	"fmt"
	"maps"
	"slices"

	"github.com/h5dnn/h5dnn/augment"
	"github.com/h5dnn/h5dnn/config"
	"github.com/h5dnn/h5dnn/dataset"
)

// augmentations returns the augmentations that c names.
func (c Config) augmentations() ([]augment.Augmentation, error) {
	list, err := augment.ListFromConfig(c.Augment)
	if err != nil {
		return nil, config.At(err, "augment")
	}
	known := slices.Concat(c.Data.InputNames(), c.Data.TargetNames())
	for _, name := range slices.Sorted(maps.Keys(c.AugmentFields)) {
		if !slices.Contains(known, name) {
			return nil, config.At(config.Unknown("input or target", name, known), "augment_fields", name)
		}
	}
	return list, nil
}

// augmentation returns the stage of the loader of the samples to train on; nil without augmentations.
func (r *Run) augmentation() (dataset.Stage, error) {
	if len(r.Config.Augment) == 0 {
		return nil, nil
	}
	outputs, err := r.outputShapes()
	if err != nil {
		return nil, err
	}
	classes := map[string]int{}
	for i, name := range r.targets {
		if i < len(outputs) && r.classifies(i) && len(outputs[i]) > 0 {
			classes[name] = outputs[i][0]
		}
	}
	return r.Config.chain(classes)
}

// chain returns the augmentations that c names as one stage, for targets of these numbers of classes.
func (c Config) chain(classes map[string]int) (dataset.Stage, error) {
	list, err := c.augmentations()
	if err != nil {
		return nil, err
	}
	return augment.NewChain(list, augment.Options{Seed: c.Seed, Fields: c.AugmentFields, ChannelsLast: c.Data.Layout == "nhwc", Classes: classes}), nil
}

// bindAugmented binds the fields of what a stage makes of the samples of d. It returns the arrangements of the
// targets of d too.
func (r *Run) bindAugmented(d dataset.Dataset, stage dataset.Stage) (b binding, own []arrangement, err error) {
	fields := d.Fields()
	if stage != nil {
		if fields, err = stage.Output(d.Fields()); err != nil {
			return b, nil, err
		}
	}
	if b, err = r.bindTraining(fields); err != nil {
		if stage != nil {
			err = fmt.Errorf("augment: %w (samples to validate on and to predict are not augmented)", err)
		}
		return b, nil, err
	}
	if stage == nil {
		return b, b.arrangements, nil
	}
	own, err = r.arrangements(d.Fields(), b)
	return b, own, err
}
