package models

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/h5dnn/h5dnn/dtype"
	"github.com/h5dnn/h5dnn/loss"
	"github.com/h5dnn/h5dnn/models/keras"
	"github.com/h5dnn/h5dnn/models/weights"
	"github.com/h5dnn/h5dnn/serialize"
	"github.com/h5dnn/h5dnn/serialize/kerasfile"
	"github.com/h5dnn/h5dnn/storage"
)

// A Plan is a conversion: what becomes of every array of the source.
type Plan struct {
	Source   *Source
	Format   serialize.Format
	From, To string // frameworks
	Tensors  []weights.Tensor
	Modules  []Module  // that hold the tensors, for PyTorch
	Refused  []error   // layers that the other framework does not have
	Lost     loss.List // arrays and settings
	Unused   []string  // arrays of a run's source that its model does not have
	Notes    []string
	// Precision says how predictions of a run differ from those of a model of Keras that does not compute
	// in float32. It is among the notes, too.
	Precision []string

	options Options
	meta    map[string]string
	taken   map[string]bool // names of arrays that a user's rules have taken or dropped
}

// A Module is a call that constructs a module of PyTorch.
type Module struct{ Name, Call string }

// ErrRefused is the kind of error, for errors.Is, of a plan with layers that the other
// framework does not have.
var ErrRefused = errors.New("cannot be converted")

// Err returns an error of kind ErrRefused if layers were refused. Write leaves them out.
func (p *Plan) Err() error {
	if len(p.Refused) == 0 {
		return nil
	}
	var lines []string
	for _, err := range p.Refused {
		lines = append(lines, err.Error())
	}
	return fmt.Errorf("%s: %w to %s: %s", p.Source.Name, ErrRefused, p.To, strings.Join(lines, "; "))
}

// refuse records a layer that is not converted, with its weights.
func (p *Plan) refuse(l *keras.Layer, path string, err error) {
	p.Refused = append(p.Refused, err)
	for _, w := range l.Weights {
		if !p.taken[path+"/"+w.Name] {
			p.Lost.Add(path+"/"+w.Name, loss.Array, 1, "%v", err)
		}
	}
}

// rulesAlone reports whether no rules but the user's apply.
func (p *Plan) rulesAlone() bool {
	known := p.Source.Model != nil || p.options.Architecture.Config != nil
	return p.To == PyTorch && (p.From == PyTorch || p.From == Keras && !known)
}

// custom adds the arrays that a user's rules make.
func (p *Plan) custom(rules weights.Rules) error {
	var all []weights.Tensor
	for _, e := range p.Source.Entries {
		all = append(all, weights.Tensor{Name: e.Name, Array: e.Array})
	}
	made, dropped, rest, err := rules.Apply(all)
	if err != nil {
		return err
	}
	p.taken = map[string]bool{}
	for _, t := range made {
		for _, name := range t.From {
			p.taken[name] = true
		}
	}
	for _, name := range dropped {
		p.taken[name] = true
		p.Lost = append(p.Lost, loss.Item{Path: name, Kind: loss.Array, Count: 1, Reason: "dropped by a rule", Inherent: true}) // on purpose
	}
	p.Tensors = append(p.Tensors, made...)
	if !p.rulesAlone() {
		return nil
	}
	if len(rules.Modules) > 0 {
		return fmt.Errorf("%s: rules for modules need the architecture, which says what layers they are; give rules for its tensors", p.Source.Name)
	}
	if rules.Rest != "keep" {
		for _, name := range rest {
			p.taken[name] = true
			p.Lost.Add(name, loss.Array, 1, "no rule names it; add one, or rest: keep")
		}
	}
	return nil
}

