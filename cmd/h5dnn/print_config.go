//go:build cgo

package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"reflect"
	"regexp"
	"slices"
	"strings"

	"github.com/urfave/cli/v2"

	"github.com/h5dnn/h5dnn/config"
	"github.com/h5dnn/h5dnn/nn"
	"github.com/h5dnn/h5dnn/propose"
	"github.com/h5dnn/h5dnn/storage"
	"github.com/h5dnn/h5dnn/train"
)

// printConfig prints all settings of the run that c describes, as YAML that train reads, each with its origin: a
// flag, a line of the configuration, the data, or the default.
func printConfig(c *cli.Context) error {
	if from := c.String("resume"); from != "" {
		return fmt.Errorf("--print-config prints the settings of new runs; h5dnn inspect %s prints those that a run has", shellWord(from))
	}
	given, data, device, err := describedRun(c)
	if err != nil {
		return err
	}
	defer data.Close()
	run, err := train.New(c.Context, given, data.Data, device)
	if err != nil {
		return err
	}
	p := configPrinter{c: c, name: c.Args().First(), given: given, assumptions: run.Assumptions, first: map[string]string{}}
	if p.name != "" {
		text, err := readConfig(c.Context, p.name)
		if err != nil {
			return err
		}
		if p.lines, err = config.ParseYAML(text); err == nil {
			err = p.lines.Decode(&p.read)
		}
		if err != nil {
			return err
		}
	}
	p.text.WriteString("# All settings with their origins. Paths are relative to the folder where this was printed.\n")
	p.settings(reflect.ValueOf(run.Config), nil, "train settings", "")
	text := p.text.String()
	if err := sameConfig(text, run.Config); err != nil {
		return err
	}
	if shown := storage.WithoutSecrets(text); shown != text { // others read it
		text = "# Secrets in URLs are left out.\n" + shown
	}
	_, err = io.WriteString(c.App.Writer, text)
	return err
}

// describedRun returns the settings of a new run that c describes, its data and its device.
func describedRun(c *cli.Context) (given train.Config, data *trainingData, device storage.Device, err error) {
	if given, err = configOf(c); err != nil {
		return given, nil, nil, err
	}
	if device, err = compute(given); err != nil {
		return given, nil, nil, err
	}
	data, err = openData(c.Context, given)
	return given, data, device, err
}

// sameConfig returns an error unless text is read as these settings.
func sameConfig(text string, settings train.Config) error {
	again, err := train.ParseConfig([]byte(text))
	if err != nil {
		return fmt.Errorf("a configuration cannot hold the settings of this run: %w", err)
	}
	got, err1 := json.Marshal(inFull(reflect.ValueOf(again)))
	want, err2 := json.Marshal(inFull(reflect.ValueOf(settings)))
	if err := errors.Join(err1, err2); err != nil || bytes.Equal(got, want) {
		return err
	}
	return errors.New("the settings that were to be printed are read as others, which is a fault of h5dnn; train, and h5dnn inspect prints the settings of the run")
}

// inFull returns the fields of a struct by name, losses and the like with all of their settings.
func inFull(s reflect.Value) map[string]any {
	all := map[string]any{}
	for i := range s.NumField() {
		name, _, _ := strings.Cut(s.Type().Field(i).Tag.Get("json"), ",")
		if name == "" {
			continue
		}
		value := s.Field(i).Interface()
		switch v := value.(type) {
		case map[string]train.TargetConfig:
			targets := map[string]any{}
			for target, c := range v {
				targets[target] = inFull(reflect.ValueOf(c))
			}
			value = targets
		case []any:
			list := make([]any, len(v))
			for k, one := range v {
				list[k] = described(name, one)
			}
			value = list
		default:
			value = described(name, v)
		}
		all[name] = value
	}
	return all
}

// described returns the description of a loss and the like with all settings, and other values as they are.
func described(kind string, description any) any {
	if describers[kind] == nil {
		return description
	}
	if _, all, err := describers[kind](description); err == nil {
		return all
	}
	return description
}

