package kernels

import "github.com/h5dnn/h5dnn/kernels/native"

// MaxGrad is dx = dy where x is y = max(x), divided evenly among equally large elements as in
// PyTorch, and 0 elsewhere. Its inputs are x, y and dy; y and dy have size 1 along the axes
// that Max reduced.
var MaxGrad = define("max grad",
	func(c *Call, _ struct{}) error {
		if err := c.checkOperands(1, 3); err != nil {
			return err
		}
		dx, x, y, dy := c.Out[0], c.In[0], c.In[1], c.In[2]
		if err := checkReduced(&y, &x); err != nil {
			return err
		}
		if err := oneShape(y, dy); err != nil {
			return err
		}
		if err := oneShape(x, dx); err != nil {
			return err
		}
		return allFloats(dx, x, y, dy)
	},
	func(c *Call, _ struct{}) error {
		dx, x, y, dy := c.Out[0], &c.In[0], &c.In[1], &c.In[2]
		top := broadcastTo(y, x.Shape)
		ties := zeros(x.Shape)
		referenceZip(tie, ties, *x, top)
		share := zeros(y.Shape)
		setElements(&share, reduce(0, add[float64], &ties, y.Shape))
		referenceZip(func(dy, n float64) float64 { return dy / n }, share, *dy, share)
		referenceZip(func(tie, share float64) float64 {
			if tie == 0 {
				return 0
			}
			return share
		}, dx, ties, broadcastTo(&share, x.Shape))
		return nil
	},
	func(c *Call, _ struct{}) (bool, error) {
		dx, x, y, dy := &c.Out[0], &c.In[0], &c.In[1], &c.In[2]
		real, ok := native.ComputeTypeOf(x.Type)
		if !ok || x.Len() == 0 || x.Rank() > 64 {
			return x.Len() == 0, nil
		}
		stays, goes := axesOf(y, x)
		var kept, over native.Grid
		if !kept.Along(stays, &dx.View, &x.View, &y.View, &dy.View) || !over.Along(goes, &dx.View, &x.View) {
			return false, nil
		}
		kept.First[0] += over.First[0] - dx.Offset
		kept.First[1] += over.First[1] - x.Offset
		native.MaxGrad(real, &kept, &over, at(&kept, 0, dx), at(&kept, 1, x), at(&kept, 2, y), at(&kept, 3, dy))
		return true, nil
	})

// tie is 1 if x is the largest element y, NaN being the largest, else 0.
func tie(x, y float64) float64 {
	if x == y || x != x && y != y {
		return 1
	}
	return 0
}
