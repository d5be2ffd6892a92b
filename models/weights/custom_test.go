package weights

import (
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"

	"github.com/h5dnn/h5dnn/dtype"
	"github.com/h5dnn/h5dnn/storage"
	"github.com/h5dnn/h5dnn/views"
)

// w returns an array with the elements 1, 2, … in row-major order.
func w(name string, shape ...int) Tensor {
	elems := make([]float32, views.Of(shape...).Len())
	for i := range elems {
		elems[i] = float32(i + 1)
	}
	return Tensor{Name: name, Array: storage.From(elems, shape...)}
}

func tensors(list ...Tensor) []Tensor { return list }

func elements(t *testing.T, a storage.Array) []float64 {
	t.Helper()
	elems, err := storage.Read[float64](a)
	if err != nil {
		t.Fatal(err)
	}
	return elems
}

func TestRules(t *testing.T) {
	c, err := ParseRules("rules.yaml", []byte(`
tensors:
  - {from: [attn*.q, attn*.k, attn*.v], to: attn*.in_proj_weight, do: [transpose 1 0, concat 0]}
  - {from: old.*, to: new.*, do: cast float16}
  - {from: both, to: [one, two], do: "split 0: 1 2"}
drop: "*.counter"
rest: keep
`))
	if err != nil {
		t.Fatal(err)
	}
	made, dropped, rest, err := c.Apply(tensors(w("attn1.q", 2, 3), w("attn1.k", 2, 3), w("attn1.v", 2, 3), w("old.x", 2), w("both", 3), w("bn.counter"), w("other", 2)))
	if err != nil || len(rest) > 0 || !slices.Equal(dropped, []string{"bn.counter"}) {
		t.Fatalf("dropped %v, rest %v, %v", dropped, rest, err)
	}
	var names []string
	for _, m := range made {
		names = append(names, fmt.Sprint(m.Name, m.Array.Type, m.Array.Shape, elements(t, m.Array)))
	}
	want := []string{
		"attn1.in_proj_weightfloat32 [9 2] [1 4 2 5 3 6 1 4 2 5 3 6 1 4 2 5 3 6]", "new.xfloat16 [2] [1 2]",
		"onefloat32 [1] [1]", "twofloat32 [2] [2 3]", "otherfloat32 [2] [1 2]",
	}
	if !slices.Equal(names, want) {
		t.Errorf("made %q; want %q", names, want)
	}
}

func TestRulesThatCannotBe(t *testing.T) {
	for _, c := range []struct{ rules, want string }{
		{"tensors: [{from: a, to: b, do: transpose 0 2}]", "order of axes"},
		{"tensors: [{from: a, to: b, do: twist 0}]", "twist"},
		{"tensors: [{from: a.*, to: b}]", "other stars"},
		{"tensors: [{to: b}]", "needs from and to"},
		{"tensors: [{from: a, to: ''}]", "a name is empty"},
		{"modules: {a*: b}", "other stars"},
		{"rest: perhaps", "perhaps"},
		{"tensor: []", "tensor"},
		{"modules: {b*: x, a*: y, c*: z}", `"y" has other stars than "a*"`},
		{"tensors:\n  - from: a\n    to: b\n    do: gates 0: 1 0 2", "rules.yaml:4:9: mapping value is not allowed in this context; a text with a colon and a space needs quotes"},
		{"tensors:\n  - from: a\n    to: b\n    do: [{a: 1, b: 2}]", "rules.yaml:4:5: tensors: item 0: do: cannot be"},
		{"tensors:\n  - from: a\n    to: b\n    do:\n      - fold", "rules.yaml:4:5: tensors: rule 0: do: \"fold\"; want the epsilon"},
		{"tensors: [{from: a, to: b, do: fold 0 1}]", "want the epsilon"},
		{"tensors: [{from: a, to: b, do: sum 0}]", "no numbers"},
		{"[1, 2]", "want names and their values"},
	} {
		if _, err := ParseRules("rules.yaml", []byte(c.rules)); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %v; want %q", c.rules, err, c.want)
		}
	}
	for _, c := range []struct {
		rules string
		kind  error
		want  string
	}{
		{"tensors: [{from: a, to: x}, {from: '*', to: y*}]", ErrAmbiguous, "rules.yaml:1:29: tensors: rule 1: takes a, as rule 0 does"},
		{"tensors: [{from: a, to: x}, {from: b, to: x}]", ErrAmbiguous, "two rules make x"},
		{"tensors: [{from: [a, c], to: x, do: concat 0}]", storage.ErrState, "no array c"},
		{"tensors: [{from: c, to: x}]", storage.ErrState, "rules.yaml:1:11: tensors: rule 0: there is no array c"},
		{"{drop: c*, rest: keep}", storage.ErrState, "rules.yaml:1:2: drop: there is no array c*"},
		{"tensors: [{from: a, to: [x, y, z], do: split 0}]", views.ErrShape, "split: axis 0 of shape [2] does not divide into 3"},
		{"tensors: [{from: [a, b], to: x}]", ErrAmbiguous, "2 arrays"},
		{"{tensors: [{from: a, to: b}], rest: keep}", ErrAmbiguous, "tensors: rule 0: makes b, which rest: keep also keeps"},
		{"tensors: [{from: [a, b], to: x, do: fold 1e-5}]", views.ErrShape, "2 arrays; want the weight"},
		{"tensors: [{from: [a, b, b, b, b], to: [x, y], do: 'fold 1: 1e-5'}]", views.ErrShape, "axis"},
	} {
		rules, err := ParseRules("rules.yaml", []byte(c.rules))
		if err != nil {
			t.Fatal(err)
		}
		if _, _, _, err := rules.Apply(tensors(w("a", 2), w("b", 2))); !errors.Is(err, c.kind) || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %v; want %q", c.rules, err, c.want)
		}
	}
	rules, _ := ParseRules("rules.yaml", []byte("tensors: [{from: a, to: x}]"))
	if _, _, rest, err := rules.Apply(tensors(w("a", 2), w("b", 2))); err != nil || !slices.Equal(rest, []string{"b"}) {
		t.Errorf("what no rule names: %v, %v; want b", rest, err)
	}
	if err := (Rules{Modules: map[string]string{"denes": "x"}}).CheckModules([]string{"dense"}); err == nil {
		t.Error("a module of a layer that does not exist was taken")
	}
}

