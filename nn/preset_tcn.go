package nn

// tcn is a temporal convolutional network of sequences (N, C, L) (Bai et al., arXiv:1803.01271): residual blocks of two
// convolutions of three elements of the past, 1, 2, 4 and 8 apart, and the means over time.
func tcn(classes int) Module {
	const width = 64
	var model Sequential
	for i := range 4 {
		dilation := 1 << i
		causal := func() *Conv1d {
			return NewConv1d(ConvOptions{OutChannels: width, KernelSize: Sizes{3}, Dilation: Sizes{dilation}, Padding: Sizes{2 * dilation}, PaddingAfter: Sizes{0}})
		}
		batchNorm := func() *BatchNorm1d { return NewBatchNorm1d(BatchNormOptions{NumFeatures: width}) }
		block := ResidualOptions{Body: Submodule{Module: Sequential{causal(), batchNorm(), ReLU{}, causal(), batchNorm(), ReLU{}}}}
		if i == 0 {
			block.Shortcut.Module = NewConv1d(ConvOptions{OutChannels: width, KernelSize: Sizes{1}})
		}
		model = append(model, NewResidual(block), ReLU{})
	}
	return append(model, GlobalAvgPool1d{}, Flatten{}, lazyDense(classes))
}
