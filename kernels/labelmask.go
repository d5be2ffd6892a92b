package kernels

import (
	"fmt"

	"github.com/h5dnn/h5dnn/dtype"
	"github.com/h5dnn/h5dnn/kernels/launch"
	"github.com/h5dnn/h5dnn/kernels/native"
	"github.com/h5dnn/h5dnn/storage"
	"github.com/h5dnn/h5dnn/views"
)

// LabelMaskOptions are the options of LabelMask.
type LabelMaskOptions struct {
	Classes int
	Ignore  int64 // the label that is masked, if Ignores
	Ignores bool
}

// LabelMask is y = 1 for labels from 0 to Classes−1, and 0 for the label to ignore, for N labels of
// any integer type and floats y (N). Any other label is an error that names its row.
var LabelMask = define("label mask",
	func(c *Call, _ LabelMaskOptions) error {
		if err := c.checkOperands(1, 1); err != nil {
			return err
		}
		y, labels := &c.Out[0], &c.In[0]
		if y.Rank() != 1 {
			return fmt.Errorf("%v; want (N): %w", y.Shape, views.ErrShape)
		}
		if err := oneShape(*y, *labels); err != nil {
			return err
		}
		if !labels.Type.IsInt() {
			return fmt.Errorf("labels are %v; want integers: %w", labels.Type, dtype.ErrType)
		}
		return allFloats(*y)
	},
	func(c *Call, options LabelMaskOptions) error {
		y, labels := &c.Out[0], &c.In[0]
		for i := range y.Shape[0] {
			var label [1]int64
			load(label[:], labels, labels.Offset+i*labels.Stride[0], 0)
			mask := 1.0
			switch {
			case options.Ignores && label[0] == options.Ignore:
				mask = 0
			case label[0] < 0 || label[0] >= int64(options.Classes):
				return badLabel(i, label[0], options.Classes)
			}
			store(y, y.Offset+i*y.Stride[0], 0, []float64{mask})
		}
		return nil
	},
	func(c *Call, options LabelMaskOptions) (bool, error) {
		y, labels := &c.Out[0], &c.In[0]
		real, ok := native.ComputeTypeOf(y.Type)
		if !ok || y.Len() == 0 {
			return false, nil
		}
		in := native.Labelled{Rows: int64(y.Shape[0]), Cols: int64(options.Classes)}
		describeLabels(&in, labels)
		if row, label := in.Mask(real, start(labels), start(y), y.Stride[0], options.Ignores, options.Ignore); row >= 0 {
			return false, badLabel(row, label, options.Classes)
		}
		return true, nil
	})

var _ = onGPU(LabelMask, func(c *Call, options LabelMaskOptions) error {
	y, labels := &c.Out[0], &c.In[0]
	if y.Len() == 0 {
		return nil
	}
	args := labelMaskArgs{
		labelledArgs: c.labelledOf(labels, options.Classes),
		y:            c.gpu.First(y), yStep: int64(y.Stride[0]), ignore: options.Ignore,
	}
	if options.Ignores {
		args.ignores = 1
	}
	blocks := min(launch.Ceil(y.Len(), launch.Threads), launch.MaxX)
	return launch.Blocks(c.gpu, launch.Entry("label mask", y.Type), [3]uint32{uint32(blocks), 1, 1}, launch.Threads, &args)
})

// labelMaskArgs is LabelMask of losses.cu.
type labelMaskArgs struct {
	labelledArgs
	y                      uint64
	yStep, ignore, ignores int64
}

// labelledOf returns the kernel arguments of labels with the given number of classes.
func (c *Call) labelledOf(labels *storage.Array, classes int) labelledArgs {
	args := labelledArgs{
		labels: c.gpu.First(labels), fault: c.gpu.FaultAddress(), rows: int64(labels.Shape[0]), cols: int64(classes),
		step: int64(labels.Stride[0]), size: int64(labels.Type.Size()),
	}
	if labels.Type.IsSigned() {
		args.sign = 1
	}
	return args
}
