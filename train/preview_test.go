package train_test

import (
	"context"
	"fmt"
	"slices"
	"testing"

	"github.com/h5dnn/h5dnn/dataset"
	"github.com/h5dnn/h5dnn/storage"
	"github.com/h5dnn/h5dnn/train"
)

// TestPreviewsAreWhatTrainingSees draws samples of every kind: images with a mask, boxes and points, and signals.
func TestPreviewsAreWhatTrainingSees(t *testing.T) {
	const n = 6
	mask, boxes, points := make([]uint8, n*8*8), make([]float32, n*4), make([]float32, n*2*2)
	for i := range n {
		mask[i*64+9], boxes[4*i+2], boxes[4*i+3], points[4*i] = 1, 5, 6, 3
	}
	target := func(name string, a storage.Array) dataset.NamedArray {
		return dataset.NamedArray{Name: name, Array: a, Role: dataset.Target}
	}
	for _, test := range []struct {
		text   string
		fields []dataset.NamedArray
	}{
		{"augment: [flip, {rotate: {angle: 20}}]\naugment_fields: {m: mask, b: boxes, p: points}\ndata: {file: none, x: x, y: {m: m, b: b, p: p}}\nloss: mse", []dataset.NamedArray{
			{Name: "x", Array: storage.From(make([]uint8, n*3*8*8), n, 3, 8, 8)}, target("m", storage.From(mask, n, 8, 8)),
			target("b", storage.From(boxes, n, 1, 4)), target("p", storage.From(points, n, 2, 2))}},
		{"augment: [{jitter: {std: 1}}]\ndata: {file: none, x: x, y: y}\nloss: mse", []dataset.NamedArray{
			{Name: "x", Array: storage.From(make([]float32, n*2*30), n, 2, 30)}, target("y", storage.From(make([]float32, n), n))}},
	} {
		c, err := train.ParseConfig([]byte(test.text))
		if err != nil {
			t.Fatal(err)
		}
		data := &train.Data{}
		if data.Train, err = dataset.FromArrays(test.fields...); err != nil {
			t.Fatal(err)
		}
		var seen []string
		for range 2 {
			p, err := train.NewPreview(context.Background(), c, data, train.PreviewOptions{Count: 5, Epoch: 1})
			if err != nil {
				t.Fatal(err)
			}
			if len(p.Rows) != 5 || p.Columns != 3 || p.Picture.Bounds().Dx() < 300 || p.Picture.Bounds().Dy() < 200 {
				t.Errorf("%d samples in %d columns, a picture of %v", len(p.Rows), p.Columns, p.Picture.Bounds())
			}
			seen = append(seen, fmt.Sprint(p.Rows, p.Labels, p.Picture))
		}
		if len(slices.Compact(seen)) != 1 {
			t.Error("two previews of an epoch differ")
		}
	}
	c, err := train.ParseConfig([]byte(settings))
	if err != nil {
		t.Fatal(err)
	}
	x, y := blobs(10)
	data, err := train.NewData(c, train.Arrays{X: x, Y: y})
	if err != nil {
		t.Fatal(err)
	}
	p, err := train.NewPreview(context.Background(), c, data, train.PreviewOptions{})
	if err != nil {
		t.Fatal(err)
	}
	for i, row := range p.Rows {
		if want := fmt.Sprint(storage.Elements[int64](y)[row]); p.Labels[i] != want {
			t.Errorf("row %d: label %s, want %s", row, p.Labels[i], want)
		}
	}
}
