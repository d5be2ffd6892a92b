// Package dataconfig says which arrays of which files are the samples to train and
// validate on, and makes datasets of them.
//
// It knows names: paths with wildcards, filters of rows, splits, the roles of
// arrays. Opening files belongs to the caller ([Files]), loading batches to package
// dataset, and what a model makes of its inputs to package train.
package dataconfig

import (
	"cmp"
	"maps"
	"math"
	"slices"

	"github.com/h5dnn/h5dnn/config"
	"github.com/h5dnn/h5dnn/dataset"
)

// A Config says where samples are and how they become a model's inputs.
//
// Files are named one by one or by patterns (demo_*.h5), and read one after the
// other. Paths may have stars as well: data/*/obs/pose is the inputs of many
// episodes, and a star in any other path stands for what the first input's did.
//
// X and Y are one path each, or several with names: a model of several inputs or
// targets knows them by these. The fields of a sample are the inputs, the targets,
// the weights and the lengths, in this order, several by name.
type Config struct {
	File        Names         `json:"file"`                  // required: names or patterns (demo_*.h5)
	Format      string        `json:"format,omitempty"`      // of all files, such as netcdf where packed numbers of a plain HDF5 file are to be unpacked; by content if empty
	YFile       Names         `json:"y_file,omitempty"`      // of Y and Weights, as many as of X; File if empty
	X           Paths         `json:"x"`                     // required: inputs; a list of paths in the place of one names the columns of one input
	Y           Paths         `json:"y"`                     // required: targets
	Weights     string        `json:"weights,omitempty"`     // how much each sample counts in the loss and the metrics
	Lengths     Paths         `json:"lengths,omitempty"`     // how many rows of each sample of an input are data: a path, or auto where rows have different lengths
	XOffsets    Paths         `json:"x_offsets,omitempty"`   // where X is cut into rows of different lengths, as an indptr
	XColumns    Paths         `json:"x_columns,omitempty"`   // of a sparse matrix (CSR): the column of each element of X
	CSR         Names         `json:"csr,omitempty"`         // inputs whose batches are sparse matrices, of a group of CSR or of XOffsets and XColumns; for loaders in Python, not for models
	Genes       Names         `json:"genes,omitempty"`       // columns of X, raw/X and layers of AnnData by their names in var: union or intersection of the genes of all files, or a list; missing ones are 0. The same in all files, in one order, if absent
	Length      int           `json:"length,omitempty"`      // to which rows of different lengths are cut or padded; the longest if 0
	Steps       int           `json:"steps,omitempty"`       // neighbouring rows that make one sample; 1 if 0
	Frames      Paths         `json:"frames,omitempty"`      // rows of a window that an input has, such as ::5 for every fifth; all if absent
	Images      Paths         `json:"images,omitempty"`      // rgb or gray: rows of an input are PNG or JPEG files, and decoded to rows of pixels
	Episodes    string        `json:"episodes,omitempty"`    // integers or strings that the rows of an episode share, lengths of episodes, or the rows where they begin; windows stay within one
	PadBefore   int           `json:"pad_before,omitempty"`  // rows before an episode's first with which windows begin, copies of it
	PadAfter    int           `json:"pad_after,omitempty"`   // rows after an episode's last with which windows end, copies of it
	YSteps      int           `json:"y_steps,omitempty"`     // the last of them that are targets; all, or 1 with YAhead, if 0
	YAhead      *int          `json:"y_ahead,omitempty"`     // rows from the last input to the first target: 1 forecasts the next row; 0, for rows of the window, is to be written where a dataset is input and target
	Rows        Names         `json:"rows,omitempty"`        // filters, all of which a row must pass: [slice], PATH of a mask or list, PATH==VALUE, PATH in [A, B]; all rows if empty
	ValFile     Names         `json:"val_file,omitempty"`    // File if empty
	ValYFile    Names         `json:"val_y_file,omitempty"`  // ValFile if empty
	ValX        Paths         `json:"val_x,omitempty"`       // inputs to validate on
	ValY        Paths         `json:"val_y,omitempty"`       // targets to validate on
	ValRows     Names         `json:"val_rows,omitempty"`    // as Rows
	ValWeights  string        `json:"val_weights,omitempty"` // as Weights
	ValLengths  Paths         `json:"val_lengths,omitempty"` // as Lengths
	Split       Split         `json:"split,omitzero"`        // samples to validate on, instead of ValX and ValY
	OneHot      bool          `json:"one_hot,omitempty"`     // compare outputs with the one-hot encoding of the labels in Y
	ClassNames  ClassNames    `json:"class_names,omitempty"` // names of classes, in the order of their numbers; names that are integers are the labels themselves; from the labels if absent
	Categorical Encodings     `json:"categorical,omitzero"`  // how columns of strings, enums and categories in X become numbers: one_hot, codes (integers), or values (as the file has them), or one of these by input; one_hot if absent
	Categories  Categories    `json:"categories,omitempty"`  // names of the categories of such columns, by path, in the order of their codes; from the data if absent
	Unknown     *int          `json:"unknown,omitempty"`     // code of values that are not in Categories, such as -1 for a row of zeros where one_hot; an error if absent
	Normalize   Normalize     `json:"normalize"`             // of inputs, and of the targets of a regression; auto if absent
	Missing     Missing       `json:"missing,omitzero"`      // missing values, NaN: of inputs filled with the mean of the training samples, the value of the previous row or a number; targets are left out of the loss by ignore; error if absent
	Layout      string        `json:"layout,omitempty"`      // of images: nchw or nhwc; as the file records it, or as shapes suggest, if empty
	Shuffle     string        `json:"shuffle,omitempty"`     // auto (or empty), exact, window or none
	Window      int           `json:"window,omitempty"`      // chunks in the shuffle buffer; chosen from the chunk size if 0
	Resident    config.Choice `json:"resident,omitempty"`    // whether all samples stay on a GPU
	Memory      int64         `json:"memory_mb,omitempty"`   // limit for loading, in MiB, a quarter for validation; 512 for each if 0; a shuffle by window then keeps at most 96 of decoded samples
}

