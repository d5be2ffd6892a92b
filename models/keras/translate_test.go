package keras

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"
)

// TestTranslate translates what Keras 3 refuses or reads otherwise in descriptions of Keras 2.
func TestTranslate(t *testing.T) {
	layer := func(class, config string) string {
		return `{"class_name": "Sequential", "config": {"name": "s", "layers": [{"class_name": "` + class + `", "config": {"name": "l"` + config + `}}]}}`
	}
	for _, c := range []struct{ name, text, has, lacks string }{
		{"recurrent", layer("LSTM", `, "time_major": false`), `"LSTM"`, "time_major"},
		{"time first", layer("LSTM", `, "time_major": true`), `"time_major":true`, ""},
		{"in a wrapper", layer("Bidirectional", `, "layer": {"class_name": "GRU", "config": {"name": "g", "time_major": false}}`), `"GRU"`, "time_major"},
		{"old GRU", layer("GRU", `, "units": 2`), `"reset_after":false`, ""},
		{"GRU", layer("GRU", `, "units": 2, "reset_after": true`), `"reset_after":true`, ""},
		{"depthwise", layer("DepthwiseConv2D", `, "groups": 1, "kernel_initializer": {}, "padding": "same"`), `"padding":"same"`, "kernel_initializer"},
		{"groups", layer("DepthwiseConv2D", `, "groups": 1`), "", "groups"},
		{"groups of a convolution", layer("Conv2D", `, "groups": 1`), `"groups":1`, ""},
		{"attention", layer("MultiHeadAttention", `, "query_shape": [null, 2], "key_shape": null, "value_shape": null`), "", "_shape"},
		{"axis", layer("BatchNormalization", `, "axis": [3]`), `"axis":3`, ""},
		{"axes", layer("LayerNormalization", `, "axis": [1, 2]`), `"module":"keras.layers"`, ""},
		{"threshold", layer("ThresholdedReLU", `, "theta": 0.4`), `"threshold":0.4`, "ThresholdedReLU"},
		{"policy", layer("Dense", `, "dtype": {"class_name": "Policy", "config": {"name": "mixed_float16"}}`), `"dtype":"mixed_float16"`, "Policy"},
		{"shape of the first layer", layer("Dense", `, "batch_input_shape": [null, 4]`), `{"batch_input_shape":[null,4],"name":"l_input"}`, ""},
		{"model in a Sequential", layer("Functional", `, "layers": [{"class_name": "Dense", "name": "d", "config": {"name": "d"}, "inbound_nodes": []}], "output_layers": [["d", 0, 0]]`), `"output_layers":["d",0,0]`, ""},
		{"floats", layer("BatchNormalization", `, "momentum": 0.0`), `"momentum":0.0`, ""},
	} {
		got, err := Translate(c.text, true)
		if err != nil || !strings.Contains(got, c.has) || c.lacks != "" && strings.Contains(got, c.lacks) {
			t.Errorf("%s: %s (%v); want %s and not %s", c.name, got, err, c.has, c.lacks)
		}
	}
}

// graphOf2 is a graph of Keras 2 with a model that is called once.
func graphOf2(class, inner string) string {
	return `{"class_name": "Functional", "config": {"name": "m", "layers": [
		{"class_name": "InputLayer", "name": "i", "config": {"name": "i", "batch_input_shape": [null, 3]}, "inbound_nodes": []},
		{"class_name": "` + class + `", "name": "inner", "config": ` + inner + `, "inbound_nodes": [[["i", 0, 0, {}]]]},
		{"class_name": "LSTM", "name": "r", "config": {"name": "r"}, "inbound_nodes": [[["inner", 1, 0, {}], ["i", 0, 0, {}]]]}],
		"input_layers": [["i", 0, 0]], "output_layers": [["r", 0, 0], ["inner", 1, 0]]}}`
}

