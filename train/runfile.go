package train

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"iter"
	"maps"
	"math"
	"os"
	"slices"
	"strconv"
	"strings"

	"github.com/h5dnn/h5dnn/config"
	"github.com/h5dnn/h5dnn/dtype"
	"github.com/h5dnn/h5dnn/nn"
	"github.com/h5dnn/h5dnn/serialize"
	"github.com/h5dnn/h5dnn/storage"
	"github.com/h5dnn/h5dnn/tensor"
	"github.com/h5dnn/h5dnn/views"
)

// A run file holds arrays named model/…, optimizer/…, history/…, hooks/NAME/…,
// callbacks/NAME/…, metrics/NAME/…, normalize/FIELD/…, missing/FIELD and, for a run in fp16, scaler. Its attributes are:
const (
	scalerName = "scaler"

	metaSchema   = "h5dnn_schema"   // the version of this layout; missing in schema 1
	metaConfig   = "h5dnn_config"   // the Config, as JSON
	metaPosition = "h5dnn_position" // the Position, as JSON
	metaInputs   = "h5dnn_inputs"   // the features of the model, as JSON
	metaTargets  = "h5dnn_targets"  // the names of its targets, in the order of the outputs, as JSON; missing where there is one
	metaShapes   = "h5dnn_shapes"   // the shapes of samples of the targets, as JSON, where elements are compared; missing in files of older versions
	metaData     = "h5dnn_data"     // the fingerprint of the training data: see dataset.Fingerprint
	metaPaths    = "h5dnn_paths"    // where the data files are, by their names in the Config, as JSON: see dataPath
	metaCompute  = "h5dnn_compute"  // threads and instruction set, as JSON
	metaVersion  = "h5dnn_version"  // of the program that wrote the file

	metaCursor = "h5dnn_cursor" // in schema 1, the position
	metaSample = "h5dnn_sample" // in schema 1, the shape of a sample of the only input
)

// Schema is the version of the layout of run files that Save writes. Resume reads
// it and every older one.
const Schema = 4

// Version is the version of this package in run files.
const Version = "0.1"

// Save writes r to the named file, in the format of its extension. The file is
// replaced atomically.
func Save(name string, r *Run) error {
	if err := r.useAverages(false); err != nil {
		return fmt.Errorf("save %s: %w", name, err)
	}
	meta, err := r.fileMeta(name)
	if err != nil {
		return fmt.Errorf("save %s: %w", name, err)
	}
	return serialize.Save(name, "", serialize.Contents{Entries: serialize.Arrays(r.arrays()), Meta: meta})
}

// fileMeta returns the attributes of r's file, which has that name.
func (r *Run) fileMeta(file string) (map[string]string, error) {
	short := *r
	short.Config.Data, _ = splitVectors(r.Config.Data)
	short.compute = r.computeNow()
	meta, err := short.meta()
	if err != nil {
		return nil, err
	}
	if meta[metaPaths], err = dataPaths(r.Config.Data, file); err != nil {
		return nil, fmt.Errorf("%s: %w", metaPaths, err)
	}
	return meta, nil
}

// meta returns the attributes of a run.
func (r *Run) meta() (map[string]string, error) {
	meta := map[string]string{metaVersion: Version, metaSchema: strconv.Itoa(Schema), metaData: r.fingerprint}
	for _, a := range append(r.attributes(), attribute{metaConfig, r.Config, false}) {
		if a.optional {
			continue
		}
		text, err := json.Marshal(a.value)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", a.key, err)
		}
		meta[a.key] = string(text)
	}
	return meta, nil
}

// An attribute of a run file is a value as JSON. It may be missing if it is optional.
type attribute struct {
	key      string
	value    any
	optional bool
}

// attributes lists the attributes besides the configuration, with pointers to their values. Values that older
// versions did not write are optional until they are known.
func (r *Run) attributes() []attribute {
	return []attribute{
		{metaInputs, &r.Inputs, false},
		{metaPosition, &r.Position, false},
		{metaCompute, &r.compute, r.compute == compute{}},
		{metaTargets, &r.targets, len(r.targets) < 2},
		{metaShapes, &r.targetShapes, r.targetShapes == nil},
	}
}

// named is arrays with their names.
type named = iter.Seq2[string, storage.Array]

// A runPart is a part of a run's state: the arrays that its file holds under names with a prefix, and how they are
// loaded.
type runPart struct {
	prefix string
	arrays named
	load   func(named) error
}