// links returns the plans of the layers as modules of PyTorch, or of h5dnn by a translation, without the
// links of weights that a user's rules have taken.
func (p *Plan) links(m *keras.Model, t *keras.Translation) (plans []keras.LayerPlan, err error) {
	o := keras.LinkOptions{Flatten: p.options.Flatten}
	if p.options.Rules != nil {
		o.Rules = *p.options.Rules
	}
	if t != nil {
		plans, err = t.Links(m, o)
	} else {
		plans, err = keras.ModelLinks(m, o)
	}
	if err != nil {
		return nil, err
	}
	for i := range plans {
		plan := &plans[i]
		plan.Links = slices.DeleteFunc(plan.Links, func(l weights.Link) bool {
			return slices.ContainsFunc(slices.Concat(l.From, l.To), func(name string) bool { return p.taken[name] })
		})
		if plan.Refused != nil && len(plan.Layer.Weights) > 0 && !slices.ContainsFunc(plan.Layer.Weights, func(w keras.Weight) bool { return !p.taken[plan.Path+"/"+w.Name] }) {
			plan.Refused = nil
		}
	}
	return plans, nil
}

// layers records what the plans of layers refuse, and how PyTorch's modules are made.
func (p *Plan) layers(plans []keras.LayerPlan) {
	for _, plan := range plans {
		if plan.Refused != nil {
			p.refuse(plan.Layer, plan.Path, plan.Refused)
			continue
		}
		if plan.Differs != nil {
			if len(plan.Links) == 0 {
				p.Refused = append(p.Refused, plan.Differs)
			}
			p.Lost.Add(plan.Path, loss.Property, 1, "%v", plan.Differs)
		}
		if plan.Note != "" {
			p.Notes = append(p.Notes, plan.Note)
		}
		if plan.Module != "" && len(plan.Links) > 0 {
			p.Modules = append(p.Modules, Module{plan.Name, plan.Module})
		}
	}
}

// cutLast cuts a name at its last dot.
func cutLast(name string) (before, after string, ok bool) {
	at := strings.LastIndexByte(name, '.')
	if at < 0 {
		return name, "", false
	}
	return name[:at], name[at+1:], true
}

func (p *Plan) kerasToPyTorch() error {
	if c := p.options.Architecture.Config; c != nil {
		return p.kerasWeightsToPyTorch(*c)
	}
	m := p.Source.Model
	if m == nil && p.options.Rules != nil {
		return p.copyAll()
	}
	if m == nil {
		return &MissingArchitectureError{p.Source.Name, p.From}
	}
	plans, err := p.links(m, nil)
	if err != nil {
		return err
	}
	p.layers(plans)
	tensors, unused, err := keras.Export(plans)
	if err != nil {
		return err
	}
	p.Tensors = append(p.Tensors, tensors...)
	for _, name := range unused {
		if !p.taken[name] {
			p.lose(name)
		}
	}
	p.randomStates(m)
	p.loseOthers(m)
	if err := p.exportOptimizer(m); err != nil {
		return err
	}
	p.keepConfig()
	p.Notes = append(p.Notes, "PyTorch's architecture is code, which no file has: build the modules under these names")
	return nil
}

// lose records an array that nothing is made of.
func (p *Plan) lose(name string) {
	if strings.Contains(name, "seed_generator") {
		p.Lost.AddInherent(name, loss.Value, 1, "the state of a random number generator")
		return
	}
	if p.To == H5dnn && strings.HasSuffix(name, "/count") {
		p.Lost.AddInherent(name, loss.Value, 1, "the number of samples that a Normalization was adapted to")
		return
	}
	p.Lost.Add(name, loss.Array, 1, "unmapped: no rule takes it")
}

// randomStates records the states of random number generators, which have no layer plan.
func (p *Plan) randomStates(m *keras.Model) {
	for path, l := range m.All() {
		if keras.HasRule(l.Class) {
			continue
		}
		for _, w := range l.Weights {
			if name := path + "/" + w.Name; strings.Contains(w.Name, "seed_generator") && !p.taken[name] && len(p.Lost.Of(name)) == 0 {
				p.lose(name)
			}
		}
	}
}

