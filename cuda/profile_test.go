package cuda_test

import (
	"errors"
	"slices"
	"strings"
	"testing"

	"github.com/h5dnn/h5dnn/cuda"
	"github.com/h5dnn/h5dnn/cuda/cudatest"
	"github.com/h5dnn/h5dnn/kernels"
	"github.com/h5dnn/h5dnn/storage"
)

func TestProfilesNameCallers(t *testing.T) {
	d := cudatest.Devices(t, cudatest.Deferred)[0]
	x := numbers(t, d, 6)
	p := d.Profile()
	err := errors.Join(packs(d, x), packs(d, x))
	y := numbers(t, d, 10)
	p.Stop()
	if err := errors.Join(err, add(d, y, y)); err != nil {
		t.Fatal(err)
	}
	want := []cuda.Row{
		{Activity: "copy", Name: "cuda_test.packs", Count: 2, Bytes: 48},
		{Activity: "download", Name: "cuda_test.packs", Count: 2, Bytes: 48},
		{Activity: "upload", Name: "cuda_test.numbers", Count: 1, Bytes: 40},
		{Activity: "launch", Name: "copy_4", Count: 2},
	}
	if got := p.Rows(); !slices.Equal(got, want) {
		t.Errorf("got %+v\nwant %+v", got, want)
	}
	if text := p.String(); !strings.Contains(text, "download  cuda_test.packs    2×  48 B\n") {
		t.Errorf("printed as\n%s", text)
	}
}

// packs copies x, flipped, without gaps, and reads it.
func packs(d *cuda.Device, x storage.Array) error {
	flipped, err := x.Flip(0)
	if err != nil {
		return err
	}
	y, err := storage.Make(d, x.Type, x.Shape...)
	if err != nil {
		return err
	}
	if err := d.Run(kernels.Copy, &kernels.Call{Out: []storage.Array{y}, In: []storage.Array{x.With(flipped)}}); err != nil {
		return err
	}
	_, err = storage.Read[float32](y)
	return err
}
