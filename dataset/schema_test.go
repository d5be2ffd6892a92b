package dataset

import (
	"errors"
	"slices"
	"strings"
	"testing"

	"github.com/h5dnn/h5dnn/storage"
	"github.com/h5dnn/h5dnn/views"
)

// TestSchemaNamesRoles loads a dataset of two inputs, one of them with lengths,
// two targets and weights, in an order that no position could be guessed from.
func TestSchemaNamesRoles(t *testing.T) {
	column := func(first float32) storage.Array { return storage.From([]float32{first, first + 1, first + 2}, 3) }
	d, err := FromArrays(
		NamedArray{Name: "weight", Array: column(10), Role: Weight},
		NamedArray{Name: "box", Array: column(20), Role: Target},
		NamedArray{Name: "text", Array: column(30)},
		NamedArray{Name: "text lengths", Array: column(40), Role: Length, LengthOf: "text"},
		NamedArray{Name: "class", Array: column(50), Role: Target},
		NamedArray{Name: "image", Array: column(60)},
	)
	if err != nil {
		t.Fatal(err)
	}
	s, err := SchemaOf(d.Fields())
	if err != nil || !slices.Equal(s.Inputs, []int{2, 5}) || !slices.Equal(s.Targets, []int{1, 4}) || !slices.Equal(s.Lengths, []int{3, -1}) || s.Weight != 0 {
		t.Errorf("schema %+v, %v", s, err)
	}
	for b, err := range Load(t.Context(), d, Options{BatchSize: 2, Shuffle: None}) {
		if err != nil {
			t.Fatal(err)
		}
		image, ok := b.Field("image")
		if want := float32(60 + b.Rows[0]); !ok || storage.Elements[float32](image)[0] != want {
			t.Errorf("field image of row %d: %v, want %v", b.Rows[0], storage.Elements[float32](image), want)
		}
		if _, ok := b.Field("sound"); ok {
			t.Error("a field of no such name is found")
		}
	}
}

func TestSchemasThatCannotBeAreErrors(t *testing.T) {
	a := storage.From([]float32{1, 2}, 2)
	for want, fields := range map[string][]NamedArray{
		"both v and w are weights": {{Name: "x", Array: a}, {Name: "v", Array: a, Role: Weight}, {Name: "w", Array: a, Role: Weight}},
		`lengths of "z"`:           {{Name: "x", Array: a}, {Name: "n", Array: a, Role: Length, LengthOf: "z"}},
		`m are lengths of "x"`:     {{Name: "x", Array: a}, {Name: "n", Array: a, Role: Length, LengthOf: "x"}, {Name: "m", Array: a, Role: Length, LengthOf: "x"}},
	} {
		if _, err := FromArrays(fields...); !errors.Is(err, views.ErrShape) || !strings.Contains(err.Error(), want) {
			t.Errorf("%v: error %v, want one that says %q", fields, err, want)
		}
	}
}