// A configPrinter writes settings with their origins.
type configPrinter struct {
	c           *cli.Context
	text        strings.Builder
	name        string           // of the configuration; "" if flags alone describe the run
	lines       *config.Document // of the configuration
	read        any              // its settings
	given       train.Config     // before the data were read
	assumptions []train.Assumption
	first       map[string]string // the first setting of each, by path, which a value in the place of all stands for
}

// settings writes the fields of a struct, which are at path, and explained in a section of docs/configuration.md.
func (p *configPrinter) settings(s reflect.Value, path []any, section, indent string) {
	for i := range s.NumField() {
		f, value := s.Type().Field(i), s.Field(i)
		name, _, _ := strings.Cut(f.Tag.Get("json"), ",")
		if f.Anonymous && f.Type.Kind() == reflect.Struct {
			p.settings(value, path, section, indent)
		} else if name != "" && name != "-" {
			if at := fmt.Sprint(path); p.first[at] == "" && len(path) > 0 {
				p.first[at] = name
			}
			p.setting(name, value, below(path, name), section, indent)
		}
	}
}

func below(path []any, step any) []any { return append(slices.Clip(path), step) }

// setting writes one setting. One that is left out by default is a comment.
func (p *configPrinter) setting(name string, value reflect.Value, path []any, section, indent string) {
	key, origin := indent+propose.Quoted(name)+":", p.origin(path, value)
	switch {
	case isAbsent(value):
		fmt.Fprintf(&p.text, "%s# %s:   # default%s\n", indent, name, defaultOf(section, name))
	case name == "data" && len(path) == 1:
		fmt.Fprintf(&p.text, "%s\n", key)
		p.settings(value, path, "data", indent+"  ")
	case name == "targets":
		fmt.Fprintf(&p.text, "%s   # %s\n", key, origin)
		for _, target := range slices.Sorted(maps.Keys(p.given.Targets)) {
			fmt.Fprintf(&p.text, "%s  %s:\n", indent, propose.Quoted(target))
			p.settings(value.MapIndex(reflect.ValueOf(target)), below(path, target), "targets", indent+"    ")
		}
	case name == "metrics" || name == "callbacks":
		fmt.Fprintf(&p.text, "%s   # %s\n", key, origin)
		for i, one := range value.Interface().([]any) {
			p.described(name, one, below(path, config.Item{Kind: "item", Index: i}), indent+"  -", "", indent+"      ")
		}
	case describers[name] != nil:
		p.described(name, value.Interface(), path, key, "   # "+origin, indent+"    ")
	default:
		text := yamlOf(value.Interface(), indent+"  ")
		if byDefault := defaultOf(section, name); origin == "default" && byDefault != ":"+text {
			origin += byDefault
		}
		first, rest, _ := strings.Cut(text, "\n")
		fmt.Fprintf(&p.text, "%s%s   # %s\n", key, first, origin)
		if rest != "" {
			fmt.Fprintln(&p.text, rest)
		}
	}
}

// isAbsent reports whether a setting is left out, by its value. Zeros of numbers and bools are written.
func isAbsent(v reflect.Value) bool {
	_, special := v.Interface().(json.Marshaler)
	switch isNumber := v.CanInt() || v.CanUint() || v.CanFloat() || v.Kind() == reflect.Bool; {
	case isNumber && !special:
		return false
	case v.Kind() == reflect.Map || v.Kind() == reflect.Slice:
		return v.Len() == 0
	}
	return v.IsZero()
}

// describers build what settings describe by a name and settings of its own, and name it.
var describers = map[string]func(description any) (made, described any, err error){
	"loss":      describer(nn.LossFromConfig, nn.DescribeLoss),
	"optimizer": describer(nn.OptimizerFromConfig, nn.DescribeOptimizer),
	"schedule":  describer(nn.ScheduleFromConfig, nn.DescribeSchedule),
	"metrics":   describer(nn.MetricFromConfig, nn.DescribeMetric),
	"callbacks": describer(train.CallbackFromConfig, train.DescribeCallback),
}

