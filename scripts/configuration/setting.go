package main

import (
	"encoding/json"
	"fmt"
	"reflect"
	"regexp"
	"strings"

	"github.com/h5dnn/h5dnn/augment"
	"github.com/h5dnn/h5dnn/config"
	"github.com/h5dnn/h5dnn/dataset/dataconfig"
	"github.com/h5dnn/h5dnn/dtype"
	"github.com/h5dnn/h5dnn/nn"
	"github.com/h5dnn/h5dnn/train"
)

// kinds says what the values of types are that are not simply their Go kind.
var kinds = map[reflect.Type]string{
	reflect.TypeFor[nn.Sizes]():                      "integer, or one for each axis",
	reflect.TypeFor[nn.Negated]():                    "true or false",
	reflect.TypeFor[nn.Names]():                      "name or list of names",
	reflect.TypeFor[nn.Nodes]():                      "list of `{name, layer, from}`",
	reflect.TypeFor[nn.Submodule]():                  "layer or list of layers",
	reflect.TypeFor[nn.ScheduleSetting]():            "schedule",
	reflect.TypeFor[nn.InitializerSetting]():         "initializer",
	reflect.TypeFor[[]nn.ParamGroup]():               "list of `{params, lr, weight_decay}`",
	reflect.TypeFor[dtype.Type]():                    "element type",
	reflect.TypeFor[config.Choice]():                 "yes, no or auto",
	reflect.TypeFor[dataconfig.Config]():             "the settings below",
	reflect.TypeFor[dataconfig.Names]():              "name or list of names",
	reflect.TypeFor[dataconfig.Paths]():              "path, or `{name: path}`",
	reflect.TypeFor[dataconfig.Encodings]():          "name, or `{input: name}`",
	reflect.TypeFor[dataconfig.Categories]():         "lists by path",
	reflect.TypeFor[dataconfig.Split]():              "fraction, `attr:NAME`, `column:PATH`, `mask:ROWS`, or the settings of split below",
	reflect.TypeFor[dataconfig.Stratify]():           "true or text",
	reflect.TypeFor[dataconfig.Normalize]():          "`auto`, `none`, `MEAN/STD`, `{mean, std}` or `{scale, shift}`, or one of these by input",
	reflect.TypeFor[dataconfig.Missing]():            "`error`, `mean`, `previous`, a number or `ignore`, or one of these by input and target",
	reflect.TypeFor[dataconfig.ClassNames]():         "list of names, or lists by target",
	reflect.TypeFor[train.Initial]():                 "file, or the settings of initial below",
	reflect.TypeFor[map[string]train.TargetConfig](): "the settings of targets below, by target",
	reflect.TypeFor[augment.Range]():                 "number, or `[lowest, highest]`",
	reflect.TypeFor[map[string]augment.Kind]():       "name by field",
	reflect.TypeFor[map[string]any]():                "value by name",
	reflect.TypeFor[train.Interval]():                "duration, number of steps or `epoch`",
}

// kind says what the values of t are.
func kind(t reflect.Type) string {
	if name, ok := kinds[t]; ok {
		return name
	}
	switch t.Kind() {
	case reflect.Pointer:
		return kind(t.Elem())
	case reflect.Bool:
		return "true or false"
	case reflect.Int, reflect.Int64, reflect.Uint64:
		return "integer"
	case reflect.Float64:
		return "number"
	case reflect.String:
		return "text"
	case reflect.Slice:
		return "list of " + strings.TrimSuffix(kind(t.Elem()), "s") + "s"
	case reflect.Interface:
		return "name or settings"
	}
	panic(fmt.Sprintf("configuration: %v needs a line in kinds", t))
}

// A setting is a field of a struct, as a configuration has it.
type setting struct {
	name, kind, byDefault, comment string
}

// inComment matches what a comment says of the value of a setting that is left out.
var inComment = regexp.MustCompile(`(?:^|; )([^;(]+?),? if (?:0|nil|empty|absent)( for \w+)?$`)

// orEmpty matches the default among the values that a comment lists.
var orEmpty = regexp.MustCompile(`(\w+) \(or empty\)`)

// newSetting describes a field by its type, its default value and its comment.
func newSetting(name string, value reflect.Value, comment string) setting {
	s := setting{name: name, kind: kind(value.Type()), comment: comment}
	if m := inComment.FindStringSubmatchIndex(comment); m != nil {
		s.comment = comment[:m[0]]
		if m[4] < 0 { // of all that have these settings
			s.byDefault = comment[m[2]:m[3]]
		}
	}
	if m := orEmpty.FindStringSubmatch(comment); m != nil {
		s.byDefault, s.comment = m[1], strings.Replace(comment, m[0], m[1], 1)
	}
	if rest, ok := strings.CutPrefix(s.comment, "required"); ok {
		s.byDefault, s.comment = "required", strings.TrimPrefix(rest, ": ")
	} else if rest, ok := strings.CutSuffix(s.comment, "; required"); ok {
		s.byDefault, s.comment = "required", rest
	}
	switch {
	case value.Type() == reflect.TypeFor[nn.Negated]():
		s.byDefault = fmt.Sprint(!value.Bool())
	case !value.IsZero() && value.Kind() != reflect.Struct:
		text, err := json.Marshal(value.Interface())
		if err != nil {
			panic(err) // a default that no configuration could have
		}
		s.byDefault = strings.Trim(string(text), `"`)
	}
	if s.byDefault != "" && s.byDefault != "required" {
		s.byDefault = "default " + strings.Trim(s.byDefault, `"`)
	}
	return s
}

// String is the line of s in a list.
func (s setting) String() string {
	text := fmt.Sprintf("- `%s` (%s", s.name, s.kind)
	if s.byDefault != "" {
		text += ", " + s.byDefault
	}
	text += ")"
	if s.comment != "" {
		text += ": " + s.comment
	}
	return text
}
