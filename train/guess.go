package train

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/h5dnn/h5dnn/dataset"
	"github.com/h5dnn/h5dnn/dataset/dataconfig"
	"github.com/h5dnn/h5dnn/dtype"
	"github.com/h5dnn/h5dnn/nn"
	"github.com/h5dnn/h5dnn/views"
)

// chooseLayout settles the layout of images, unless the configuration has it: as the
// files record it, or as shapes suggest. Only a new run chooses.
func (r *Run) chooseLayout(data *Data) {
	if r.Config.Data.Layout != "" {
		return
	}
	for _, f := range r.Inputs {
		if len(f.Shape) != 3 || nn.SpatialAxes(r.Model, f.Name) != 2 {
			continue
		}
		layout := data.Layouts[f.Name]
		if layout == "" && looksChannelsLast(f.Shape) {
			layout = "nhwc"
			r.assume("layout", "nchw", "%s (%d, %d, %d) are images with their channels last", f.Name, f.Shape[0], f.Shape[1], f.Shape[2])
		}
		if layout == "nhwc" {
			r.Config.Data.Layout = layout
			return
		}
	}
}

// looksChannelsLast reports whether a sample of rank 3 can have 1, 3 or 4 channels on
// its last axis only.
func looksChannelsLast(sample []int) bool {
	channels := []int{1, 3, 4}
	return slices.Contains(channels, sample[2]) && !slices.Contains(channels, sample[0])
}

// adviseLayout names the layout in an error about images of a wrong size.
func (r *Run) adviseLayout(err error) error {
	for _, f := range r.Inputs {
		if len(f.Shape) != 3 || nn.SpatialAxes(r.Model, f.Name) != 2 {
			continue
		}
		have, other := "nchw", "nhwc"
		if f.ChannelsLast {
			have, other = other, have
		}
		text := strings.TrimSuffix(err.Error(), ": "+views.ErrShape.Error())
		return &LayoutError{fmt.Errorf("%s; %s %v are taken as images in the layout %s: %w", text, f.Name, f.Shape, have, views.ErrShape), other}
	}
	return err
}

// assume notes what r assumes of the data, which was not said.
func (r *Run) assume(setting, value, format string, args ...any) {
	r.Assumptions = append(r.Assumptions, Assumption{fmt.Sprintf(format, args...), setting, value})
}

// estimateNormalize replaces automatic normalization by numbers. Columns of tables of
// floats, and of the targets of a regression, are standardized; for other inputs see
// dataconfig.Data.EstimateNormalize.
func (r *Run) estimateNormalize(ctx context.Context, data *Data) error {
	columns, standard := r.measuredColumns(data)
	statistics, err := data.Statistics(ctx, columns, r.Config.loading())
	if err != nil {
		return err
	}
	if err := r.setFills(statistics); err != nil {
		return err
	}
	standardized := map[string]dataconfig.Normalize{}
	for _, name := range slices.Sorted(maps.Keys(statistics)) {
		if !standard[name] {
			continue
		}
		if standardized[name], err = statistics[name].Normalize(); err != nil {
			return err
		}
	}
	r.assumeStandardized(standardized)
	byName, err := r.normalizeInputs(ctx, data, standardized)
	if err != nil {
		return err
	}
	alike := !r.normalizeTargets(standardized, byName) && len(byName) == 1
	if r.Config.Data.Normalize = (dataconfig.Normalize{Fields: byName}); alike {
		for _, only := range byName {
			r.Config.Data.Normalize = only
		}
	}
	return nil
}

// measuredColumns returns the columns whose statistics are needed, by field, and the fields that are standardized by them.
func (r *Run) measuredColumns(data *Data) (columns map[string]dataconfig.Columns, standard map[string]bool) {
	columns, standard = map[string]dataconfig.Columns{}, map[string]bool{}
	for _, f := range r.Inputs {
		n := r.inputColumns(data, f)
		if standard[f.Name] = n > 0; standard[f.Name] {
			columns[f.Name] = dataconfig.Columns{N: n, Inner: 1}
		} else if r.needsMeans(f) {
			columns[f.Name] = r.meanColumns(data, f)
		}
	}
	for i, t := range r.Targets {
		if n, table := data.Columns(t.Name); t.IsAuto() && r.regresses(i) && table {
			columns[t.Name], standard[t.Name] = dataconfig.Columns{N: n, Inner: 1}, true
		}
	}
	return columns, standard
}

