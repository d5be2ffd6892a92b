package keras

import (
	"maps"
	"slices"
)

// dropped are settings of Keras 1 without a counterpart that matters to a trained model: how weights
// begin, and what is asked of them in training.
var dropped = []string{
	"init", "inner_init", "forget_bias_init", "W_regularizer", "U_regularizer", "b_regularizer", "W_constraint", "U_constraint", "b_constraint",
	"consume_less", "input_dtype", "input_dim", "input_length", "dim_ordering", "mode", "gamma_regularizer", "beta_regularizer", "sparse",
	"dropout_W", "dropout_U", "batch_input_shape", "weights",
}

// Upgrade returns a copy of a model of Keras 1 that Describe describes as later versions
// do.
func Upgrade(m *Model) *Model {
	c := *m
	c.Layers = slices.Clone(m.Layers)
	for i := range c.Layers {
		l := &c.Layers[i]
		if l.Model != nil {
			l.Model = Upgrade(l.Model)
		}
		l.Config = upgraded(l)
	}
	return &c
}

func upgraded(l *Layer) map[string]any {
	config := maps.Clone(l.Config)
	for _, name := range dropped {
		if name != "input_dim" || l.Class != "Embedding" { // of which it is the number of rows
			delete(config, name)
		}
	}
	s := settingsOf(l)
	if inner := s.wrapped("layer"); s.failed() == nil {
		config["layer"] = map[string]any{"module": "keras.layers", "class_name": inner.Class, "config": upgraded(inner.Layer), "registered_name": nil}
	}
	return config
}
