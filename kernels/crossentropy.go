package kernels

import (
	"fmt"
	"math"

	"github.com/h5dnn/h5dnn/dtype"
	"github.com/h5dnn/h5dnn/kernels/native"
	"github.com/h5dnn/h5dnn/storage"
	"github.com/h5dnn/h5dnn/views"
)

// CrossEntropy is the mean over rows of −ln softmax(x)[label], for x (N, C) and
// N labels of any integer type. Its outputs are that one element and, where they
// are given, its derivative (softmax(x) − onehot(label))/N, of x's shape, and what
// Correct counts.
var CrossEntropy = define("cross entropy",
	func(c *Call, _ struct{}) error {
		if err := c.checkOperands(max(1, min(len(c.Out), 3)), 2); err != nil {
			return err
		}
		if err := checkLabelled(c); err != nil {
			return err
		}
		if len(c.Out) > 1 {
			if err := oneShape(c.In[0], c.Out[1]); err != nil {
				return err
			}
		}
		if len(c.Out) > 2 {
			if err := checkCount(&c.Out[2]); err != nil {
				return err
			}
		}
		if err := allFloats(c.In[0]); err != nil {
			return err
		}
		return oneType(c.In[0].Type, c.Out[:min(len(c.Out), 2)]...)
	},
	func(c *Call, _ struct{}) error {
		loss, x := 0.0, &c.In[0]
		rows, classes := x.Shape[0], x.Shape[1]
		labels, err := labelsOf(&c.In[1], classes)
		if err != nil {
			return err
		}
		row := make([]float64, classes)
		for i, label := range labels {
			l := line{x, x.Offset + i*x.Stride[0], x.Stride[1], classes}
			row = l.read(row)
			top, sum := largest(row), 0.0
			for _, x := range row {
				sum += math.Exp(x - top)
			}
			loss -= row[label] - top - math.Log(sum)
			if len(c.Out) == 1 {
				continue
			}
			for j := range row {
				row[j] = math.Exp(row[j]-top) / sum / float64(rows)
			}
			row[label] -= 1 / float64(rows)
			dx := &c.Out[1]
			line{dx, dx.Offset + i*dx.Stride[0], dx.Stride[1], classes}.write(row)
		}
		store(&c.Out[0], c.Out[0].Offset, 0, []float64{loss / float64(rows)})
		if len(c.Out) > 2 {
			return CPU.Run(Correct, &Call{Out: c.Out[2:], In: c.In})
		}
		return nil
	},
	func(c *Call, _ struct{}) (bool, error) {
		x, labels := &c.In[0], &c.In[1]
		in, real, ok, err := nativeLabelled(x, labels)
		if !ok || err != nil {
			return false, err
		}
		var dx []byte
		var row, col int
		if len(c.Out) > 1 {
			dx, row, col = start(&c.Out[1]), c.Out[1].Stride[0], c.Out[1].Stride[1]
		}
		done := in.CrossEntropy(real, start(x), start(labels), start(&c.Out[0]), dx, row, col)
		if done && len(c.Out) > 2 {
			return true, CPU.Run(Correct, &Call{Out: c.Out[2:], In: c.In})
		}
		return done, nil
	})

// Correct counts the rows of x (N, C) whose largest element, the first of several,
// is at their label, as int64.
var Correct = define("correct",
	func(c *Call, _ struct{}) error {
		if err := c.checkOperands(1, 2); err != nil {
			return err
		}
		if err := checkCount(&c.Out[0]); err != nil {
			return err
		}
		if computeTypeOf(c.In[0].Type) != dtype.Float64 {
			return notDefined(c.In[0].Type)
		}
		return checkLabelled(c)
	},
	func(c *Call, _ struct{}) error {
		correct, x := int64(0), &c.In[0]
		labels, err := labelsOf(&c.In[1], x.Shape[1])
		if err != nil {
			return err
		}
		var row []float64
		for i, label := range labels {
			row = line{x, x.Offset + i*x.Stride[0], x.Stride[1], x.Shape[1]}.read(row)
			if argmax(row) == label {
				correct++
			}
		}
		store(&c.Out[0], c.Out[0].Offset, 0, []int64{correct})
		return nil
	},
	func(c *Call, _ struct{}) (bool, error) {
		x, labels, y := &c.In[0], &c.In[1], &c.Out[0]
		in, real, ok, err := nativeLabelled(x, labels)
		if !ok || err != nil {
			return false, err
		}
		storage.Elements[int64](*y)[y.Offset] = in.Correct(real, start(x), start(labels))
		return true, nil
	})

// nativeLabelled describes x and labels to C, and returns x's type. It fails unless every label is
// a column of x, and returns false for calls that are left to the reference.
func nativeLabelled(x, labels *storage.Array) (in native.Labelled, real native.ComputeType, ok bool, err error) {
	if real, ok = native.ComputeTypeOf(x.Type); !ok || x.Len() == 0 {
		return in, real, false, nil
	}
	in.Rows, in.Cols, in.Row, in.Col = int64(x.Shape[0]), int64(x.Shape[1]), int64(x.Stride[0]), int64(x.Stride[1])
	describeLabels(&in, labels)
	if row, label := in.BadLabel(start(labels)); row >= 0 {
		return in, real, false, badLabel(row, label, x.Shape[1])
	}
	return in, real, true, nil
}

// describeLabels describes labels to C.
func describeLabels(in *native.Labelled, labels *storage.Array) {
	in.Step, in.Size = int64(labels.Stride[0]), int32(labels.Type.Size())
	if labels.Type.IsSigned() {
		in.Sign = 1
	}
}

// checkCount checks that a is an int64.
func checkCount(a *storage.Array) error {
	if a.Len() != 1 {
		return fmt.Errorf("the count is %v; want one element: %w", a.Shape, views.ErrShape)
	}
	return oneType(dtype.Int64, *a)
}

// checkLabelled checks for one output element, inputs (N, C) and (N), C > 0.
func checkLabelled(c *Call) error {
	x, labels := &c.In[0], &c.In[1]
	if c.Out[0].Len() != 1 {
		return fmt.Errorf("output is %v; want one element: %w", c.Out[0].Shape, views.ErrShape)
	}
	if x.Rank() != 2 || labels.Rank() != 1 || labels.Shape[0] != x.Shape[0] || x.Shape[1] == 0 {
		return fmt.Errorf("%v with labels %v; want (N, classes) and (N): %w", x.Shape, labels.Shape, views.ErrShape)
	}
	if !labels.Type.IsInt() {
		return fmt.Errorf("labels are %v; want integers: %w", labels.Type, dtype.ErrType)
	}
	return nil
}

// labelsOf reads labels from 0 to classes−1.
func labelsOf(a *storage.Array, classes int) ([]int, error) {
	labels := make([]int, 0, a.Len())
	for i := range a.Len() {
		var label [1]int64
		load(label[:], a, a.Offset+i*a.Stride[0], 0)
		if label[0] < 0 || label[0] >= int64(classes) {
			return nil, badLabel(i, label[0], classes)
		}
		labels = append(labels, int(label[0]))
	}
	return labels, nil
}

func badLabel(row int, label int64, classes int) error {
	return fmt.Errorf("row %d has label %d; want 0 to %d: %w", row, label, classes-1, views.ErrShape)
}