// normalizeInputs sets and returns the normalization of each input that is not used as it is; of integers only, the identity under no name.
func (r *Run) normalizeInputs(ctx context.Context, data *Data, standardized map[string]dataconfig.Normalize) (byName map[string]dataconfig.Normalize, err error) {
	byName = map[string]dataconfig.Normalize{}
	for i := range r.Inputs {
		f := &r.Inputs[i]
		if f.asIs {
			continue
		}
		if n, ok := standardized[f.Name]; ok {
			f.Normalize = n
		} else if f.IsAuto() {
			if f.Normalize, err = data.EstimateNormalize(ctx, f.Name, r.Config.loading()); err != nil {
				return nil, fmt.Errorf("normalize: %w", err)
			}
			if len(f.Scale) == 1 && !f.IsIdentity() {
				r.assume("normalize", "none", "%s (%v) is standardized as a whole, (%s − %.4g)/%.4g", f.Name, f.Type, f.Name, -f.Shift[0]/f.Scale[0], 1/f.Scale[0])
			}
		}
		byName[f.Name] = f.Normalize
	}
	if len(byName) == 0 {
		byName[""] = dataconfig.Identity
	}
	return byName, nil
}

// normalizeTargets sets the normalization of each target and adds those that change it to byName; it returns whether any does.
func (r *Run) normalizeTargets(standardized, byName map[string]dataconfig.Normalize) (changed bool) {
	for i := range r.Targets {
		t := &r.Targets[i]
		if n, ok := standardized[t.Name]; ok {
			t.Normalize = n
		} else if t.IsAuto() {
			t.Normalize = dataconfig.Identity
		}
		if t.changes() {
			byName[t.Name], changed = t.Normalize, true
		}
	}
	return changed
}

// inputColumns returns how many columns of an input are standardized; 0 if it is not a
// table of floats, or of integers too large for pixels.
func (r *Run) inputColumns(data *Data, f Feature) int {
	n, table := data.Columns(f.Name)
	measured := f.Type.IsFloat() || f.Type.IsInt() && f.Type.Size() >= dtype.Int32.Size()
	switch {
	case !f.IsAuto() || f.asIs || !table || !measured:
		return 0
	case nn.SpatialAxes(r.Model, f.Name) == 1 && len(f.Shape) == 1: // the steps of one signal
		return 1
	}
	return n
}

// assumeClasses notes the classes whose names were found in the data.
func (r *Run) assumeClasses(given Config) {
	for _, t := range r.Targets {
		if names := r.Config.Data.ClassNames[t.Name]; len(names) > 0 && given.Data.ClassNames[t.Name] == nil {
			r.assume("", "", "the %d classes of %s are %s", len(names), t.Name, someOf(names))
		}
	}
}

// assumeCategories notes the categories that were found in columns of inputs.
func (r *Run) assumeCategories(given Config) {
	var found []string
	for _, path := range slices.Sorted(maps.Keys(r.Config.Data.Categories)) {
		if given.Data.Categories[path] == nil {
			found = append(found, fmt.Sprintf("%s (%s)", path, someOf(r.Config.Data.Categories[path])))
		}
	}
	switch {
	case len(found) == 0:
	case len(given.Data.Categorical.Paths) > 0:
		r.assume("", "", "the categories are %s", strings.Join(found, ", "))
	default:
		r.assume("categorical", "codes", "one-hot encoded are %s", strings.Join(found, ", "))
	}
}

// someOf lists the first names.
func someOf(names []string) string {
	const shown = 5
	more := ""
	if len(names) > shown {
		more = ", …"
	}
	return strings.Join(names[:min(len(names), shown)], ", ") + more
}

// assumePadding notes the inputs with rows of different lengths whose padding is data to the model, which takes no lengths.
func (r *Run) assumePadding(data *Data) {
	takes := func(name string) bool {
		return slices.ContainsFunc(r.Inputs, func(f Feature) bool { return f.Name == name })
	}
	for _, in := range r.Inputs {
		lengths := dataset.Field{}
		for _, f := range data.Train.Fields() {
			if f.Role == dataset.Length && f.LengthOf == in.Name {
				lengths = f
			}
		}
		switch {
		case takes(lengths.Name):
		case lengths.Name != "":
			r.assume("", "", "the padding of %s is data to the model, which does not take %s (h5dnn help lengths)", in.Name, inputName(lengths))
		case data.IsRagged(in.Name):
			r.assume("", "", "the rows of %s are padded with zeros, which are data to the model (h5dnn help lengths)", in.Name)
		}
	}
}

// assumeStandardized notes the fields that are standardized.
func (r *Run) assumeStandardized(standardized map[string]dataconfig.Normalize) {
	if len(standardized) == 0 {
		return
	}
	names := slices.Sorted(maps.Keys(standardized))
	verb := " are"
	if len(names) == 1 {
		verb = " is"
	}
	per := ""
	for _, n := range standardized {
		if len(n.Scale) > 1 {
			per = ", column by column"
		}
	}
	r.assume("normalize", "none", "%s standardized to mean 0 and standard deviation 1%s", strings.Join(names, " and ")+verb, per)
	for _, t := range r.Targets {
		if _, ok := standardized[t.Name]; ok {
			r.assume("", "", "loss is in the units of %s, standardized_loss is what training minimizes", t.Name)
			return
		}
	}
}

// ClassNames returns the names of the classes of the first target, or nil.
func (r *Run) ClassNames() []string {
	if len(r.Targets) == 0 {
		return nil
	}
	return r.Config.Data.ClassNames[r.Targets[0].Name]
}