// TestTranslateCalls translates the numbers of calls of models within models.
func TestTranslateCalls(t *testing.T) {
	sequential := `{"name": "inner", "layers": [{"class_name": "InputLayer", "config": {"name": "j", "batch_input_shape": [null, 3]}}, {"class_name": "Dense", "config": {"name": "d", "units": 3}}]}`
	functional := `{"name": "inner", "layers": [{"class_name": "InputLayer", "name": "j", "config": {"name": "j", "batch_input_shape": [null, 3]}, "inbound_nodes": []},
		{"class_name": "Dense", "name": "d", "config": {"name": "d", "units": 3}, "inbound_nodes": [[["j", 0, 0, {}]]]}], "input_layers": [["j", 0, 0]], "output_layers": [["d", 0, 0]]}`
	for _, c := range []struct {
		class, inner   string
		current        bool
		inbound, outer string
	}{
		{"Sequential", sequential, false, `[["inner",0,0,{}],["i",0,0,{}]]`, `["inner",0,0]`},
		{"Sequential", sequential, true, `"keras_history":["inner",0,0]`, `["inner",0,0]`},
		{"Functional", functional, false, `[["inner",1,0,{}],["i",0,0,{}]]`, `["inner",1,0]`},
		{"Functional", functional, true, `"keras_history":["inner",0,0]`, `["inner",1,0]`},
	} {
		got, err := Translate(graphOf2(c.class, c.inner), c.current)
		if err != nil || !strings.Contains(got, c.inbound) || !strings.Contains(got, c.outer) {
			t.Errorf("%s, current %v: %v: %s\nwant %s and %s", c.class, c.current, err, got, c.inbound, c.outer)
		}
		if c.current && !strings.Contains(got, `"kwargs":{"initial_state":[`) {
			t.Errorf("%s: the states are not named: %s", c.class, got)
		}
		m, err := Parse(got)
		if err != nil {
			t.Fatal(err)
		}
		if l := m.Layer("r"); l.Calls[0][0].Node != 0 || m.Outputs[1].Node != 0 || len(l.Calls[0]) != 2 {
			t.Errorf("%s, current %v: the calls are read as %v, outputs %v", c.class, c.current, l.Calls, m.Outputs)
		}
		if !json.Valid([]byte(got)) {
			t.Errorf("not JSON: %s", got)
		}
	}
}

