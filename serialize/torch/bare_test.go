package torch_test

import (
	"bytes"
	"testing"

	"github.com/h5dnn/h5dnn/serialize"
	"github.com/h5dnn/h5dnn/serialize/torch"
	"github.com/h5dnn/h5dnn/storage"
)

// TestBareTensorsKeepTheirStructure writes a tensor that is not in a dict, and reads the structure that torch.save writes.
func TestBareTensorsKeepTheirStructure(t *testing.T) {
	var b bytes.Buffer
	x := serialize.Entry{Name: "x", Array: storage.From([]float32{1, 2}, 2)}
	if err := serialize.Write(&b, "torch", serialize.Contents{Entries: serialize.Entries(x), Meta: torch.Bare("x")}); err != nil {
		t.Fatal(err)
	}
	f, err := serialize.OpenReader(bytes.NewReader(b.Bytes()), int64(b.Len()), "x.pt")
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	if got, want := f.Meta()["torch.structure"], torch.Bare("x")["torch.structure"]; got != want {
		t.Errorf("structure %q, want %q", got, want)
	}
}
