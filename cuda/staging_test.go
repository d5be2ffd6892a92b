package cuda_test

import (
	"bytes"
	"math/rand/v2"
	"testing"

	"github.com/h5dnn/h5dnn/cuda"
	"github.com/h5dnn/h5dnn/cuda/cudatest"
)

// TestUploadsOfAnySize, larger than all staging buffers too; the source changes right after
// the call.
func TestUploadsOfAnySize(t *testing.T) {
	eachSchedule(t, func(t *testing.T, gpus [2]*cuda.Device) {
		d, r := gpus[0], rand.New(rand.NewPCG(7, 8))
		const size = 20 << 20
		s, err := d.Alloc(size)
		if err != nil {
			t.Fatal(err)
		}
		want, src := make([]byte, size), make([]byte, size)
		for at := 0; at < size; {
			n := min(size-at, 1<<r.IntN(25))
			for i := range src[:n] {
				src[i] = byte(at + i*7)
			}
			copy(want[at:], src[:n])
			if err := d.Upload(s, at, src[:n]); err != nil {
				t.Fatal(err)
			}
			clear(src[:n])
			at += n
		}
		got := make([]byte, size)
		if err := d.Download(got, s, 0); err != nil || !bytes.Equal(got, want) {
			t.Errorf("%d bytes changed by the copy: %v", size, err)
		}
	})
}

func TestUploadsDoNotWait(t *testing.T) {
	cudatest.FakeOnly(t)
	d := cudatest.Devices(t, cudatest.Deferred)[0]
	s, err := d.Alloc(100)
	if err != nil {
		t.Fatal(err)
	}
	arrived := freshEvent(t, d)
	if err := d.Upload(s, 0, make([]byte, 100)); err != nil {
		t.Fatal(err)
	}
	if err := arrived.Record(d.Stream()); err != nil {
		t.Fatal(err)
	}
	if done, err := arrived.Done(); done || err != nil {
		t.Errorf("an upload has waited for the device: %v, %v", done, err)
	}
}