// TestTranslateBack translates the calls of Keras 2 to those of Keras 3 and back: models within
// models, named tensors, states and functions.
func TestTranslateBack(t *testing.T) {
	const inner = `{"name":"inner","layers":[{"class_name":"InputLayer","name":"j","config":{"name":"j","batch_input_shape":[null,3]},"inbound_nodes":[]},` +
		`{"class_name":"Dense","name":"d","config":{"name":"d"},"inbound_nodes":[[["j",0,0,{}]]]},{"class_name":"Dense","name":"e","config":{"name":"e"},"inbound_nodes":[[["d",0,0,{}]]]}],` +
		`"input_layers":[["j",0,0]],"output_layers":[["d",0,0],["e",0,0]]}`
	for _, c := range []struct{ name, layers, outputs string }{
		{"a model of two outputs", `{"class_name":"Functional","name":"inner","config":` + inner + `,"inbound_nodes":[[["i",0,0,{}]]]},
			{"class_name":"Add","name":"l","config":{"name":"l"},"inbound_nodes":[[["inner",1,0,{}],["inner",1,1,{}]]]}`, `[["l",0,0],["inner",1,1]]`},
		{"a model called twice", `{"class_name":"Functional","name":"inner","config":` + inner + `,"inbound_nodes":[[["i",0,0,{}]],[["i",0,0,{}]]]},
			{"class_name":"Add","name":"l","config":{"name":"l"},"inbound_nodes":[[["inner",1,0,{}],["inner",2,0,{}]]]}`, `[["l",0,0]]`},
		{"a model of inputs by name", `{"class_name":"Functional","name":"inner","config":` + inner + `,"inbound_nodes":[{"u":["i",0,0,{}],"v":["i",0,0,{}]}]},
			{"class_name":"Add","name":"l","config":{"name":"l"},"inbound_nodes":[[["inner",1,0,{}],["inner",1,1,{}]]]}`, `[["l",0,0]]`},
		{"attention", `{"class_name":"MultiHeadAttention","name":"l","config":{"name":"l"},"inbound_nodes":[[["i",0,0,{"key":["i",0,0],"value":["i",0,0]}]]]}`, `[["l",0,0]]`},
		{"states", `{"class_name":"LSTM","name":"r","config":{"name":"r"},"inbound_nodes":[[["i",0,0,{}]]]},
			{"class_name":"LSTM","name":"l","config":{"name":"l"},"inbound_nodes":[[["i",0,0,{"training":false}],["r",0,1,{"training":false}],["r",0,2,{"training":false}]]]}`, `[["l",0,0]]`},
		{"functions", `{"class_name":"TFOpLambda","name":"f","config":{"function":"math.multiply","name":"f","trainable":true},"inbound_nodes":[["i",0,0,{"name":null,"y":2.0}]]},
			{"class_name":"TFOpLambda","name":"l","config":{"function":"math.truediv","name":"l","trainable":true},"inbound_nodes":[["_CONSTANT_VALUE",-1,1.0,{"name":null,"y":["f",0,0]}]]}`, `[["l",0,0]]`},
		{"functions with arrays", `{"class_name":"TFOpLambda","name":"f","config":{"function":"math.multiply","name":"f","trainable":true},"inbound_nodes":[["i",0,0,{"name":null,"y":[2.0,1.5,4.0]}]]},
			{"class_name":"TFOpLambda","name":"p","config":{"function":"math.pow","name":"p","trainable":true},"inbound_nodes":[["_CONSTANT_VALUE",-1,[[2.0,2.5,3.0]],{"name":null,"y":["f",0,0]}]]},
			{"class_name":"TFOpLambda","name":"l","config":{"function":"concat","name":"l","trainable":true},"inbound_nodes":[[["_CONSTANT_VALUE",-1,[[1.0,2.0,3.0]],{"axis":0,"name":null}],["p",0,0,{"axis":0,"name":null}]]]}`, `[["l",0,0]]`},
		{"functions with settings", `{"class_name":"TFOpLambda","name":"f","config":{"function":"math.reduce_mean","name":"f","trainable":true},"inbound_nodes":[["i",0,0,{"axis":1,"name":null}]]},
			{"class_name":"TFOpLambda","name":"n","config":{"function":"math.l2_normalize","name":"n","trainable":true},"inbound_nodes":[["f",0,0,{"axis":-1,"name":null}]]},
			{"class_name":"SlicingOpLambda","name":"s","config":{"function":"__operators__.getitem","name":"s","trainable":true},"inbound_nodes":[["n",0,0,{"name":null,"slice_spec":[{"start":null,"step":null,"stop":2},{"class_name":"__ellipsis__"},-1]}]]},
			{"class_name":"TFOpLambda","name":"l","config":{"function":"concat","name":"l","trainable":true},"inbound_nodes":[[["s",0,0,{"axis":-1,"name":null}],["s",0,0,{"axis":-1,"name":null}]]]}`, `[["l",0,0]]`},
	} {
		text := `{"class_name":"Functional","config":{"name":"m","layers":[{"class_name":"InputLayer","name":"i","config":{"name":"i","batch_input_shape":[null,3]},"inbound_nodes":[]},` +
			c.layers + `],"input_layers":[["i",0,0]],"output_layers":` + c.outputs + `}}`
		current, err := Translate(text, true)
		if err != nil || !strings.Contains(current, "keras_history") {
			t.Fatalf("%s: %s, %v", c.name, current, err)
		}
		back, err := Translate(current, false)
		if err != nil {
			t.Fatal(err)
		}
		if got, want := callsIn(t, back), callsIn(t, text); got != want {
			t.Errorf("%s: calls\n%s\nwant\n%s", c.name, got, want)
		}
		for _, one := range []string{text, current, back} {
			if _, err := Parse(one); err != nil {
				t.Errorf("%s: %v", c.name, err)
			}
		}
	}
}

