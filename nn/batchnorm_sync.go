package nn

import (
	"github.com/h5dnn/h5dnn/dtype"
	"github.com/h5dnn/h5dnn/storage"
	"github.com/h5dnn/h5dnn/tensor"
)

// A ShardSum adds numbers over all shards of a batch, each of which calls it with as many numbers.
type ShardSum func(numbers []float64) ([]float64, error)

// SetShardSum makes the layers of m with sync: true normalize by the statistics of all shards of a batch, and returns the
// number of these layers. A nil sum makes them normalize by the statistics of their own part.
func SetShardSum(m Module, sum ShardSum) (layers int) {
	for _, layer := range Modules(m) {
		if s, ok := layer.(interface{ setShardSum(ShardSum) bool }); ok && s.setShardSum(sum) {
			layers++
		}
	}
	return layers
}

func (b *BatchNormalization) setShardSum(sum ShardSum) bool {
	if b.Sync {
		b.sum = sum
	}
	return b.Sync
}

// synchronized is the layer in training with the statistics of all shards, in operations whose gradients follow: with
// S the sum over all shards and N = S(n),
//
//	mean = S(Σx)/N, variance = S(Σ(x − mean)²)/N
//
// which is the formula of PyTorch's SyncBatchNorm.
func (b *BatchNormalization) synchronized(x *tensor.Tensor, affine gammaBeta) *tensor.Tensor {
	x = x.ToFloat32()
	channels, others := make([]int, x.Rank()), []int{0}
	for axis := range channels {
		channels[axis] = 1
		if axis > 1 {
			others = append(others, axis)
		}
	}
	channels[1] = b.NumFeatures
	count := &shardSum{sum: b.sum, own: float64(x.Len() / b.NumFeatures)}
	sum := tensor.Apply(count, x.Sum(others...))
	n := count.total
	if n < 2 {
		tensor.Fail(b.layer, storage.ErrState, "%v value a channel in all shards: no variance to train on", n)
	}
	mean := sum.DivScalar(n)
	centered := x.Sub(mean.Reshape(channels...))
	variance := tensor.Apply(&shardSum{sum: b.sum}, centered.Square().Sum(others...)).DivScalar(n)
	b.track(b.RunningMean, mean)
	b.track(b.RunningVar, variance.MulScalar(n/(n-1)))
	scale := affine.gamma.Cast(x.DType()).Div(variance.AddScalar(nonZero(b.Eps)).Sqrt())
	return centered.Mul(scale.Reshape(channels...)).Add(affine.beta.Cast(x.DType()).Reshape(channels...))
}

// track moves a running statistic towards a statistic of a batch.
func (b *BatchNormalization) track(running *Buffer, batch *tensor.Tensor) {
	r := tensor.FromArray(running.Array)
	r.Assign(r.MulScalar(1 - b.Momentum).Add(batch.Detach().Cast(r.DType()).MulScalar(b.Momentum)))
}

// activate are the functions of activations.
var activate = map[tensor.Activation]func(*tensor.Tensor) *tensor.Tensor{
	tensor.NoActivation: func(x *tensor.Tensor) *tensor.Tensor { return x }, tensor.ReLUActivation: (*tensor.Tensor).ReLU,
	tensor.TanhActivation: (*tensor.Tensor).Tanh, tensor.SigmoidActivation: (*tensor.Tensor).Sigmoid, tensor.GELUActivation: (*tensor.Tensor).GELU,
	tensor.GELUTanhActivation: (*tensor.Tensor).GELUTanh, tensor.SiLUActivation: (*tensor.Tensor).SiLU,
}

// A shardSum is the operation of a ShardSum, on the CPU. Its gradient is the sum of the gradients of all shards.
type shardSum struct {
	sum        ShardSum
	own, total float64 // a number that is added besides
}

func (*shardSum) Name() string { return "sum over shards" }

func (*shardSum) Infer(in []tensor.Spec) []tensor.Spec {
	return []tensor.Spec{{Type: in[0].Type, View: in[0].View}}
}

func (op *shardSum) Forward(_ *tensor.Context, out, in []storage.Array) error {
	numbers, err := storage.Read[float64](in[0])
	if err != nil {
		return err
	}
	total, err := op.sum(append(numbers, op.own))
	if err != nil {
		return err
	}
	last := len(total) - 1
	op.total = total[last]
	result, err := storage.Make(storage.CPU, dtype.Float64, in[0].Shape...)
	if err != nil {
		return err
	}
	copy(storage.Elements[float64](result), total[:last])
	return result.CopyTo(out[0])
}

func (op *shardSum) Backward(_, grads, _ []*tensor.Tensor) []*tensor.Tensor {
	return []*tensor.Tensor{tensor.Apply(&shardSum{sum: op.sum}, grads[0])}
}