// parts lists the parts of the state of r, besides the configuration.
func (r *Run) parts() []runPart {
	all := []runPart{
		{"model/", nn.StateDict(r.Model), func(a named) error { return nn.LoadStateDict(r.Model, a) }},
		{"optimizer/", r.Optimizer.State(), r.loadOptimizer},
		{"hooks/", r.hookStates.arrays, r.hookStates.load},
		{"callbacks/", r.callbackStates.arrays, r.callbackStates.load},
		{"history/", r.History.arrays, r.loadHistory},
	}
	if r.scaler != nil {
		all = append(all, runPart{scalerName, byName(map[string]storage.Array{"": r.scaler.Array}), r.loadScaler})
	}
	if r.ema != nil {
		all = append(all, runPart{"ema/", r.ema.State(), func(a named) error { return r.ema.Load(nn.Parameters(r.Model), a) }})
	}
	for shard, set := range r.metrics {
		prefix := "metrics/"
		if len(r.metrics) > 1 {
			prefix = fmt.Sprintf("metrics/shard%d/", shard)
		}
		for _, m := range set.parts() {
			all = append(all, runPart{prefix + m.name + "/", m.State(), m.load})
		}
	}
	for i := range max(1, len(r.losses)) {
		if loss, ok := r.lossOf(i).Loss.(nn.Stateful); ok {
			prefix := "loss/"
			if i > 0 {
				prefix = fmt.Sprintf("loss%d/", i)
			}
			all = append(all, runPart{prefix, loss.State(), loss.Load})
		}
	}
	if schedule, ok := r.schedule.(nn.Stateful); ok {
		all = append(all, runPart{"schedule/", schedule.State(), schedule.Load})
	}
	return all
}

// arrays yields all arrays of r's file.
func (r *Run) arrays() named {
	return func(yield func(string, storage.Array) bool) {
		_, long := splitVectors(r.Config.Data)
		for _, part := range append(r.parts(), runPart{arrays: byName(long)}) {
			for name, a := range part.arrays {
				if !yield(part.prefix+name, a) {
					return
				}
			}
		}
	}
}

// ResumeFile returns the run that an open file holds, on d, as it was saved. The name is
// for messages, and for data files beside it.
func ResumeFile(f serialize.File, name string, d storage.Device) (*Run, error) {
	r, err := resume(f, name, d, func(int) error { return nil })
	if err != nil {
		return nil, fmt.Errorf("%s: %w", name, err)
	}
	return r, nil
}

// Resume opens the named run file and returns the run on d, as it was saved. The budget in
// the options limits arrays for which the file stores little.
func Resume(name string, d storage.Device, options ...serialize.Options) (*Run, error) {
	f, err := serialize.Open(name, options...)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	var budget *storage.Budget
	for _, o := range options {
		budget = o.Budget
	}
	size, err := fileSize(name)
	if err != nil {
		return nil, err
	}
	r, err := resume(f, name, d, func(n int) error { return budget.Make(n, size) })
	if err != nil {
		return nil, fmt.Errorf("%s: %w", name, err)
	}
	return r, nil
}

// fileSize returns the size of a run file in bytes.
func fileSize(name string) (int, error) {
	if storage.IsURL(name) {
		size, err := storage.RemoteSize(context.Background(), name)
		return int(size), err
	}
	info, err := os.Stat(name)
	if err != nil {
		return 0, err
	}
	return int(info.Size()), nil
}

// resume reads a run. checkSize is called with the bytes of all its arrays before any is
// allocated.
func resume(file serialize.File, name string, d storage.Device, checkSize func(int) error) (*Run, error) {
	r := &Run{History: History{}}
	if err := r.loadMeta(file.Meta(), name); err != nil {
		return nil, err
	}
	stored, size, err := storedIn(file)
	if err != nil {
		return nil, err
	}
	if err := checkSize(size); err != nil {
		return nil, err
	}
	if err := r.checkMeta(stored); err != nil {
		return nil, err
	}
	if err := r.loadVectors(stored); err != nil {
		return nil, err
	}
	if err := r.assemble(r.Config.Classes, d, func() error {
		r.loadTargets()
		return nil
	}); err != nil {
		return nil, err
	}
	for _, part := range r.parts() {
		if err := part.load(under(stored, part.prefix)); err != nil {
			return nil, err
		}
	}
	return r, r.placeInput()
}