// TestSequentialInGraphOfKeras2: a Sequential has no InputLayer where its calls are counted from 0,
// because Keras 2 counts those of one with it from 1, and waits for the call that is not there.
func TestSequentialInGraphOfKeras2(t *testing.T) {
	for _, first := range []int{0, 1} {
		text := fmt.Sprintf(`{"class_name":"Functional","config":{"name":"m","layers":[{"class_name":"InputLayer","name":"i","config":{"name":"i","batch_input_shape":[null,3]},"inbound_nodes":[]},`+
			`{"class_name":"Sequential","name":"s","config":{"name":"s","layers":[{"class_name":"InputLayer","config":{"name":"j","batch_input_shape":[null,3]}},{"class_name":"Dense","config":{"name":"d"}}]},`+
			`"inbound_nodes":[[["i",0,0,{}]]]}],"input_layers":[["i",0,0]],"output_layers":[["s",%d,0]]}}`, first)
		back, err := Translate(text, false)
		if err != nil || strings.Contains(back, `"j"`) || !strings.Contains(callsIn(t, back), `["s",0,0]`) {
			t.Errorf("called from %d on: %s, %v", first, back, err)
		}
	}
}

// callsIn returns the calls of the layers of a description, and the outputs.
func callsIn(t *testing.T, text string) string {
	t.Helper()
	var m struct {
		Config struct {
			Layers []struct {
				Class string `json:"class_name"`
				Calls any    `json:"inbound_nodes"`
			}
			Outputs any `json:"output_layers"`
		}
	}
	if err := json.Unmarshal([]byte(text), &m); err != nil {
		t.Fatal(err)
	}
	calls, err := json.Marshal(m)
	if err != nil {
		t.Fatal(err)
	}
	return string(calls)
}