func describer[T any](build func(any) (T, error), describe func(T) (any, error)) func(any) (any, any, error) {
	return func(description any) (any, any, error) {
		made, err := build(description)
		if err != nil {
			return nil, nil, err
		}
		described, err := describe(made)
		return made, described, err
	}
}

// described writes a loss, an optimizer and so on, which begins by a key or the dash of a list: its name, and its
// settings below.
func (p *configPrinter) described(kind string, description any, path []any, begin, comment, indent string) {
	made, described, err := describers[kind](description)
	name, _ := described.(string)
	if named, ok := described.(map[string]any); ok {
		for name = range named {
		}
	}
	own := nn.Settings(made)
	if err != nil || own == nil {
		fmt.Fprintf(&p.text, "%s%s%s\n", begin, yamlOf(description, indent), comment)
		return
	}
	settings := reflect.Indirect(reflect.ValueOf(own))
	switch {
	case settings.Kind() != reflect.Struct || settings.NumField() == 0:
		fmt.Fprintf(&p.text, "%s %s%s\n", begin, name, comment)
		return
	case comment == "": // of a list
		fmt.Fprintf(&p.text, "%s %s:\n", begin, name)
	default:
		fmt.Fprintf(&p.text, "%s%s\n%s%s:\n", begin, comment, indent[2:], name)
	}
	p.settings(settings, below(path, name), name, indent)
}

// origin says where the setting at path is from, whose value is given.
func (p *configPrinter) origin(path []any, value reflect.Value) string {
	var origins []string
	if flag := p.flag(path); flag != "" {
		origins = append(origins, "--"+flag)
	} else if line := p.line(path); line > 0 {
		origins = append(origins, fmt.Sprintf("%s:%d", p.name, line))
	}
	if why := p.fromData(path, value); why != "" {
		if path[0] == "model" && len(origins) == 0 {
			origins = append(origins, "default")
		}
		origins = append(origins, why)
	}
	if len(origins) == 0 {
		return "default"
	}
	return strings.Join(origins, "; ")
}

// flag returns the flag that sets the setting at path, or "".
func (p *configPrinter) flag(path []any) string {
	name := ""
	switch {
	case len(path) == 1, len(path) == 2 && path[0] == "data":
		name = flagOf(&config.Error{Path: path})
	case len(path) == 3 && path[0] == "optimizer" && path[2] == "lr":
		name = "lr"
	}
	if !p.c.IsSet(name) {
		return ""
	}
	return name
}

// fromData says what the data changed of a setting, or "".
func (p *configPrinter) fromData(path []any, value reflect.Value) string {
	given := reflect.ValueOf(p.given)
	switch {
	case len(path) == 2 && path[0] == "data":
		given = given.FieldByName("Data")
	case len(path) > 1 || path[0] == "data":
		return ""
	}
	name := fmt.Sprint(path[len(path)-1])
	for i := range given.NumField() {
		if tag, _, _ := strings.Cut(given.Type().Field(i).Tag.Get("json"), ","); tag == name && reflect.DeepEqual(given.Field(i).Interface(), value.Interface()) {
			return ""
		}
	}
	var why []string
	for _, a := range p.assumptions {
		if a.Setting == name {
			why = append(why, "assumed: "+a.Text)
		}
	}
	switch {
	case isAbsent(value):
		return ""
	case len(why) > 0:
		return strings.Join(why, "; ")
	case name == "model":
		return "with all settings, and sizes from the data"
	}
	return "from the data"
}