// storedIn returns the arrays of a run file and their bytes in all, or the largest int.
func storedIn(file serialize.File) (_ named, size int, err error) {
	f, err := serialize.Collect(file)
	if err != nil {
		return nil, 0, err
	}
	for _, e := range f {
		if e.Elements != nil {
			return nil, 0, fmt.Errorf("%s has elements of type %s; a run has numbers only: %w", e.Name, e.Elements.Type, serialize.ErrFormat)
		}
		size += min(math.MaxInt-size, min(e.Array.Len(), math.MaxInt/e.Array.Type.Size())*e.Array.Type.Size())
	}
	return func(yield func(string, storage.Array) bool) {
		for _, e := range f {
			if !yield(e.Name, e.Array) {
				return
			}
		}
	}, size, nil
}

// ReadConfig returns the configuration of the named run file. It reads no arrays.
func ReadConfig(name string) (Config, error) {
	r := &Run{}
	err := r.read(name, func(serialize.File) error { return nil })
	return r.Config, err
}

// ReadHistory returns the named run without its model: the configuration, the position and the history.
func ReadHistory(name string) (*Run, error) {
	r := &Run{History: History{}}
	err := r.read(name, func(f serialize.File) error {
		stored, _, err := storedIn(f)
		if err != nil {
			return err
		}
		return r.loadHistory(under(stored, "history/"))
	})
	return r, err
}

// read reads the attributes of the named run file, and what more reads.
func (r *Run) read(name string, more func(serialize.File) error) error {
	f, err := serialize.Open(name)
	if err != nil {
		return err
	}
	defer f.Close()
	if err = r.loadMeta(f.Meta(), name); err == nil {
		err = more(f)
	}
	if err != nil {
		return fmt.Errorf("%s: %w", name, err)
	}
	return nil
}

var errNoRun = errors.New("it is not a run that h5dnn train wrote")

// IsNoRun reports whether err says that a file is sound and holds something else than a run.
func IsNoRun(err error) bool { return errors.Is(err, errNoRun) }

// loadMeta reads the attributes of the named run file.
func (r *Run) loadMeta(meta map[string]string, name string) (err error) {
	if meta[metaConfig] == "" {
		return fmt.Errorf("no %s in the file; %w: %w", metaConfig, errNoRun, serialize.ErrFormat)
	}
	r.fingerprint = meta[metaData]
	schema, err := schemaOf(meta)
	if err != nil {
		return err
	}
	r.Config = Defaults()
	if err := config.Decode([]byte(meta[metaConfig]), &r.Config); err != nil {
		return fmt.Errorf("%s: %w", metaConfig, err)
	}
	if err := findData(&r.Config, name, meta[metaPaths]); err != nil {
		return err
	}
	if schema < 4 {
		r.Config.Data = r.Config.Data.WithOldDefaults()
	}
	for _, a := range r.attributes() {
		text, ok := meta[a.key]
		if !ok && (a.optional || schema == 1) {
			continue
		}
		if err := json.Unmarshal([]byte(text), a.value); err != nil {
			return fmt.Errorf("%s: %w", a.key, err)
		}
	}
	if slices.ContainsFunc(slices.Concat(r.targetShapes...), func(n int) bool { return n < 0 }) {
		return fmt.Errorf("%s: %v: %w", metaShapes, r.targetShapes, views.ErrShape)
	}
	if schema == 1 {
		return r.loadSchema1(meta)
	}
	return nil
}

// schemaOf returns the version of a run file's layout.
func schemaOf(meta map[string]string) (int, error) {
	text, ok := meta[metaSchema]
	if !ok {
		return 1, nil
	}
	schema, err := strconv.Atoi(text)
	if err != nil || schema < 1 {
		return 0, fmt.Errorf("%s is %q; want a number: %w", metaSchema, text, serialize.ErrFormat)
	}
	if schema > Schema {
		return 0, fmt.Errorf("the run file has schema %d, written by h5dnn %s; this version reads schemas 1 to %d, use a newer one: %w", schema, meta[metaVersion], Schema, serialize.ErrFormat)
	}
	return schema, nil
}

