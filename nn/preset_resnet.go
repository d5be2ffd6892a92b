package nn

// conv returns a convolution of images that keeps their size, divided by the stride, without a bias.
func conv(out, kernel, stride, groups int) *Conv2d {
	return NewConv2d(ConvOptions{OutChannels: out, KernelSize: Sizes{kernel}, Stride: Sizes{stride}, Padding: Sizes{kernel / 2}, Groups: groups, NoBias: true})
}

func channelNorm(channels int) *BatchNorm2d {
	return NewBatchNorm2d(BatchNormOptions{NumFeatures: channels})
}

// block returns the nodes of a residual block from its body, whose nodes take one another: the sum with
// the input, or with shortcut of it unless that is nil, and a ReLU.
func block(body Nodes, shortcut Module) *Graph {
	other := "x"
	last := body[len(body)-1].Name
	if shortcut != nil {
		other = "downsample"
		body = append(body, Node{Name: other, Module: shortcut, From: Names{"x"}})
	}
	return NewGraph(GraphOptions{Nodes: append(body, Node{Name: "add", Module: Add{}, From: Names{last, other}}, Node{Name: "relu", Module: ReLU{}})})
}

// A residual makes a block of ResNet (He et al., arXiv:1512.03385) from a number of channels to width times
// its expansion.
type residual func(in, width, stride int) (b *Graph, out int)

// shortcut returns what a block adds its body to: a 1×1 convolution where the shape changes.
func shortcut(in, out, stride int) Module {
	if in == out && stride == 1 {
		return nil
	}
	return Sequential{conv(out, 1, stride, 1), channelNorm(out)}
}

func basicBlock(in, width, stride int) (b *Graph, out int) {
	return block(Nodes{
		{Name: "conv1", Module: conv(width, 3, stride, 1)}, {Name: "bn1", Module: channelNorm(width)}, {Name: "relu1", Module: ReLU{}},
		{Name: "conv2", Module: conv(width, 3, 1, 1)}, {Name: "bn2", Module: channelNorm(width)},
	}, shortcut(in, width, stride)), width
}

// bottleneck has the stride in its 3×3 convolution, as torchvision's.
func bottleneck(in, width, stride int) (b *Graph, out int) {
	out = 4 * width
	return block(Nodes{
		{Name: "conv1", Module: conv(width, 1, 1, 1)}, {Name: "bn1", Module: channelNorm(width)}, {Name: "relu1", Module: ReLU{}},
		{Name: "conv2", Module: conv(width, 3, stride, 1)}, {Name: "bn2", Module: channelNorm(width)}, {Name: "relu2", Module: ReLU{}},
		{Name: "conv3", Module: conv(out, 1, 1, 1)}, {Name: "bn3", Module: channelNorm(out)},
	}, shortcut(in, out, stride)), out
}

// resNet returns a ResNet with the given number of blocks in each of its stages. That for small images
// begins with a 3×3 convolution and has no pooling before the blocks (section 4.2 of the paper).
func resNet(of residual, blocks []int, small bool, classes int) Module {
	nodes := Nodes{{Name: "conv1", Module: conv(64, 7, 2, 1)}, {Name: "bn1", Module: channelNorm(64)}, {Name: "relu", Module: ReLU{}},
		{Name: "maxpool", Module: NewMaxPool2d(PoolOptions{KernelSize: Sizes{3}, Stride: Sizes{2}, Padding: Sizes{1}})}}
	if small {
		nodes = nodes[:3]
		nodes[0].Module = conv(64, 3, 1, 1)
	}
	channels := 64
	for i, count := range blocks {
		var stage Sequential
		for k := range count {
			stride := 1
			if i > 0 && k == 0 {
				stride = 2
			}
			var b *Graph
			b, channels = of(channels, 64<<i, stride)
			stage = append(stage, b)
		}
		nodes = append(nodes, Node{Name: "layer" + string(rune('1'+i)), Module: stage})
	}
	return NewGraph(GraphOptions{Nodes: append(nodes, Node{Name: "avgpool", Module: GlobalAvgPool2d{}}, Node{Name: "flatten", Module: Flatten{}}, Node{Name: "fc", Module: lazyDense(classes)})})
}