// UnmarshalJSON reads a Config and refuses unknown settings.
func (c *Config) UnmarshalJSON(text []byte) error {
	type plain Config
	return config.Decode(text, (*plain)(c))
}

// Check returns the first setting of c that cannot be, as a *config.Error.
func (c Config) Check() error {
	if len(c.File) > 0 && len(c.X) > 0 && len(c.Y) == 0 {
		return wrong("name the dataset of targets (labels)", "y")
	}
	if len(c.CSR) > 0 {
		return wrong("models take dense rows; leave it out", "csr")
	}
	return c.CheckSamples()
}

// CheckSamples is Check for samples that need no targets.
func (c Config) CheckSamples() error {
	return cmp.Or(c.checkPaths(), c.checkValidation(), c.checkWindows(), c.checkRagged(), c.checkLoading(), c.checkNames(), c.checkCategories(), c.checkGenes(), c.checkMissing(), c.checkRows())
}

// checkPaths reports paths that are not there, and lists of columns where there are none.
func (c Config) checkPaths() error {
	single := slices.Concat(c.Y, c.ValY, c.Lengths, c.XOffsets, c.XColumns, c.Frames, c.Images, c.Categorical.Paths).several()
	switch {
	case len(c.File) == 0 || c.File[0] == "":
		return wrong("name the file of samples", "file")
	case len(c.X) == 0:
		return wrong("name the dataset of inputs", "x")
	case single != nil:
		return wrong("%v; only x takes lists of columns", single.columns(), "y")
	case slices.ContainsFunc(c.Images, func(p NamedPath) bool { return channels[p.Path] == 0 }):
		return wrong("want rgb or gray", "images")
	}
	return nil
}

