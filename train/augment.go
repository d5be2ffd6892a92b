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
	return list, c.checkAugmentFields()
}

// fixedAugmentations returns the augmentations of the samples to validate and predict on, which draw no random numbers.
func (c Config) fixedAugmentations() ([]augment.Augmentation, error) {
	list, err := augment.ListFromConfig(c.ValAugment)
	if err != nil {
		return nil, config.At(err, "val_augment")
	}
	for i, a := range list {
		if f, ok := a.(augment.Fixed); !ok || !f.Fixed() {
			return nil, config.At(config.Errorf("%s draws random numbers, and predictions do not; want resize, pad or a crop with center: true", augment.Name(a)), "val_augment", config.Item{Kind: "augmentation", Index: i})
		}
	}
	return list, c.checkAugmentFields()
}

// checkAugmentFields fails for fields that are neither inputs nor targets.
func (c Config) checkAugmentFields() error {
	known := slices.Concat(c.Data.InputNames(), c.Data.TargetNames())
	for _, name := range slices.Sorted(maps.Keys(c.AugmentFields)) {
		if !slices.Contains(known, name) {
			return config.At(config.Unknown("input or target", name, known), "augment_fields", name)
		}
	}
	return nil
}

// evaluated returns the fields of the samples to validate and predict on, of data with these fields, and the stage
// that makes them; nil without val_augment.
func (c Config) evaluated(fields []dataset.Field) ([]dataset.Field, dataset.Stage, error) {
	list, err := c.fixedAugmentations()
	if err != nil || len(list) == 0 {
		return fields, nil, err
	}
	kinds := maps.Clone(c.AugmentFields)
	maps.DeleteFunc(kinds, func(name string, _ augment.Kind) bool { // the data to predict on need no targets
		return !slices.ContainsFunc(fields, func(f dataset.Field) bool { return f.Name == name })
	})
	stage := augment.NewChain(list, augment.Options{Seed: c.Seed, Fields: kinds, ChannelsLast: c.Data.Layout == "nhwc"})
	if fields, err = stage.Output(fields); err != nil {
		return nil, nil, config.At(err, "val_augment")
	}
	return fields, stage, nil
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
// targets of samples to validate on too.
func (r *Run) bindAugmented(d dataset.Dataset, stage dataset.Stage) (b binding, own []arrangement, err error) {
	fields := d.Fields()
	if stage != nil {
		if fields, err = stage.Output(d.Fields()); err != nil {
			return b, nil, err
		}
	}
	if b, err = r.bindTraining(fields); err != nil {
		if stage != nil || len(r.Config.ValAugment) > 0 {
			err = fmt.Errorf("augment: %w (samples to validate and predict on are changed by val_augment alone)", err)
		}
		return b, nil, err
	}
	if stage == nil {
		return b, b.arrangements, nil
	}
	if fields, _, err = r.Config.evaluated(d.Fields()); err == nil {
		own, err = r.arrangements(fields, b)
	}
	return b, own, err
}
