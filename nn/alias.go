package nn

// Other spellings of the same layers.
type (
	Conv1D          = Conv1d
	Conv2D          = Conv2d
	Conv3D          = Conv3d
	Conv2dTranspose = ConvTranspose2d
	Conv2DTranspose = ConvTranspose2d
	MaxPool2D       = MaxPool2d
	AvgPool2D       = AvgPool2d
	GlobalAvgPool2D = GlobalAvgPool2d
	BatchNorm1D     = BatchNorm1d
	BatchNorm2D     = BatchNorm2d
	BatchNorm3D     = BatchNorm3d
)