// TestTranslateOperations translates functions of TensorFlow in graphs, with numbers and tensors.
func TestTranslateOperations(t *testing.T) {
	graph := func(function, calls string) string {
		return `{"class_name": "Functional", "config": {"name": "m", "layers": [
			{"class_name": "InputLayer", "name": "i", "config": {"name": "i", "batch_input_shape": [null, 3]}, "inbound_nodes": []},
			{"class_name": "TFOpLambda", "name": "o", "config": {"name": "o", "function": "` + function + `"}, "inbound_nodes": ` + calls + `}],
			"input_layers": [["i", 0, 0]], "output_layers": [["o", 0, 0]]}}`
	}
	tensor := `{"class_name":"__keras_tensor__","config":{"dtype":"float32","keras_history":["i",0,0],"shape":[null]}}`
	for _, c := range []struct{ function, calls, args, class string }{
		{"__operators__.add", `[["i", 0, 0, {"y": 3.0, "name": null}]]`, `[` + tensor + `,3.0]`, "Add"},
		{"math.subtract", `[["_CONSTANT_VALUE", -1, 1.0, {"y": ["i", 0, 0], "name": null}]]`, `[1.0,` + tensor + `]`, "Subtract"},
		{"math.truediv", `[["i", 0, 0, {"y": ["i", 0, 0]}]]`, `[` + tensor + `,` + tensor + `]`, "TrueDivide"},
		{"nn.relu", `[["i", 0, 0, {"name": null}]]`, `[` + tensor + `]`, "Relu"},
		{"math.multiply", `[["i", 0, 0, {"y": 2.0, "name": "other"}]]`, `[` + tensor + `,2.0]`, "Multiply"},
		{"math.reduce_mean", `[["i", 0, 0, {"axis": [1], "keepdims": true}]]`, `"config":{"axis":[1],"keepdims":true,"name":"o"}`, "Mean"},
		{"reshape", `[["i", 0, 0, {"shape": [-1, 3]}]]`, `"newshape":[-1,3]`, "Reshape"},
		{"concat", `[[["i", 0, 0, {"axis": -1}], ["i", 0, 0, {"axis": -1}]]]`, `"args":[[` + tensor + `,` + tensor + `]]`, "Concatenate"},
		{"math.cumsum", `[["i", 0, 0, {}]]`, `"config":{"axis":0,"name":"o"}`, "Cumsum"},
		{"nn.gelu", `[["i", 0, 0, {}]]`, `"approximate":false`, "Gelu"},
		{"linalg.matmul", `[["i", 0, 0, {"b": ["i", 0, 0], "transpose_b": true}]]`, `"subscripts":"...ij,...kj->...ik"`, "Einsum"},
		{"where", `[["i", 0, 0, {"x": ["i", 0, 0], "y": 0.0}]]`, `[` + tensor + `,` + tensor + `,0.0]`, "Where"},
		{"__operators__.getitem", `[["i", 0, 0, {"slice_spec": [{"start": null, "stop": 2, "step": null}, {"class_name": "__ellipsis__"}, null, -1]}]]`,
			`,[{"class_name":"__slice__","config":{"start":null,"step":null,"stop":2}},{"class_name":"__ellipsis__","config":{}},null,-1]]`, "GetItem"},
		{"math.add", `[["i", 0, 0, {"y": [1, 2.5, 3]}]]`, `[` + tensor + `,{"class_name":"__numpy__","config":{"dtype":"float32","value":[1,2.5,3]}}]`, "Add"},
		{"math.floormod", `[["_CONSTANT_VALUE", -1, [[1, 2]], {"y": ["i", 0, 0]}]]`, `[{"class_name":"__numpy__","config":{"dtype":"int32","value":[[1,2]]}},` + tensor + `]`, "Mod"},
		{"concat", `[[["i", 0, 0, {"axis": 0}], ["_CONSTANT_VALUE", -1, [[1.0, 2.0, 3.0]], {"axis": 0}]]]`,
			`"args":[[` + tensor + `,{"class_name":"__numpy__","config":{"dtype":"float32","value":[[1.0,2.0,3.0]]}}]]`, "Concatenate"},
		// what Keras 3 has not, or not with these arguments
		{"image.resize", `[["i", 0, 0, {"size": [3, 3]}]]`, "", "TFOpLambda"},
		{"math.cumsum", `[["i", 0, 0, {"exclusive": true}]]`, "", "TFOpLambda"},
		{"math.add", `[["i", 0, 0, {"y": [1.0, "a", 3.0]}]]`, "", "TFOpLambda"},
		{"reshape", `[["i", 0, 0, {"shape": [["i", 0, 0], 3]}]]`, "", "TFOpLambda"},
		{"einsum", `[["_CONSTANT_VALUE", -1, "ij->ji", {}]]`, "", "TFOpLambda"},
		{"__operators__.getitem", `[["i", 0, 0, {"slice_spec": [{"start": ["i", 0, 0], "stop": null, "step": null}]}]]`, "", "TFOpLambda"},
	} {
		got, err := Translate(graph(c.function, c.calls), true)
		if err != nil || !strings.Contains(got, `"class_name":"`+c.class+`"`) || !strings.Contains(got, c.args) {
			t.Errorf("%s: %s (%v); want %s of %s", c.function, got, err, c.class, c.args)
		}
	}
}