// loadSchema1 reads the position and the input of a run file of schema 1, which had one
// input and other names for the running totals.
func (r *Run) loadSchema1(meta map[string]string) error {
	names := r.Config.Data.InputNames()
	if len(names) == 0 {
		return fmt.Errorf("%s names no input: %w", metaConfig, serialize.ErrFormat)
	}
	x := Feature{Name: names[0], Type: dtype.Float32}
	if err := json.Unmarshal([]byte(meta[metaSample]), &x.Shape); err != nil {
		return fmt.Errorf("%s: %w", metaSample, err)
	}
	r.Inputs = []Feature{x}
	var old struct {
		Position
		Running struct {
			Metrics
			Correct int `json:"hits"`
		} `json:"so_far"`
	}
	if err := json.Unmarshal([]byte(meta[metaCursor]), &old); err != nil {
		return fmt.Errorf("%s: %w", metaCursor, err)
	}
	r.Position = old.Position
	r.Position.Running = old.Running.Metrics
	r.Position.Running.Correct = old.Running.Correct
	return nil
}

// loadOptimizer reads the state of the optimizer. A file without any, such as one that h5dnn strip
// has written, predicts and cannot be trained further.
func (r *Run) loadOptimizer(arrays named) error {
	state := maps.Collect(arrays)
	if r.stripped = len(state) == 0; r.stripped {
		return nil
	}
	return r.Optimizer.Load(nn.Parameters(r.Model), maps.All(state))
}

// CheckTrainable returns an error if the file of r has no state of the optimizer, without which
// training cannot go on, or if the model has no parameters.
func (r *Run) CheckTrainable() error {
	if r.stripped {
		return fmt.Errorf("the run has no state of its optimizer, as h5dnn strip leaves it, and cannot be trained further; resume the file that it was stripped from: %w", storage.ErrState)
	}
	for range nn.Parameters(r.Model) {
		return nil
	}
	return config.Errorf("the model has no parameters to train; add a layer with some, such as dense")
}

// loadScaler reads the state of the loss scaler.
func (r *Run) loadScaler(arrays named) error {
	for _, a := range arrays {
		state, err := storage.Read[float32](a)
		if err != nil {
			return fmt.Errorf("%s: %w", scalerName, err)
		}
		if len(state) > 0 && (!(state[0] > 0) || math.IsInf(float64(state[0]), 0)) {
			return fmt.Errorf("%s: the loss scale is %v; want a positive number: %w", scalerName, state[0], serialize.ErrFormat)
		}
		if err := storage.From(state, a.Shape...).CopyTo(r.scaler.Array); err != nil {
			return fmt.Errorf("%s: %w", scalerName, err)
		}
		return nil
	}
	return fmt.Errorf("no %s in the file, of a run in fp16: %w", scalerName, serialize.ErrFormat)
}

// checkMeta refuses attributes that no run writes.
func (r *Run) checkMeta(arrays named) error {
	c := r.Position
	if c.Epoch < 0 || c.Consumed < 0 || c.Consumed > c.Samples || c.Window < 0 || c.Step > math.MaxInt64 {
		return fmt.Errorf("%s: epoch %d, after %d of %d samples: no run is ever there: %w", metaPosition, c.Epoch, c.Consumed, c.Samples, storage.ErrState)
	}
	model, err := r.Config.build(1, tensor.Meta)
	if err != nil {
		return fmt.Errorf("%s: %w", metaConfig, err)
	}
	stored := 0
	for _, a := range under(arrays, "model/") {
		stored += a.Len()
	}
	if size := nn.SizeOf(model); size.Params+size.Buffers > stored {
		return fmt.Errorf("%s: layers of %d elements, more than the file has arrays for: %w", metaConfig, size.Params+size.Buffers, storage.ErrState)
	}
	return r.Config.Check()
}

// under returns the arrays whose names begin with prefix, without it.
func under(arrays named, prefix string) named {
	return func(yield func(string, storage.Array) bool) {
		for name, a := range arrays {
			if rest, ok := strings.CutPrefix(name, prefix); ok && !yield(rest, a) {
				return
			}
		}
	}
}

// maxEpochs is the longest history that is read.
const maxEpochs = 1 << 20

func (r *Run) loadHistory(arrays named) (err error) {
	for name, a := range arrays {
		if a.Rank() != 1 || a.Len() > maxEpochs {
			return fmt.Errorf("history/%s is %v; want a number for each epoch: %w", name, a.Shape, storage.ErrState)
		}
		if r.History[name], err = storage.Read[float64](a); err != nil {
			return fmt.Errorf("history/%s: %w", name, err)
		}
	}
	return nil
}
