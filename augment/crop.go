package augment

import (
	"github.com/h5dnn/h5dnn/nn"
	"github.com/h5dnn/h5dnn/tensor"
)

// CropOptions are the settings of a Crop.
type CropOptions struct {
	Size    nn.Sizes `json:"size,omitempty"`    // height and width of the result; the size of the image if absent
	Padding nn.Sizes `json:"padding,omitempty"` // pixels that are added to each side first: rows and columns
	Center  bool     `json:"center,omitempty"`  // the crop is in the center instead of a random place
	Border  Border   `json:"border,omitempty"`  // of the padding: constant, edge or reflect; constant if empty
	Fill    float64  `json:"fill,omitempty"`    // the constant
}

// Crop cuts a part out of images, at a random place.
type Crop struct {
	geometric
	CropOptions
}

// NewCrop returns a crop.
func NewCrop(o CropOptions) *Crop {
	checkSizes("crop", o.Size, o.Padding)
	borders{o.Border, o.Fill}.check("crop")
	return &Crop{CropOptions: o}
}

// checkSizes fails for sizes that are not one or two numbers, or negative.
func checkSizes(name string, all ...nn.Sizes) {
	for _, sizes := range all {
		if len(sizes) > 2 || len(sizes) > 0 && min(sizes[0], sizes[len(sizes)-1]) < 0 {
			tensor.Fail(name, nn.ErrConfig, "%v; want a number of pixels, or one for rows and one for columns", []int(sizes))
		}
	}
}

// pair returns the numbers for rows and columns.
func pair(s nn.Sizes) (rows, columns int) {
	if len(s) == 0 {
		return 0, 0
	}
	return s[0], s[len(s)-1]
}

// Output returns the fields with images of the size of the crop.
func (a *Crop) Output(fields []Field) ([]Field, error) {
	frame := frameOf(fields)
	out, err := moved(a, fields, a.Size)
	if err != nil {
		return nil, err
	}
	rows, columns := pair(a.Padding)
	if now := frameOf(out); now.height() > frame.height()+2*rows || now.width() > frame.width()+2*columns {
		return nil, wrongField(a, frame, "an image that is larger than the crop; set padding")
	}
	return out, nil
}

// Apply crops a sample.
func (a *Crop) Apply(to, from Sample, r *Random) error {
	rows, columns := pair(a.Padding)
	in, out := frameOf(from.Fields), frameOf(to.Fields)
	y, x := in.height()+2*rows-out.height(), in.width()+2*columns-out.width()
	if a.Center {
		y, x = y/2, x/2
	} else {
		y, x = r.Intn(y+1), r.Intn(x+1)
	}
	return move{forward: matrix{1, 0, float64(columns - x), 0, 1, float64(rows - y)}, borders: borders{a.Border, a.Fill}}.apply(to, from)
}

// Fixed reports whether the crop is in the center.
func (a *Crop) Fixed() bool { return a.Center }

var _ = Register("crop", NewCrop, CropOptions{})