// loseOthers records the arrays of the source that no layer of m has, such as those of a layer
// whose place in a file does not follow from its class.
func (p *Plan) loseOthers(m *keras.Model) {
	if p.Source.Framework != Keras {
		return // the caller knows which arrays of PyTorch the weights of m are
	}
	known := map[string]bool{}
	for path, l := range m.All() {
		for _, w := range l.Weights {
			known[path+"/"+w.Name] = true
		}
	}
	for _, e := range p.Source.Entries {
		switch {
		case known[e.Name] || p.taken[e.Name] || p.Source.isOptimizerState(e.Name):
		case strings.HasPrefix(e.Name, metricsPath):
			p.Lost.AddInherent(e.Name, loss.Value, 1, "the state of a metric")
		default:
			p.Lost.Add(e.Name, loss.Array, 1, "no layer of the architecture is known to have it; a rules file can name it")
		}
	}
}

// metricsPath begins the names of the states of metrics.
const metricsPath = "metrics/"

// keepConfig keeps Keras's architecture in the metadata, where PyTorch does not look, so
// that the way back needs no other file.
func (p *Plan) keepConfig() {
	if text := p.Source.Meta()[kerasfile.MetaConfig]; text != "" && p.Format.Meta {
		p.setMeta(kerasfile.MetaConfig, text)
	}
	if text := p.Source.Meta()[kerasfile.MetaTraining]; text != "" && p.Format.Meta && p.options.Optimizer {
		p.setMeta(kerasfile.MetaTraining, text)
	}
	if p.Format.Name == "safetensors" {
		p.setMeta("format", "pt")
	}
}

func (p *Plan) setMeta(key, value string) {
	if p.meta == nil {
		p.meta = map[string]string{}
	}
	p.meta[key] = value
}

func (p *Plan) pyTorchToKeras() error {
	m := p.Source.Model
	switch {
	case m == nil && p.options.Architecture.Config != nil:
		return fmt.Errorf("%s: %w", p.Source.Name, ErrThroughRun)
	case m == nil:
		return &MissingArchitectureError{p.Source.Name, p.From}
	}
	for _, l := range m.All() {
		l.Weights = nil
	}
	plans, err := p.links(m, nil)
	if err != nil {
		return err
	}
	for _, plan := range plans {
		if plan.Refused != nil {
			p.Refused = append(p.Refused, plan.Refused)
		}
		if plan.Differs != nil {
			p.Notes = append(p.Notes, fmt.Sprintf("layer %s does not compute what a module of PyTorch does: %v", plan.Path, plan.Differs))
		}
		if plan.Note != "" {
			p.Notes = append(p.Notes, plan.Note)
		}
	}
	if text := cmp.Or(p.options.Architecture.Text, p.Source.Meta()[kerasfile.MetaConfig]); text != "" {
		p.setMeta(kerasfile.MetaConfig, text)
	}
	if err := p.importInto(plans); err != nil {
		return err
	}
	return cmp.Or(p.sameShapes(), p.checkShapes(m))
}

// importInto adds the weights of the layers, computed from the arrays of the source.
func (p *Plan) importInto(plans []keras.LayerPlan) error {
	var list []weights.Tensor
	for _, e := range p.Source.Entries {
		if !p.taken[e.Name] && !p.Source.isOptimizerState(e.Name) {
			list = append(list, weights.Tensor{Name: e.Name, Array: e.Array})
		}
	}
	optimizer, err := p.importOptimizer(list)
	if err != nil {
		return err
	}
	p.Source.Model.Optimizer = optimizer
	parameters := map[string]weights.Tensor{}
	for _, t := range list {
		parameters[t.Name] = t
	}
	for _, t := range p.Tensors { // that a user's rules have renamed
		parameters[t.Name] = t
	}
	p.Tensors = nil
	tensors, missing, unused, err := keras.Import(plans, parameters)
	if err != nil {
		return err
	}
	p.Tensors = tensors
	for _, name := range missing {
		p.Refused = append(p.Refused, fmt.Errorf("%s is missing%s", name, reparametrized(name, parameters)))
	}
	if len(missing) > 0 && len(unused) > 0 {
		module, _, _ := cutLast(missing[0])
		p.Notes = append(p.Notes, fmt.Sprintf("a rules file can say what IN calls a module: modules: {%s: NAME}", module))
	}
	for _, name := range unused {
		if _, parameter, _ := cutLast(name); strings.HasPrefix(parameter, "weight_hr_l") {
			return fmt.Errorf("%s projects the state of an LSTM (proj_size), which Keras's does not: %w", name, weights.ErrUnsupported)
		}
		p.lose(name)
	}
	p.loseMetadata()
	p.noteCounters()
	return p.kerasOptimizer(optimizer)
}