// line returns the line of the setting at path in the configuration, or 0. Names may be spelt otherwise there, and
// the first setting stands in the place of all: {adam: 0.1}.
func (p *configPrinter) line(path []any) int {
	value, there := p.read, []any{}
	for i, step := range path {
		settings, several := value.(map[string]any)
		switch inside, has := settings[fmt.Sprint(step)]; {
		case has:
			value, there = inside, append(there, step)
		case several && len(settings) == 1 && i > 0 && p.first[fmt.Sprint(path[:i])] == "": // a name
			for spelt, inside := range settings {
				value, there = inside, append(there, spelt)
			}
		case several && settings["betas"] != nil && (step == "beta1" || step == "beta2"):
			return p.lines.Line(append(there, "betas")...)
		case !several && value != nil && i == len(path)-1 && p.first[fmt.Sprint(path[:i])] == step:
			return p.lines.Line(there...)
		default:
			item, ok := step.(config.Item)
			list, isList := value.([]any)
			if !ok || !isList || item.Index >= len(list) {
				return 0
			}
			value, there = list[item.Index], append(there, step)
		}
	}
	if p.lines == nil {
		return 0
	}
	return p.lines.Line(there...)
}

// inPage matches the default of a setting in docs/configuration.md.
var inPage = regexp.MustCompile("(?m)^- `([a-z0-9_]+)` \\(.*?default ([^)]*)\\)")

// defaultOf returns the default of a setting as a section of docs/configuration.md words it, after a colon, or "".
func defaultOf(section, setting string) string {
	for _, page := range configurationPages() {
		_, list, _ := strings.Cut(page.text, "\n- ")
		list, _, _ = strings.Cut("- "+list, "\n\n") // without sections below
		for _, line := range inPage.FindAllStringSubmatch(list, -1) {
			if page.name == section && line[1] == setting {
				return ": " + line[2]
			}
		}
	}
	return ""
}

// yamlOf returns a value as YAML that follows a colon or a dash: in the same line if it is short, else below it.
func yamlOf(value any, indent string) string {
	text, err := json.Marshal(value)
	decoder := json.NewDecoder(bytes.NewReader(text))
	decoder.UseNumber()
	var plain any
	if err == nil {
		err = decoder.Decode(&plain)
	}
	if err != nil {
		return " null"
	}
	const width = 140
	flow := flowOf(plain)
	if len(flow)+len(indent) <= width {
		return " " + flow
	}
	var b strings.Builder
	switch v := plain.(type) {
	case []any:
		for _, one := range v {
			text := yamlOf(one, indent+"  ")
			fmt.Fprintf(&b, "\n%s- %s", indent, strings.TrimLeft(text, " \n"))
		}
	case map[string]any:
		for _, key := range keysOf(v) {
			fmt.Fprintf(&b, "\n%s%s:%s", indent, propose.Quoted(key), yamlOf(v[key], indent+"  "))
		}
	default:
		return " " + flow
	}
	return b.String()
}

// keysOf returns the keys of an object in order, its name first.
func keysOf(v map[string]any) []string {
	keys := slices.Sorted(maps.Keys(v))
	if i := slices.Index(keys, "name"); i > 0 {
		keys = slices.Insert(slices.Delete(keys, i, i+1), 0, "name")
	}
	return keys
}

// flowOf returns a value of JSON as YAML in one line.
func flowOf(value any) string {
	switch v := value.(type) {
	case []any:
		list := make([]string, len(v))
		for i, one := range v {
			list[i] = flowOf(one)
		}
		return "[" + strings.Join(list, ", ") + "]"
	case map[string]any:
		var list []string
		for _, key := range keysOf(v) {
			list = append(list, propose.Quoted(key)+": "+flowOf(v[key]))
		}
		return "{" + strings.Join(list, ", ") + "}"
	case string:
		return quotedValue(v)
	}
	return fmt.Sprint(value)
}

// plainText matches texts that YAML takes as they are.
var plainText = regexp.MustCompile(`^(\.\.?/)*[A-Za-z_/][A-Za-z0-9_/.-]*$`)

// quotedValue returns a text in quotes, unless it is a plain name.
func quotedValue(text string) string {
	if plainText.MatchString(text) && !slices.Contains([]string{"y", "n", "yes", "no", "on", "off", "true", "false", "null"}, strings.ToLower(text)) {
		return text
	}
	quoted, err := json.Marshal(text)
	if err != nil {
		return "null"
	}
	return string(quoted)
}