// checkValidation reports samples to validate on that are not as those to train on.
func (c Config) checkValidation() error {
	switch {
	case (len(c.ValX) == 0) != (len(c.ValY) == 0):
		return wrong("val_x and val_y go together; name both or neither")
	case len(c.ValX) > 0 && (!slices.Equal(c.ValX.names("x"), c.X.names("x")) || !slices.Equal(c.ValY.names("y"), c.Y.names("y"))):
		return wrong("val_x and val_y have other names than x and y", "val_x")
	case len(c.ValRows) > 0 && len(c.ValX) == 0:
		return wrong("select rows of val_x, which is not named; split: mask:ROWS selects rows of x", "val_rows")
	case c.Split != (Split{}) && len(c.ValX) > 0:
		return wrong("there is val_x too; validate on one or the other", "split")
	case c.Split.By == "rows" && c.span() > 1:
		return config.At(wrong("windows of several rows would be on both sides; leave by out", "by"), "split")
	case c.Split.Stratify == stratifyTargets && len(c.Y) > 1:
		return config.At(wrong("there are several targets; name the dataset of labels", "stratify"), "split")
	}
	if err := c.Split.check(); err != nil {
		return config.At(err, "split")
	}
	return nil
}

// checkWindows reports settings of windows that cannot be.
func (c Config) checkWindows() error {
	switch {
	case c.Steps < 0:
		return wrong("cannot be negative", "steps")
	case c.ahead() < 0:
		return wrong("cannot be negative", "y_ahead")
	case c.YSteps < 0 || c.YSteps > max(1, c.Steps) && c.ahead() == 0:
		return wrong("want at most as many as steps; y_ahead: 1 forecasts rows after them", "y_steps")
	case c.Steps < 2 && len(c.Frames) > 0:
		return wrong("frames are rows of a window; set steps", "frames")
	case c.PadBefore < 0 || c.PadBefore > c.span()-1:
		return wrong("want from 0 to %d rows, one less than the steps of a window", c.span()-1, "pad_before")
	case c.PadAfter < 0 || c.PadAfter > c.span()-1:
		return wrong("want from 0 to %d rows, one less than the steps of a window", c.span()-1, "pad_after")
	case c.span() < 2 && c.Episodes != "":
		return wrong("windows stay within an episode; set steps", "episodes")
	}
	return nil
}

// checkRagged reports settings of rows of different lengths, and of sparse rows, that cannot be.
func (c Config) checkRagged() error {
	switch {
	case c.X.several() != nil && len(c.XOffsets)+len(c.Lengths) > 0:
		return wrong("rows of different lengths are no columns of an input; name two inputs", "x")
	case c.Steps > 1 && len(c.Lengths) > 0:
		return wrong("rows of different lengths cannot be windows of several steps too", "lengths")
	case c.Length < 0:
		return wrong("cannot be negative", "length")
	case len(c.CSR) > 0 && c.Steps > 1:
		return wrong("rows of a sparse matrix cannot be windows of several steps too", "csr")
	case len(c.XColumns) > 0 && len(c.XOffsets) == 0:
		return wrong("rows of a sparse matrix need x_offsets too", "x_columns")
	}
	return nil
}

// checkLoading reports settings of how samples are read that cannot be.
func (c Config) checkLoading() error {
	switch {
	case c.Layout != "" && c.Layout != "nchw" && c.Layout != "nhwc":
		return wrong("no layout %q; want nchw or nhwc", c.Layout, "layout")
	case c.Window < 0:
		return wrong("cannot be negative", "window")
	case c.Memory < 0 || c.Memory > math.MaxInt64>>20:
		return wrong("want a number of MiB", "memory_mb")
	}
	if _, err := parseShuffle(c.Shuffle); err != nil {
		return config.At(err, "shuffle")
	}
	return nil
}

// checkRows reports conditions on rows that cannot be read.
func (c Config) checkRows() error {
	for _, text := range slices.Concat(c.Rows, c.ValRows) {
		if _, err := parseFilter(text); err != nil {
			return config.At(err, "rows")
		}
	}
	return nil
}