// TestModulesOfLayersWithSeveralAxes: of a layer without a module, Keras 3 takes one axis.
func TestModulesOfLayersWithSeveralAxes(t *testing.T) {
	for layer, want := range map[string]bool{
		`{"class_name": "Softmax", "config": {"axis": [2, 3]}}`:                                                                    true,
		`{"class_name": "Softmax", "config": {"axis": -1}}`:                                                                        false,
		`{"class_name": "Mine>Softmax", "config": {"axis": [2, 3]}}`:                                                               false,
		`{"class_name": "Softmax", "module": "mine", "config": {"axis": [2, 3]}}`:                                                  false,
		`{"class_name": "TimeDistributed", "config": {"layer": {"class_name": "LayerNormalization", "config": {"axis": [1, 2]}}}}`: true,
	} {
		got, err := WithModules(`{"class_name": "Functional", "config": {"layers": [` + layer + `]}}`)
		if err != nil || strings.Contains(got, `"keras.layers"`) != want {
			t.Errorf("%s: %s (%v); want a module: %v", layer, got, err, want)
		}
	}
}

// TestBidirectionalAroundBackwardsIsNamed: Keras 3 does not load it.
func TestBidirectionalAroundBackwardsIsNamed(t *testing.T) {
	for backwards, want := range map[string]int{"true": 1, "false": 0} {
		m, err := Parse(`{"class_name": "Sequential", "config": {"name": "s", "layers": [{"class_name": "Bidirectional", "config": {"name": "b",
			"layer": {"class_name": "LSTM", "config": {"name": "l", "units": 2, "go_backwards": ` + backwards + `}}}}]}}`)
		if err != nil {
			t.Fatal(err)
		}
		n := 0
		for range Differences(m) {
			n++
		}
		if n != want {
			t.Errorf("go_backwards %s: %d differences; want %d", backwards, n, want)
		}
	}
}

// TestRegisteredClassesInLegacyFiles: an .h5 of Keras 2 has the package in the name of a class of a
// program's own.
func TestRegisteredClassesInLegacyFiles(t *testing.T) {
	const text = `{"class_name":"Sequential","config":{"layers":[{"class_name":"Scale","config":{"name":"l"},"module":"mine","registered_name":"Mine>Scale"}],"name":"s"}}`
	got, err := Translate(text, false)
	if err != nil || !strings.Contains(got, `{"class_name":"Mine>Scale","config":{"name":"l"}}`) {
		t.Errorf("%s, %v; want the class Mine>Scale", got, err)
	}
	if got, err := Translate(text, true); err != nil || !strings.Contains(got, `"registered_name":"Mine>Scale"`) {
		t.Errorf("%s, %v; want it as it was", got, err)
	}
}

// TestWrappedModelsReturnOneTensor in Keras 3, whose TimeDistributed takes no list of one.
func TestWrappedModelsReturnOneTensor(t *testing.T) {
	const config = `{"class_name": "Sequential", "config": {"name": "m", "layers": [{"class_name": "TimeDistributed", "config": {"name": "t",
		"batch_input_shape": [null, 3, 4], "layer": {"class_name": "Functional", "config": {"name": "f", "layers": [
		{"class_name": "InputLayer", "name": "i", "config": {"name": "i", "batch_input_shape": [null, 4]}, "inbound_nodes": []},
		{"class_name": "Dense", "name": "d", "config": {"name": "d", "units": 2}, "inbound_nodes": [[["i", 0, 0, {}]]]}],
		"input_layers": [["i", 0, 0]], "output_layers": [["d", 0, 0]]}}}}]}}`
	for current, want := range map[bool]string{true: `"output_layers":["d",0,0]`, false: `"output_layers":[["d",0,0]]`} {
		got, err := Translate(config, current)
		if err != nil || !strings.Contains(strings.ReplaceAll(got, " ", ""), want) {
			t.Errorf("current %v: %s %v, want %s", current, got, err, want)
		}
	}
}