// noteCounters notes the numbers of batches that PyTorch's normalizations have seen, which others do not count.
func (p *Plan) noteCounters() {
	n := 0
	for _, e := range p.Source.Entries {
		if _, name, _ := cutLast(e.Name); name == counter && !p.taken[e.Name] && e.Array.Len() == 1 {
			if batches, err := storage.Read[int64](e.Array); err == nil && batches[0] != 0 {
				n++
			}
		}
	}
	if n > 0 {
		p.Notes = append(p.Notes, fmt.Sprintf("left out: %d × %s, which only PyTorch has, and needs for momentum=None", n, counter))
	}
}

// loseMetadata records what a state_dict has beside arrays and the state of an optimizer, such as
// the number of epochs, which neither models of Keras nor runs have a place for.
func (p *Plan) loseMetadata() {
	var keys []string
	for key := range p.Source.Meta() {
		known := slices.Contains([]string{kerasfile.MetaConfig, kerasfile.MetaTraining, "format"}, key)
		if !known && !strings.HasPrefix(key, "torch.") && !strings.Contains("/"+key, "/"+pyTorchParamGroups) {
			keys = append(keys, key)
		}
	}
	if len(keys) > 0 {
		slices.Sort(keys)
		p.Lost.AddInherent("/", loss.Attribute, len(keys), "%s: a converted model has no metadata", strings.Join(keys[:min(len(keys), 5)], ", "))
	}
}

// reparametrized says how to save a parameter that PyTorch computes from others, if these
// are in the file.
func reparametrized(name string, parameters map[string]weights.Tensor) string {
	module, parameter, _ := cutLast(name)
	has := func(suffix string) bool { _, ok := parameters[name+suffix]; return ok }
	way := ""
	switch {
	case has("_g") && has("_v"):
		way = fmt.Sprintf("torch.nn.utils.remove_weight_norm(model.%s)", module)
	case has("_orig") && has("_mask"):
		way = fmt.Sprintf("torch.nn.utils.prune.remove(model.%s, %q)", module, parameter)
	case has("_orig"):
		way = fmt.Sprintf("torch.nn.utils.remove_spectral_norm(model.%s)", module)
	default:
		prefix := strings.TrimPrefix(module+".parametrizations."+parameter+".", ".")
		for other := range parameters {
			if strings.HasPrefix(other, prefix) {
				way = fmt.Sprintf("torch.nn.utils.parametrize.remove_parametrizations(model.%s, %q)", module, parameter)
			}
		}
	}
	if way == "" {
		return ""
	}
	return "; it is computed from others: save the state_dict after " + way
}

