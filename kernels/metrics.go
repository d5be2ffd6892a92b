package kernels

import (
	"fmt"
	"math"

	"github.com/h5dnn/h5dnn/dtype"
	"github.com/h5dnn/h5dnn/storage"
	"github.com/h5dnn/h5dnn/views"
)

// MetricsOptions are the options of AddMetrics.
type MetricsOptions struct{ Samples int } // whose mean the loss of a step is

// The elements of the running metrics, which are float64.
const (
	MetricLossSum        = iota // the sum of the losses of all samples
	MetricCorrect               // how many predictions were correct
	MetricSteps                 // how many steps there were
	MetricFirstNonFinite        // the first step whose loss was not finite, from 1; 0 if there was none
	MetricIgnored               // how many samples had a label that is ignored
	MetricsSize
)

// AddMetrics adds a step to the running metrics, its output: the step's loss, a single
// float, and, if there are a second and a third input, its numbers of correct predictions and of
// ignored samples, single int64.
var AddMetrics = define("add metrics",
	func(c *Call, _ MetricsOptions) error {
		if err := c.checkOperands(1, max(1, min(len(c.In), 3))); err != nil {
			return err
		}
		if err := checkVector(&c.Out[0], dtype.Float64, MetricsSize); err != nil {
			return err
		}
		if err := allFloats(c.In[0]); err != nil {
			return err
		}
		for i, a := range c.In {
			if a.Len() != 1 || i > 0 && a.Type != dtype.Int64 {
				return fmt.Errorf("input %d is %v%v; want a single float, and int64: %w", i, a.Type, a.Shape, views.ErrShape)
			}
		}
		return nil
	},
	func(c *Call, options MetricsOptions) error {
		sums, loss := storage.Elements[float64](c.Out[0])[c.Out[0].Offset:], []float64{0}
		load(loss, &c.In[0], c.In[0].Offset, 0)
		for i, metric := range []int{MetricCorrect, MetricIgnored}[:len(c.In)-1] {
			count, in := []int64{0}, &c.In[1+i]
			load(count, in, in.Offset, 0)
			sums[metric] += float64(count[0])
		}
		sums[MetricLossSum] += float64(loss[0] * float64(options.Samples))
		sums[MetricSteps]++
		if sums[MetricFirstNonFinite] == 0 && (math.IsNaN(loss[0]) || math.IsInf(loss[0], 0)) {
			sums[MetricFirstNonFinite] = sums[MetricSteps]
		}
		return nil
	}, nil)