// TestShapesOfLayersThatDoNotRun: an .h5 does not have them, and the Dense behind a Flatten needs them.
func TestShapesOfLayersThatDoNotRun(t *testing.T) {
	for layer, want := range map[string][]int{
		`{"class_name": "UnitNormalization", "name": "l", "config": {"name": "l"}, "inbound_nodes": [[["a", 0, 0, {}]]]}`:                                                                                           {4, 6},
		`{"class_name": "ThresholdedReLU", "name": "l", "config": {"name": "l"}, "inbound_nodes": [[["a", 0, 0, {}]]]}`:                                                                                             {4, 6},
		`{"class_name": "Dot", "name": "l", "config": {"name": "l", "axes": [2, -1]}, "inbound_nodes": [[["a", 0, 0, {}], ["b", 0, 0, {}]]]}`:                                                                       {4, 5},
		`{"class_name": "Dot", "name": "l", "config": {"name": "l", "axes": 1}, "inbound_nodes": [[["c", 0, 0, {}], ["c", 0, 0, {}]]]}`:                                                                             {1},
		`{"class_name": "Attention", "name": "l", "config": {"name": "l"}, "inbound_nodes": [[["a", 0, 0, {}], ["b", 0, 0, {}]]]}`:                                                                                  {4, 6},
		`{"class_name": "EinsumDense", "name": "l", "config": {"name": "l", "equation": "abc,cd->abd", "output_shape": [null, 9]}, "inbound_nodes": [[["a", 0, 0, {}]]]}`:                                           {4, 9},
		`{"class_name": "EinsumDense", "name": "l", "config": {"name": "l", "equation": "ab,bc->ac", "output_shape": 9}, "inbound_nodes": [[["c", 0, 0, {}]]]}`:                                                     {9},
		`{"class_name": "Conv1DTranspose", "name": "l", "config": {"name": "l", "filters": 3, "kernel_size": [3], "strides": [2], "padding": "same", "output_padding": [0]}, "inbound_nodes": [[["a", 0, 0, {}]]]}`: {7, 3},
	} {
		m, err := Parse(`{"class_name": "Functional", "config": {"name": "m", "layers": [
			{"class_name": "InputLayer", "name": "a", "config": {"name": "a", "batch_input_shape": [null, 4, 6]}, "inbound_nodes": []},
			{"class_name": "InputLayer", "name": "b", "config": {"name": "b", "batch_input_shape": [null, 5, 6]}, "inbound_nodes": []},
			{"class_name": "InputLayer", "name": "c", "config": {"name": "c", "batch_input_shape": [null, 7]}, "inbound_nodes": []},
			` + layer + `], "input_layers": [["a", 0, 0], ["b", 0, 0], ["c", 0, 0]], "output_layers": [["l", 0, 0]]}}`)
		if err != nil {
			t.Fatalf("%s: %v", layer, err)
		}
		if got := m.Layer("l").OutputShapes; len(got) != 1 || !slices.Equal(got[0], want) {
			t.Errorf("%s: %v; want %v", layer, got, want)
		}
	}
}

// TestShapesBehindUnknownLayers: the number of axes follows from the class of the next layer, and
// that says which BatchNorm PyTorch needs.
func TestShapesBehindUnknownLayers(t *testing.T) {
	m, err := Parse(`{"class_name": "Sequential", "config": {"name": "m", "layers": [
		{"class_name": "InputLayer", "config": {"name": "i", "batch_input_shape": [null, 8, 8, 3]}},
		{"class_name": "Mine>Scale", "config": {"name": "own"}},
		{"class_name": "DepthwiseConv2D", "config": {"name": "d", "kernel_size": 3, "depth_multiplier": 2}},
		{"class_name": "Conv2D", "config": {"name": "c", "filters": 4, "kernel_size": 3}},
		{"class_name": "BatchNormalization", "config": {"name": "n"}},
		{"class_name": "GlobalAveragePooling2D", "config": {"name": "g"}}]}}`)
	if err != nil {
		t.Fatal(err)
	}
	for layer, want := range map[string][]int{"d": {-1, -1, -1}, "n": {-1, -1, 4}, "g": {4}} {
		if got := m.Layer(layer).OutputShapes; len(got) != 1 || !slices.Equal(got[0], want) {
			t.Errorf("%s: %v; want %v", layer, got, want)
		}
	}
}
