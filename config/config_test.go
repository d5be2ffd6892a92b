package config_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"reflect"
	"strings"
	"testing"

	"github.com/h5dnn/h5dnn/config"
)

// Data and Training are what the tests configure.
type Data struct {
	File   string `json:"file"`
	Window int    `json:"window"`
}

type Training struct {
	Data   Data             `json:"data"`
	Epochs int              `json:"epochs"`
	Rate   float64          `json:"rate"`
	Model  []map[string]any `json:"model"`
	Skip   string           `json:"-"`
}

func Example() {
	doc, err := config.ParseYAML([]byte("data: {file: demo.h5}\nepoch: 3\n"))
	if err != nil {
		panic(err)
	}
	settings := Training{Epochs: 10} // the defaults
	fmt.Println(doc.Decode(&settings))
	// Output: 2:1: epoch: no such setting; did you mean epochs?
}

func TestDecode(t *testing.T) {
	got := Training{Epochs: 10, Rate: 0.5}
	doc, err := config.ParseYAML([]byte("data:\n  window: 4\nrate: 1e-3\nmodel: [{dense: 3}]\n"))
	if err != nil {
		t.Fatal(err)
	}
	if err := doc.Decode(&got); err != nil {
		t.Fatal(err)
	}
	want := Training{Data{"", 4}, 10, 1e-3, []map[string]any{{"dense": 3.0}}, ""}
	if !reflect.DeepEqual(got, want) {
		t.Errorf("got %+v, want %+v", got, want)
	}
	var list struct {
		All []any `json:"all"`
	}
	for _, text := range []string{`{"all": "f1"}`, `{"all": ["f1"]}`} {
		if err := config.Decode(json.RawMessage(text), &list); err != nil || !reflect.DeepEqual(list.All, []any{"f1"}) {
			t.Errorf("%s: %v, %v; want a list of one", text, list.All, err)
		}
	}
	var embeds struct {
		Data
		Size int `json:"size"`
	}
	if err := config.Decode(json.RawMessage(`{"window": 3, "size": 2}`), &embeds); err != nil || embeds.Window != 3 || embeds.Size != 2 {
		t.Errorf("an embedded struct: %+v, %v; want its fields as settings", embeds, err)
	}
	var d Data
	if err := config.Decode(json.RawMessage(`"demo.h5"`), &d); err != nil || d.File != "demo.h5" {
		t.Errorf("a single value: %+v, %v; want it as the first field", d, err)
	}
}

// TestDecodeStructsByName decodes each of them strictly, a single value as the first field.
func TestDecodeStructsByName(t *testing.T) {
	var got struct {
		Sets map[string]Data `json:"sets"`
	}
	if err := config.Decode(json.RawMessage(`{"sets": {"a": {"window": 3}, "b": "demo.h5"}}`), &got); err != nil || !reflect.DeepEqual(got.Sets, map[string]Data{"a": {Window: 3}, "b": {File: "demo.h5"}}) {
		t.Errorf("got %+v, %v", got, err)
	}
	for text, want := range map[string]string{`{"sets": {"a": {"widow": 3}}}`: "sets: a: widow: no such setting; did you mean window?", `{"sets": [1]}`: "sets: cannot be [1]; want names and their values"} {
		if err := config.Decode(json.RawMessage(text), &got); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: error %v, want %q", text, err, want)
		}
	}
}

func TestErrorsGivePositionsAndSuggestions(t *testing.T) {
	for text, want := range map[string]string{
		"epoch: 1":                          "1:1: epoch: no such setting; did you mean epochs?",
		"epochs: 1\nxyz: 1":                 "2:1: xyz: no such setting; known are data, epochs, model, rate",
		"data:\n  widow: 1":                 "2:3: data: widow: no such setting; did you mean window?",
		"data:\n  file: a\n  window: wide":  "3:3: data: window: cannot be \"wide\"; want an integer",
		"epochs: many":                      "1:1: epochs: cannot be \"many\"; want an integer",
		"epochs: 1.5":                       "1:1: epochs: cannot be 1.5; want an integer",
		"EPOCHS: 1":                         "1:1: EPOCHS: no such setting; did you mean epochs?",
		"Skip: a":                           "1:1: Skip: no such setting; known are data, epochs, model, rate",
		"epochs: 1\n---\nepochs: 2":         "2 documents; want one",
		"data: &a {file: x}":                "1:7: a YAML anchor is not understood here; write the value out",
		"epochs: [1":                        "sequence end token ']' not found",
		"rate: " + strings.Repeat("1", 5e3): "line 1 has 5006 bytes; want at most 4096",
	} {
		var got Training
		doc, err := config.ParseYAML([]byte(text))
		if err == nil {
			err = doc.Decode(&got)
		}
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%.40q: error %v, want %q", text, err, want)
		}
	}
	err := config.At(config.Errorf("is bad"), "model", config.Item{Kind: "layer", Index: 3}, "dense")
	if got := err.Error(); got != "model: layer 3: dense: is bad" || !errors.Is(err, config.ErrInvalid) {
		t.Errorf("%v", err)
	}
}

// TestLinesOfSettings: the line of a setting is the one of its name, or of its item in a list.
func TestLinesOfSettings(t *testing.T) {
	doc, err := config.ParseYAML([]byte("a: 1\nb:\n  c: {d: 2}\nlist:\n  - x\n  - {y: 3}\n"))
	if err != nil {
		t.Fatal(err)
	}
	item := config.Item{Kind: "item", Index: 1}
	for _, c := range []struct {
		path []any
		want int
	}{
		{[]any{"a"}, 1}, {[]any{"b"}, 2}, {[]any{"b", "c", "d"}, 3}, {[]any{"list", item}, 6}, {[]any{"list", item, "y"}, 6},
		{[]any{"c"}, 0}, {[]any{"a", "c"}, 0}, {[]any{"list", config.Item{Kind: "item", Index: 2}}, 0}, {[]any{"b", "d"}, 0},
	} {
		if got := doc.Line(c.path...); got != c.want {
			t.Errorf("%v: line %d; want %d", c.path, got, c.want)
		}
	}
}
