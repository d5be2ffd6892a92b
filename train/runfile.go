package train

import (
	"context"
	"encoding/json"
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
// metrics/NAME/…, normalize/FIELD/…, missing/FIELD and, for a run in fp16, scaler. Its attributes are:
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
	meta, err := r.meta(name)
	if err != nil {
		return fmt.Errorf("save %s: %w", name, err)
	}
	return serialize.Save(name, "", serialize.Contents{Entries: serialize.Arrays(r.arrays()), Meta: meta})
}

// meta returns the attributes of r's file, which has that name.
func (r *Run) meta(file string) (map[string]string, error) {
	meta := map[string]string{metaVersion: Version, metaSchema: strconv.Itoa(Schema), metaData: r.fingerprint}
	paths, err := dataPaths(r.Config.Data, file)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", metaPaths, err)
	}
	meta[metaPaths] = paths
	config := r.Config
	config.Data.Normalize, _ = splitNormalize(config.Data.Normalize, config.Data.InputNames())
	config.Data.Missing, _ = splitFills(config.Data.Missing, config.Data.InputNames())
	values := map[string]any{metaConfig: config, metaPosition: r.Position, metaInputs: r.Inputs, metaCompute: computeOn(r.Device)}
	for _, key := range slices.Sorted(maps.Keys(values)) {
		text, err := json.Marshal(values[key])
		if err != nil {
			return nil, fmt.Errorf("%s: %w", key, err)
		}
		meta[key] = string(text)
	}
	if len(r.targets) > 1 {
		text, err := json.Marshal(r.targets)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", metaTargets, err)
		}
		meta[metaTargets] = string(text)
	}
	if r.targetShapes != nil {
		text, err := json.Marshal(r.targetShapes)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", metaShapes, err)
		}
		meta[metaShapes] = string(text)
	}
	return meta, nil
}

// arrays yields all arrays of r's file.
func (r *Run) arrays() iter.Seq2[string, storage.Array] {
	return func(yield func(string, storage.Array) bool) {
		for name, a := range nn.StateDict(r.Model) {
			if !yield("model/"+name, a) {
				return
			}
		}
		for name, a := range r.Optimizer.State() {
			if !yield("optimizer/"+name, a) {
				return
			}
		}
		for name, a := range r.normalizeArrays() {
			if !yield("normalize/"+name, a) {
				return
			}
		}
		for name, a := range r.fillArrays() {
			if !yield("missing/"+name, a) {
				return
			}
		}
		if r.scaler != nil && !yield(scalerName, r.scaler.Array) {
			return
		}
		for name, a := range r.hookState() {
			if !yield("hooks/"+name, a) {
				return
			}
		}
		for name, a := range r.metrics.state() {
			if !yield("metrics/"+name, a) {
				return
			}
		}
		for prefix, part := range r.statefulParts() {
			for name, a := range part.State() {
				if !yield(prefix+name, a) {
					return
				}
			}
		}
		if r.ema != nil {
			for name, a := range r.ema.State() {
				if !yield("ema/"+name, a) {
					return
				}
			}
		}
		for _, name := range r.History.Names() {
			if !yield("history/"+name, storage.From(r.History[name], len(r.History[name]))) {
				return
			}
		}
	}
}