// TestColonsOfRules: an item of a list needs no quotes, although YAML makes an object of it.
func TestColonsOfRules(t *testing.T) {
	c, err := ParseRules("rules.yaml", []byte(`
tensors:
  - from: a
    to: x
    do:
      - gates 0: 1 0
      - transpose 1 0
  - from: b
    to: [y, z]
    do: [split 0: 1 1, cast float16]
`))
	if err != nil {
		t.Fatal(err)
	}
	made, _, _, err := c.Apply(tensors(w("a", 2, 2), w("b", 2)))
	if err != nil {
		t.Fatal(err)
	}
	if got := elements(t, made[0].Array); !slices.Equal(got, []float64{3, 1, 4, 2}) || made[1].Array.Type != dtype.Float16 || len(made) != 3 {
		t.Errorf("made %v, the first with %v", made, got)
	}
}

// TestFold compares with the definition: the folded layer computes what the layer and the
// normalization compute.
func TestFold(t *testing.T) {
	const epsilon = 0.5
	for _, axis := range []int{0, -1} {
		weight, bias, gamma, beta, mean, variance := w("weight", 3, 3), w("bias", 3), w("gamma", 3), w("beta", 3), w("mean", 3), w("variance", 3)
		for _, biased := range []bool{true, false} {
			from := []storage.Array{weight.Array, bias.Array, gamma.Array, beta.Array, mean.Array, variance.Array}
			if !biased {
				from = slices.Delete(from, 1, 2)
			}
			out, err := FoldOp(axis, epsilon).Forward(from)
			if err != nil {
				t.Fatal(err)
			}
			kernel, offset := elements(t, out[0]), elements(t, out[1])
			for channel := range 3 {
				x := float64(channel + 1) // every vector is 1, 2, 3
				scale, b := x/math.Sqrt(x+epsilon), 0.0
				if biased {
					b = x
				}
				if want := (b-x)*scale + x; math.Abs(offset[channel]-want) > 1e-6 {
					t.Errorf("axis %d: bias %d is %v; want %v", axis, channel, offset[channel], want)
				}
				for other := range 3 {
					at := channel*3 + other
					if axis == -1 {
						at = other*3 + channel
					}
					if want := float64(at+1) * scale; math.Abs(kernel[at]-want) > 1e-5 {
						t.Errorf("axis %d: element %d of the weight is %v; want %v", axis, at, kernel[at], want)
					}
				}
			}
		}
	}
}

// TestSumOfArrays adds the biases of a recurrent layer.
func TestSumOfArrays(t *testing.T) {
	c, err := ParseRules("rules.yaml", []byte("tensors: [{from: [ih, hh], to: bias, do: sum}]"))
	if err != nil {
		t.Fatal(err)
	}
	made, _, _, err := c.Apply(tensors(w("ih", 3), w("hh", 3)))
	if err != nil || !slices.Equal(elements(t, made[0].Array), []float64{2, 4, 6}) {
		t.Errorf("%v, %v; want 2 4 6", made, err)
	}
	if _, err := TotalOp.Backward(nil); !errors.Is(err, ErrUnsupported) {
		t.Errorf("undone: %v", err)
	}
}

// FuzzParseRules applies rules to three arrays: they are refused, or what they make lies in
// the elements that there are, and the same rules make the same again.
func FuzzParseRules(f *testing.F) {
	f.Add("tensors:\n  - {from: [a.q, a.k], to: a.in, do: [transpose 1 0, concat 0]}\n  - {from: b.*, to: c.*, do: cast float16}\ndrop: '*.n'\nrest: keep")
	f.Add("tensors: [{from: a.q, to: [one, two], do: 'split 0: 1 1'}]\nrest: drop")
	f.Add("tensors: [{from: a.k, to: x, do: ['gates 0: 1 0', reshape 3 -1, 'features 0: 1 1 3']}]\nmodules: {a*: features.*}\nrest: refuse")
	f.Fuzz(func(t *testing.T, text string) {
		c, err := ParseRules("rules.yaml", []byte(text))
		if err != nil {
			if err.Error() == "" {
				t.Error("an error without a text")
			}
			return
		}
		apply := func() string {
			made, dropped, rest, err := c.Apply(tensors(w("a.q", 2, 3), w("a.k", 2, 3), w("b.x", 2)))
			out := fmt.Sprint(dropped, rest, err)
			for _, m := range made {
				if m.Array.Len() > 1000 {
					t.Errorf("%v of 6 elements at most", m.Array)
				} else if m.Array.Len() > 0 {
					out += fmt.Sprint(m.Name, m.From, m.Operation, m.Array.Type, m.Array.Shape, elements(t, m.Array))
				}
			}
			return out
		}
		if first, second := apply(), apply(); first != second {
			t.Errorf("%s\nand then %s", first, second)
		}
	})
}
