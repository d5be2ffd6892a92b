package models

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/h5dnn/h5dnn/loss"
	"github.com/h5dnn/h5dnn/models/keras"
	"github.com/h5dnn/h5dnn/models/weights"
	"github.com/h5dnn/h5dnn/serialize/kerasfile"
)

// number gives the weights of layers of unknown classes, such as a program's own, the numbers
// that .weights.h5 files have for them, in the order of the .h5. Where those of layers around
// others are is not known.
func (p *Plan) number(m *keras.Model) {
	for path, l := range m.All() {
		if _, known, _ := keras.Variables(l); known || l.Model != nil || keras.IsAround(l) {
			continue
		}
		var own []int
		for i, t := range p.Tensors {
			rest, ok := strings.CutPrefix(t.Name, path+"/")
			if _, err := strconv.Atoi(rest); ok && (err == nil || strings.Contains(rest, "/")) {
				own = nil
				break
			}
			if ok {
				own = append(own, i)
			}
		}
		for n, i := range own {
			p.rename(p.Tensors[i].Name, path+"/"+strconv.Itoa(n))
		}
	}
}

// rename renames a weight and its buffers.
func (p *Plan) rename(from, to string) {
	for i, t := range p.Tensors {
		if before, isBuffer := strings.CutSuffix(t.Name, "/"+from); isBuffer && strings.HasPrefix(t.Name, OptimizerPath+"/") {
			p.Tensors[i].Name = before + "/" + to
		} else if t.Name == from {
			p.Tensors[i].Name = to
		}
	}
}

// forKeras3 renames layers of Keras 2 with slashes or dots in a .keras, which Keras 3 loads, and reports
// which layers of Keras 2 are other ones there: as lost in a .keras, as a note in an .h5, which
// is for Keras 2.
func (p *Plan) forKeras3() error {
	text := p.meta[kerasfile.MetaConfig]
	if p.To != Keras || text == "" || !strings.HasPrefix(p.Format.Name, "keras") {
		return nil
	}
	m, err := keras.Parse(text)
	if errors.Is(err, keras.ErrProgram) {
		return nil
	}
	if err != nil {
		return err
	}
	if p.Format.Name != "keras-h5" {
		p.number(m)
	}
	if version := p.meta[kerasfile.MetaVersion]; strings.HasPrefix(version, "3.") || version == "" && strings.HasPrefix(m.Version, "3.") {
		return nil
	}
	translated, err := keras.Translate(text, true)
	if err != nil {
		return err
	}
	current, err := keras.Parse(translated)
	if err != nil {
		return err
	}
	for path, how := range keras.Differences(current) {
		if p.Format.Name == "keras" {
			p.Lost.Add(path, loss.Property, 1, "%s", how)
		} else {
			p.Notes = append(p.Notes, "layer "+path+": "+how)
		}
	}
	switch p.Format.Name {
	case "keras-h5":
		p.Notes = append(p.Notes, "OUT is for Keras 2; Keras 3 does not load the .h5 of most models of Keras 2: write a .keras for it")
		return p.forKeras2(text)
	case "keras":
	default:
		p.noteMetrics()
		return nil
	}
	p.completeOptimizer(m)
	text, renamed, err := keras.RenameLayers(text)
	if err != nil || len(renamed) == 0 {
		return err
	}
	p.setMeta(kerasfile.MetaConfig, text)
	for i, t := range p.Tensors {
		p.Tensors[i].Name = keras.Renamed(t.Name, renamed)
	}
	p.Notes = append(p.Notes, fmt.Sprintf("%d layers have slashes or dots in their names, which Keras 3 or its PyTorch backend refuses; they are underscores in OUT", len(renamed)))
	return nil
}

// noteMetrics notes that a .weights.h5 of a compiled model lacks its metrics, as IN does. Keras 2.15
// makes those of a model when it is first trained or evaluated, and wants them from then on.
func (p *Plan) noteMetrics() {
	var training map[string]any
	if json.Unmarshal([]byte(p.meta[kerasfile.MetaTraining]), &training) != nil || len(training) == 0 ||
		slices.ContainsFunc(p.Tensors, func(t weights.Tensor) bool { return strings.HasPrefix(t.Name, "metrics/") }) {
		return
	}
	p.Notes = append(p.Notes, "IN has no metrics, which load_weights of Keras 2.15 wants once the model was trained or evaluated: load OUT before, or with skip_mismatch=True")
}

// noteTraining notes that an .h5 has no training_config if that names no optimizer, as those of
// Keras 3.15 with PyTorch do: Keras could not load the model.
func (p *Plan) noteTraining() {
	var training map[string]any
	if p.Format.Name != "keras-h5" || json.Unmarshal([]byte(p.meta[kerasfile.MetaTraining]), &training) != nil {
		return
	}
	if training["loss"] != nil && training["optimizer"] == nil && training["optimizer_config"] == nil {
		p.Notes = append(p.Notes, "IN does not say which optimizer it was compiled with, without which an .h5 has no loss and metrics either; compile the model again")
	}
}

// forKeras2 reports the layers of a model of Keras 2 that an .h5 cannot have, and the variables of its
// optimizer that only Keras 3 has.
func (p *Plan) forKeras2(text string) error {
	text, err := keras.Translate(text, false)
	if err != nil {
		return err
	}
	m, err := keras.Parse(text)
	if err != nil {
		return err
	}
	extra, why := p.optimizerState(m).NotInKeras2()
	p.Tensors = slices.DeleteFunc(p.Tensors, func(t weights.Tensor) bool { return slices.Contains(extra, t.Name) })
	if len(extra) > 0 {
		p.Lost.AddInherent(OptimizerPath, loss.Value, len(extra), "variables such as %s, %s", extra[0], why)
	}
	for path, l := range m.All() {
		if operation, ok := strings.CutPrefix(l.Class, "ops."); ok {
			p.Lost.Add(path, loss.Property, 1, "Keras 2 has no layer for the operation %s of Keras 3, and does not load the model; write a .keras", operation)
		}
		if l.Class == "SpectralNormalization" {
			p.Lost.Add(path, loss.Property, 1, "Keras 2 does not find a SpectralNormalization in an .h5, and does not load the model; write a .keras")
		}
	}
	return nil
}

// optimizerState returns the state of the optimizer of a model in OUT.
func (p *Plan) optimizerState(m *keras.Model) *keras.OptimizerState {
	return keras.NewOptimizerState(m, p.meta[kerasfile.MetaTraining], p.Tensors)
}

// completeOptimizer makes the state of an optimizer of Keras 2 what Keras 3 has, which skips the
// state of one with another number of variables.
func (p *Plan) completeOptimizer(m *keras.Model) {
	state := p.optimizerState(m)
	missing, extra, ok := state.ForKeras3()
	if !ok {
		p.Lost.Add(OptimizerPath, loss.Property, 1, "Keras 3 does not load the state of this optimizer, which has other variables there; the file has it")
		return
	}
	p.Tensors = append(p.Tensors, missing...)
	if len(extra) > 0 {
		p.Lost.AddInherent(OptimizerPath, loss.Value, len(extra), "variables such as %s, which the optimizer does not have in Keras 3", extra[0])
	}
	p.Tensors = slices.DeleteFunc(p.Tensors, func(t weights.Tensor) bool { return slices.Contains(extra, t.Name) })
	if state.Optimizer == nil {
		return
	}
	for _, how := range state.Optimizer.DifferencesInKeras3() {
		p.Lost.Add(OptimizerPath, loss.Property, 1, "%s", how)
	}
}