// statefulParts yields the loss and the schedule if they have state, by the prefix of its
// names.
func (r *Run) statefulParts() iter.Seq2[string, nn.Stateful] {
	return func(yield func(string, nn.Stateful) bool) {
		loss, ok := any(r.loss).(nn.Stateful)
		if ok && !yield("loss/", loss) {
			return
		}
		if schedule, ok := any(r.schedule).(nn.Stateful); ok {
			yield("schedule/", schedule)
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
	f, err := serialize.Collect(file)
	if err != nil {
		return nil, err
	}
	for _, e := range f {
		if e.Elements != nil {
			return nil, fmt.Errorf("%s has elements of type %s; a run has numbers only: %w", e.Name, e.Elements.Type, serialize.ErrFormat)
		}
	}
	if err := checkSize(bytesOf(f)); err != nil {
		return nil, err
	}
	if err := r.checkMeta(f); err != nil {
		return nil, err
	}
	if err := r.loadNormalize(f); err != nil {
		return nil, err
	}
	if err := r.loadFills(f); err != nil {
		return nil, err
	}
	if err := r.assemble(r.Config.Classes, d, func() error {
		r.loadTargets()
		return nil
	}); err != nil {
		return nil, err
	}
	if err := nn.LoadStateDict(r.Model, under(f, "model/")); err != nil {
		return nil, err
	}
	if err := r.loadOptimizer(f); err != nil {
		return nil, err
	}
	if err := r.loadScaler(f); err != nil {
		return nil, err
	}
	if err := r.loadEMA(f); err != nil {
		return nil, err
	}
	if err := r.metrics.load(f); err != nil {
		return nil, err
	}
	for prefix, part := range r.statefulParts() {
		if err := part.Load(under(f, prefix)); err != nil {
			return nil, err
		}
	}
	if err := r.loadHooks(f); err != nil {
		return nil, err
	}
	if err := r.placeInput(); err != nil {
		return nil, err
	}
	return r, r.loadHistory(f)
}

// bytesOf returns the number of bytes of all arrays, or the largest int.
func bytesOf(entries []serialize.Entry) int {
	n := 0
	for _, e := range entries {
		n += min(math.MaxInt-n, min(e.Array.Len(), math.MaxInt/e.Array.Type.Size())*e.Array.Type.Size())
	}
	return n
}

// ReadConfig returns the configuration of the named run file. It reads no arrays.
func ReadConfig(name string) (Config, error) {
	f, err := serialize.Open(name)
	if err != nil {
		return Config{}, err
	}
	defer f.Close()
	r := &Run{}
	if err := r.loadMeta(f.Meta(), name); err != nil {
		return Config{}, fmt.Errorf("%s: %w", name, err)
	}
	return r.Config, nil
}

// loadMeta reads the attributes of the named run file.
func (r *Run) loadMeta(meta map[string]string, name string) (err error) {
	if meta[metaConfig] == "" {
		return fmt.Errorf("no %s in the file; it is not a run that h5dnn train wrote: %w", metaConfig, serialize.ErrFormat)
	}
	r.fingerprint = meta[metaData]
	if err := r.compute.parse(meta[metaCompute]); err != nil {
		return err
	}
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
	if schema == 1 {
		return r.loadSchema1(meta)
	}
	if err := json.Unmarshal([]byte(meta[metaInputs]), &r.Inputs); err != nil {
		return fmt.Errorf("%s: %w", metaInputs, err)
	}
	if err := json.Unmarshal([]byte(meta[metaPosition]), &r.Position); err != nil {
		return fmt.Errorf("%s: %w", metaPosition, err)
	}
	if text, ok := meta[metaTargets]; ok {
		if err := json.Unmarshal([]byte(text), &r.targets); err != nil {
			return fmt.Errorf("%s: %w", metaTargets, err)
		}
	}
	if text, ok := meta[metaShapes]; ok {
		if err := json.Unmarshal([]byte(text), &r.targetShapes); err != nil {
			return fmt.Errorf("%s: %w", metaShapes, err)
		}
		if slices.ContainsFunc(slices.Concat(r.targetShapes...), func(n int) bool { return n < 0 }) {
			return fmt.Errorf("%s: %v: %w", metaShapes, r.targetShapes, views.ErrShape)
		}
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
func (r *Run) loadOptimizer(f []serialize.Entry) error {
	state := maps.Collect(under(f, "optimizer/"))
	if r.stripped = len(state) == 0; r.stripped {
		return nil
	}
	return r.Optimizer.Load(nn.Parameters(r.Model), maps.All(state))
}

// CheckOptimizer returns an error if the file of r has no state of the optimizer, without which
// training cannot go on.
func (r *Run) CheckOptimizer() error {
	if r.stripped {
		return fmt.Errorf("the run has no state of its optimizer, as h5dnn strip leaves it, and cannot be trained further; resume the file that it was stripped from: %w", storage.ErrState)
	}
	return nil
}

// loadScaler reads the state of the loss scaler.
func (r *Run) loadScaler(f []serialize.Entry) error {
	if r.scaler == nil {
		return nil
	}
	for _, a := range under(f, scalerName) {
		state, err := storage.Make(storage.CPU, dtype.Float32, r.scaler.Len())
		if err == nil {
			err = a.CopyTo(state)
		}
		if err != nil {
			return fmt.Errorf("%s: %w", scalerName, err)
		}
		if scale := storage.Elements[float32](state)[0]; !(scale > 0) || math.IsInf(float64(scale), 0) {
			return fmt.Errorf("%s: the loss scale is %v; want a positive number: %w", scalerName, scale, serialize.ErrFormat)
		}
		return state.CopyTo(r.scaler.Array)
	}
	return fmt.Errorf("no %s in the file, of a run in fp16: %w", scalerName, serialize.ErrFormat)
}

// loadHooks reads the state of hooks, for when they are known.
func (r *Run) loadHooks(f []serialize.Entry) error {
	r.loadedHooks = map[string]storage.Array{}
	for name, a := range under(f, "hooks/") {
		host, err := a.To(storage.CPU)
		if err != nil {
			return fmt.Errorf("hooks/%s: %w", name, err)
		}
		r.loadedHooks[name] = host
	}
	return nil
}

// checkMeta refuses attributes that no run writes.
func (r *Run) checkMeta(f []serialize.Entry) error {
	c := r.Position
	if c.Epoch < 0 || c.Consumed < 0 || c.Consumed > c.Samples || c.Window < 0 || c.Step > math.MaxInt64 {
		return fmt.Errorf("%s: epoch %d, after %d of %d samples: no run is ever there: %w", metaPosition, c.Epoch, c.Consumed, c.Samples, storage.ErrState)
	}
	model, err := r.Config.build(1, tensor.Meta)
	if err != nil {
		return fmt.Errorf("%s: %w", metaConfig, err)
	}
	stored := 0
	for _, a := range under(f, "model/") {
		stored += a.Len()
	}
	if size := nn.SizeOf(model); size.Params+size.Buffers > stored {
		return fmt.Errorf("%s: layers of %d elements, more than the file has arrays for: %w", metaConfig, size.Params+size.Buffers, storage.ErrState)
	}
	return r.Config.Check()
}

// under returns the arrays of f whose names begin with prefix, without it.
func under(f []serialize.Entry, prefix string) iter.Seq2[string, storage.Array] {
	return func(yield func(string, storage.Array) bool) {
		for _, e := range f {
			if rest, ok := strings.CutPrefix(e.Name, prefix); ok && !yield(rest, e.Array) {
				return
			}
		}
	}
}

// maxEpochs is the longest history that is read.
const maxEpochs = 1 << 20

func (r *Run) loadHistory(f []serialize.Entry) error {
	for name, a := range under(f, "history/") {
		if a.Rank() != 1 || a.Len() > maxEpochs {
			return fmt.Errorf("history/%s is %v; want a number for each epoch: %w", name, a.Shape, storage.ErrState)
		}
		row, err := storage.Make(storage.CPU, dtype.Float64, a.Len())
		if err == nil {
			err = a.CopyTo(row)
		}
		if err != nil {
			return fmt.Errorf("history/%s: %w", name, err)
		}
		r.History[name] = storage.Elements[float64](row)[:a.Len()]
	}
	return nil
}
