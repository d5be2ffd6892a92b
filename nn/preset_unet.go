package nn

// unet is Ronneberger et al., arXiv:1505.04597, with padding and batch norms: three poolings over 2 or 3 axes, with channels from
// width on, and an output for each class and pixel. The sizes of images are multiples of 8.
func unet(axes, width, classes int) Module {
	convolution := func(o ConvOptions) Module { return NewConv2d(o) }
	up := func(o ConvTransposeOptions) Module { return NewConvTranspose2d(o) }
	batchNorm := func(o BatchNormOptions) Module { return NewBatchNorm2d(o) }
	pool := func(o PoolOptions) Module { return NewMaxPool2d(o) }
	if axes == 3 {
		convolution = func(o ConvOptions) Module { return NewConv3d(o) }
		up = func(o ConvTransposeOptions) Module { return NewConvTranspose3d(o) }
		batchNorm = func(o BatchNormOptions) Module { return NewBatchNorm3d(o) }
		pool = func(o PoolOptions) Module { return NewMaxPool3d(o) }
	}
	double := func(out int) Sequential {
		var s Sequential
		for range 2 {
			s = append(s, convolution(ConvOptions{OutChannels: out, KernelSize: Sizes{3}, Padding: Sizes{1}}), batchNorm(BatchNormOptions{NumFeatures: out}), ReLU{})
		}
		return s
	}
	var nodes Nodes
	const levels = 3
	for i := range levels {
		level := string(rune('1' + i))
		nodes = append(nodes, Node{Name: "down" + level, Module: double(width << i)}, Node{Name: "pool" + level, Module: pool(PoolOptions{KernelSize: Sizes{2}})})
	}
	nodes = append(nodes, Node{Name: "bottom", Module: double(width << levels)})
	for i := levels - 1; i >= 0; i-- {
		level := string(rune('1' + i))
		nodes = append(nodes,
			Node{Name: "up" + level, Module: up(ConvTransposeOptions{OutChannels: width << i, KernelSize: Sizes{2}, Stride: Sizes{2}})},
			Node{Name: "concat" + level, Module: NewConcat(ConcatOptions{}), From: Names{"down" + level, "up" + level}},
			Node{Name: "join" + level, Module: double(width << i)})
	}
	return NewGraph(GraphOptions{Nodes: append(nodes, Node{Name: "out", Module: convolution(ConvOptions{OutChannels: classes, KernelSize: Sizes{1}})})})
}
