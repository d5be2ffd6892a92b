package nn

// Other spellings of the same layers.
type (
	Conv2D          = Conv2d
	MaxPool2D       = MaxPool2d
	AvgPool2D       = AvgPool2d
	GlobalAvgPool2D = GlobalAvgPool2d
	BatchNorm1D     = BatchNorm1d
	BatchNorm2D     = BatchNorm2d
	BatchNorm3D     = BatchNorm3d
)
