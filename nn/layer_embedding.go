package nn

import (
	"strings"

	"github.com/h5dnn/h5dnn/dtype"
	"github.com/h5dnn/h5dnn/storage"
	"github.com/h5dnn/h5dnn/tensor"
	"github.com/h5dnn/h5dnn/views"
)

// EmbeddingOptions are the settings of an Embedding.
type EmbeddingOptions struct {
	NumEmbeddings int                `json:"num_embeddings"`        // rows of the table: integers are 0 to one less; required
	EmbeddingDim  int                `json:"embedding_dim"`         // numbers of a row; required
	PaddingIdx    *int               `json:"padding_idx,omitempty"` // integer whose row begins as zeros and is not trained; none if nil
	Initializer   InitializerSetting `json:"initializer"`           // normal, the standard normal distribution, if empty
	DType         dtype.Type         `json:"dtype,omitzero"`        // float32 if absent
	Device        storage.Device     `json:"-" nn:"-"`              // the CPU if nil
}

// Embedding gives integers (…), such as the numbers of words, the rows of Weight (num, dim) that they count: (…, dim). The
// gradient of a row is the sum over its integers in their order, the same each time on every device.
type Embedding struct {
	EmbeddingOptions
	Weight *Parameter
}

// NewEmbedding returns an Embedding. NumEmbeddings and EmbeddingDim are required.
func NewEmbedding(o EmbeddingOptions) *Embedding {
	if o.NumEmbeddings < 1 || o.EmbeddingDim < 1 {
		tensor.Fail("embedding", views.ErrShape, "num_embeddings %d, embedding_dim %d; want at least 1 of each", o.NumEmbeddings, o.EmbeddingDim)
	}
	if p := o.PaddingIdx; p != nil && (*p < 0 || *p >= o.NumEmbeddings) {
		tensor.Fail("embedding", ErrConfig, "padding_idx %d; want 0 to %d", *p, o.NumEmbeddings-1)
	}
	if o.Initializer == "" {
		o.Initializer = "normal"
	}
	alloc := NewAllocator("embedding", o.Device, o.DType)
	o.Device, o.DType = alloc.Device, alloc.DType
	fill, _ := fillsOf("embedding", o.Initializer, o.EmbeddingDim, o.NumEmbeddings)
	return &Embedding{o, alloc.Param(o.withPadding(fill), o.NumEmbeddings, o.EmbeddingDim)}
}

// withPadding returns fill with zeros in the row of the padding.
func (o EmbeddingOptions) withPadding(fill Fill) Fill {
	if o.PaddingIdx == nil {
		return fill
	}
	return func(a storage.Array, key tensor.Key) {
		fill(a, key)
		a.View = a.View.Narrow(0, *o.PaddingIdx, *o.PaddingIdx+1)
		tensor.FromArray(a).Fill(0)
	}
}

// Forward returns the rows of x.
func (e *Embedding) Forward(x *tensor.Tensor) *tensor.Tensor {
	if e.Weight == nil {
		tensor.Fail("embedding", storage.ErrState, "not built; make it by NewEmbedding")
	}
	if !x.DType().IsInt() {
		tensor.Fail("embedding", dtype.ErrType, "inputs of %v; want integers that count rows, such as of cast: int64", x.DType())
	}
	checkDevice("embedding", x, e.Weight.Device())
	defer nameRows(e.NumEmbeddings)
	flat := x.Contiguous().Reshape(x.Len())
	rows := e.Weight.Tensor.IndexSelect(0, flat)
	if p := e.PaddingIdx; p != nil { // no gradient reaches the row of the padding
		rows = tensor.Where(flat.EqScalar(*p).Reshape(x.Len(), 1).Expand(rows.Shape()...), rows.Detach(), rows)
	}
	return rows.Reshape(append(append([]int{}, x.Shape()...), e.EmbeddingDim)...)
}

// nameRows, deferred, says of a failure how many rows there are.
func nameRows(n int) {
	switch p := recover().(type) {
	case nil:
	case *tensor.Error:
		if p.Op == "embedding" { // said already
			panic(p)
		}
		text := strings.TrimSuffix(strings.TrimPrefix(p.Err.Error(), "gather: "), ": "+views.ErrShape.Error())
		tensor.Fail("embedding", p.Err, "%s, the rows that num_embeddings: %d makes", text, n)
	default:
		panic(p)
	}
}

// InputSpec says that the inputs are integers.
func (e *Embedding) InputSpec() InputSpec { return InputSpec{Type: dtype.Int64} }

var _ = RegisterLayer("embedding", NewEmbedding, EmbeddingOptions{})