// checkNames reports names of fields that are given twice, and settings of inputs
// that there are not.
func (c Config) checkNames() error {
	names := append(c.X.names("x"), c.Y.names("y")...)
	for i, name := range names {
		if slices.Contains(names[:i], name) || name == weightsField {
			return wrong("%q names two fields; choose different names", name, "x")
		}
	}
	inputs, targets := names[:len(c.X)], names[len(c.X):]
	for _, name := range c.CSR {
		if !slices.Contains(inputs, name) {
			return config.At(config.Unknown("input", name, inputs), "csr")
		}
	}
	for _, name := range sortedKeys(c.Normalize.Fields) {
		if !slices.Contains(names, name) {
			return config.At(config.Unknown("input or target", name, names), "normalize", name)
		}
	}
	for _, name := range sortedKeys(c.ClassNames) {
		if !slices.Contains(targets, name) {
			return config.At(config.Unknown("target", name, targets), "class_names", name)
		}
		seen := map[string]bool{}
		for _, class := range c.ClassNames[name] {
			if seen[class] {
				return wrong("%q names two classes", class, "class_names")
			}
			seen[class] = true
		}
	}
	for _, s := range []struct {
		name  string
		paths Paths
	}{{"lengths", c.Lengths}, {"x_columns", c.XColumns}, {"x_offsets", c.XOffsets}, {"frames", c.Frames}, {"images", c.Images}, {"categorical", c.Categorical.Paths}} {
		for _, p := range s.paths {
			if p.Name == "" && len(inputs) > 1 && !slices.Contains([]string{"categorical", "frames", "images"}, s.name) {
				return wrong("there are several inputs; name the one that %s is for", p.Path, s.name)
			}
			if p.Name != "" && !slices.Contains(inputs, p.Name) {
				return config.At(config.Unknown("input", p.Name, inputs), s.name, p.Name)
			}
		}
	}
	return nil
}

func sortedKeys[V any](m map[string]V) []string { return slices.Sorted(maps.Keys(m)) }

// wrong returns an error of kind config.ErrInvalid. The last of args is the setting.
func wrong(format string, args ...any) error {
	if len(args) == 0 {
		return config.Errorf("%s", format)
	}
	last := len(args) - 1
	return config.At(config.Errorf(format, args[:last]...), args[last])
}

// starred reports whether the inputs are arrays of many episodes.
func (c Config) starred() bool { return len(c.X) > 0 && wildcard(c.X[0].Path).stars() > 0 }

// WithOldDefaults returns c, of a run file of schema 3 or older, with the defaults of that
// time written out: a random fraction was of the rows of episodes, and targets were rows of
// their windows, and categories in inputs the integers in the file.
func (c Config) WithOldDefaults() Config {
	if c.Split.Fraction > 0 && c.Steps < 2 && c.starred() {
		c.Split.By = "rows"
	}
	if c.Steps > 1 && c.YAhead == nil {
		c.YAhead = new(int)
	}
	if len(c.Categorical.Paths) == 0 {
		c.Categorical.Paths = Path(asStored)
	}
	return c
}

// InputNames returns the names of the inputs' fields, x for a path without a name.
func (c Config) InputNames() []string { return c.X.names("x") }

// TargetNames returns the names of the targets' fields, y for a path without a name.
func (c Config) TargetNames() []string { return c.Y.names("y") }

// Loading returns the options of a loader that c asks for.
func (c Config) Loading(batch int, seed uint64) dataset.Options {
	shuffle, _ := parseShuffle(c.Shuffle) // Check has seen it
	return dataset.Options{BatchSize: batch, Shuffle: shuffle, Window: c.Window, Seed: seed, Memory: c.Memory << 20}
}

func parseShuffle(name string) (dataset.Shuffle, error) {
	if name == "" {
		return dataset.Auto, nil
	}
	s, err := dataset.ParseShuffle(name)
	if err != nil {
		return s, config.Errorf("no shuffle %q; want auto, exact, window or none", name)
	}
	return s, nil
}

// Validation returns c with the samples to validate on in the place of those to
// train on.
func (c Config) Validation() Config {
	if len(c.ValFile) > 0 {
		c.File, c.YFile = c.ValFile, nil
	}
	if len(c.ValYFile) > 0 {
		c.YFile = c.ValYFile
	}
	c.SetX(c.ValX)
	c.Y, c.Rows, c.Weights, c.Lengths = c.ValY, c.ValRows, c.ValWeights, c.ValLengths
	return c
}
