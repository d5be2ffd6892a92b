package keras

func init() {
	reversals["positions"] = (*reverser).positions
	reversals["class_token"] = (*reverser).classToken
	reversals["cast"] = func(r *reverser, l *settings, in []tensor) tensor {
		return r.lambda(l, "cast", map[string]any{"dtype": l.Text("dtype", "")}, in[0])
	}
	reversals["pad"] = func(r *reverser, l *settings, in []tensor) tensor {
		before := l.Ints("before")
		if l.Text("mode", "constant") != "constant" || l.Float("value", 0) != 0 || len(before)+1 != in[0].rank {
			l.refuse("mode %s, value %v and sizes %v; want zeros for each spatial axis", l.Text("mode", "constant"), l.Float("value", 0), before)
			return in[0]
		}
		return r.padding(false, l.Name, before, l.Ints("after"), in[0])
	}
}

// everyStep returns scale·x + offset of the first feature of each step of v (N, T, features), for numbers that no input changes.
func (r *reverser) everyStep(v tensor, scale, offset float64) tensor {
	feature := r.getItem(settingsOf(&Layer{Config: map[string]any{"axis": 2.0}}), v, 0)
	feature.rank--
	return r.layer("Rescaling", "", map[string]any{"scale": scale, "offset": offset}, feature)
}

// positions adds rows of an Embedding that the number of a step counts: a running sum of ones.
func (r *reverser) positions(l *settings, in []tensor) tensor {
	if kind := l.Text("kind", "learnt"); kind != "learnt" {
		l.refuse("kind %s", kind)
		return in[0]
	}
	count := r.lambda(settingsOf(&Layer{}), "math.cumsum", map[string]any{"axis": 1.0}, r.everyStep(in[0], 0, 1))
	index := r.layer("Rescaling", "", map[string]any{"scale": 1.0, "offset": -1.0}, count)
	rows := r.layer("Embedding", l.Name, map[string]any{"input_dim": l.Int("max_len", 0), "output_dim": l.Int("embedding_dim", 0)}, index)
	return r.layer("Add", "", nil, in[0], rows)
}

// classToken puts the only row of an Embedding before the steps.
func (r *reverser) classToken(l *settings, in []tensor) tensor {
	first := r.getItem(settingsOf(&Layer{}), in[0], map[string]any{"start": nil, "stop": 1.0, "step": nil})
	row := r.layer("Embedding", l.Name, map[string]any{"input_dim": 1, "output_dim": l.Int("embedding_dim", 0)}, r.everyStep(first, 0, 0))
	row.rank = 2
	return r.layer("Concatenate", "", map[string]any{"axis": 1.0}, row, in[0])
}