// copyAll keeps arrays that a user's rules do not name as they are.
func (p *Plan) copyAll() error {
	for _, e := range p.Source.Entries {
		if m := p.Source.Model; p.Format.Name == "keras-h5" && strings.HasPrefix(e.Name, "metrics/") && m != nil && m.Layer("metrics") == nil {
			p.Lost.AddInherent(e.Name, loss.Value, 1, "the mean of a metric in the last epoch, for which .h5 has no place")
			continue
		}
		if !p.taken[e.Name] {
			p.Tensors = append(p.Tensors, copied(e.Name, e))
		}
	}
	if p.Format.Meta {
		for key, value := range p.Source.Meta() {
			p.setMeta(key, value)
		}
	}
	if text := p.options.Architecture.Text; p.From == Keras && p.Format.Meta && text != "" && p.meta[kerasfile.MetaConfig] == "" {
		p.setMeta(kerasfile.MetaConfig, text)
		return nil
	}
	if m := p.Source.Model; p.From == Keras && m != nil && m.Version == "" && p.meta[kerasfile.MetaConfig] != "" {
		text, err := keras.Describe(keras.Upgrade(m)) // of Keras 1
		p.setMeta(kerasfile.MetaConfig, text)
		return err
	}
	return nil
}

// check fails if two tensors have one name, or the format cannot hold one.
func (p *Plan) check() error {
	seen := map[string]bool{}
	for i, t := range p.Tensors {
		if seen[t.Name] {
			return fmt.Errorf("%s: two arrays would be called %s: %w", p.Source.Name, t.Name, weights.ErrAmbiguous)
		}
		seen[t.Name] = true
		if !p.Format.Holds(t.Array.Type) && t.Array.Type.IsFloat() && t.Array.Type.Size() <= 2 { // which float32 holds exactly
			p.Tensors[i].Array = weights.Cast(t.Array, dtype.Float32)
			p.Tensors[i].Operation = strings.TrimPrefix(t.Operation+" cast(float32)", "copy ")
		}
	}
	p.Tensors = slices.DeleteFunc(p.Tensors, func(t weights.Tensor) bool {
		if p.Format.Holds(t.Array.Type) {
			return false
		}
		p.Lost.AddInherent(t.Name, loss.Array, 1, "%s has no elements of type %v", p.Format.Name, t.Array.Type)
		return true
	})
	if len(p.Tensors) == 0 && len(p.Refused) == 0 && (p.To == PyTorch || p.Source.Model == nil && p.Source.Config == nil) {
		reason := ""
		if i := slices.IndexFunc(p.Lost, func(i loss.Item) bool { return i.Kind == loss.Array }); i >= 0 {
			reason = fmt.Sprintf("; %s: %s", p.Lost[i].Path, p.Lost[i].Reason)
		}
		return fmt.Errorf("%s has no weights that %s can have%s", p.Source.Name, p.To, reason)
	}
	if p.Format.Table {
		if _, err := p.Format.Columns(p.Contents(context.Background())); err != nil {
			return err
		}
	}
	return nil
}

// Contents returns what is written. Each array is computed when it is read.
func (p *Plan) Contents(ctx context.Context) serialize.Contents {
	return serialize.Contents{Meta: p.meta, Entries: func(yield func(serialize.Entry, error) bool) {
		sources := p.Source.byName()
		for _, t := range p.Tensors {
			if err := ctx.Err(); err != nil {
				yield(serialize.Entry{}, err)
				return
			}
			if !yield(serialize.Entry{Name: t.Name, Array: t.Array, Shared: sharedOf(t, sources)}, nil) {
				return
			}
		}
	}}
}

// sharedOf returns the identity of elements that are copied as they are from one of the
// entries of the source.
func sharedOf(t weights.Tensor, sources map[string]serialize.Entry) string {
	if len(t.From) == 1 {
		if e, ok := sources[t.From[0]]; ok && e.Array.Data == t.Array.Data {
			return e.Shared
		}
	}
	return ""
}

// Write writes the output file, atomically.
func (p *Plan) Write(ctx context.Context, out string) error {
	return serialize.Save(out, p.Format.Name, p.Contents(ctx))
}

// WriteTo writes the output to w. Formats in HDF5, which is not written in order, are an
// error.
func (p *Plan) WriteTo(ctx context.Context, w io.Writer) error {
	return serialize.Write(w, p.Format.Name, p.Contents(ctx))
}
