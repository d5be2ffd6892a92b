package nn

// convNorm is a convolution, a batch norm and, unless it is nil, an activation.
func convNorm(out, kernel, stride, groups int, act Module) Sequential {
	s := Sequential{conv(out, kernel, stride, groups), channelNorm(out)}
	if act != nil {
		s = append(s, act)
	}
	return s
}

// classifier is a dropout and a dense layer.
func classifier(drop float64, classes int) Sequential {
	return Sequential{NewDropout(DropoutOptions{P: drop}), lazyDense(classes)}
}

// imageModel is features of images, their means and a classifier.
func imageModel(features Sequential, classes int) Module {
	return NewGraph(GraphOptions{Nodes: Nodes{
		{Name: "features", Module: features}, {Name: "avgpool", Module: GlobalAvgPool2d{}}, {Name: "flatten", Module: Flatten{}},
		{Name: "classifier", Module: classifier(0.2, classes)},
	}})
}

// inverted is a graph of one body, named as torchvision does, to which the input is added where shapes allow.
func inverted(name string, body Sequential, adds bool) Module {
	nodes := Nodes{{Name: name, Module: body}}
	if adds {
		nodes = append(nodes, Node{Name: "add", Module: Add{}, From: Names{name, "x"}})
	}
	return NewGraph(GraphOptions{Nodes: nodes})
}

// mobileNetV2 is Sandler et al., arXiv:1801.04381, table 2.
func mobileNetV2(classes int) Module {
	relu6 := NewHardtanh(HardtanhOptions{Min: 0, Max: 6})
	features, in := Sequential{convNorm(32, 3, 2, 1, relu6)}, 32
	for _, s := range []struct{ expansion, out, count, stride int }{{1, 16, 1, 1}, {6, 24, 2, 2}, {6, 32, 3, 2}, {6, 64, 4, 2}, {6, 96, 3, 1}, {6, 160, 3, 2}, {6, 320, 1, 1}} {
		for k := range s.count {
			stride, hidden := 1, in*s.expansion
			if k == 0 {
				stride = s.stride
			}
			var body Sequential
			if s.expansion != 1 {
				body = append(body, convNorm(hidden, 1, 1, 1, relu6))
			}
			body = append(body, convNorm(hidden, 3, stride, hidden, relu6), conv(s.out, 1, 1, 1), channelNorm(s.out))
			features = append(features, inverted("conv", body, stride == 1 && in == s.out))
			in = s.out
		}
	}
	return imageModel(append(features, convNorm(1280, 1, 1, 1, relu6)), classes)
}

// efficientNetB0 is Tan and Le, arXiv:1905.11946, table 1, without stochastic depth.
func efficientNetB0(classes int) Module {
	features, in := Sequential{convNorm(32, 3, 2, 1, SiLU{})}, 32
	for _, s := range []struct{ expansion, kernel, out, count, stride int }{{1, 3, 16, 1, 1}, {6, 3, 24, 2, 2}, {6, 5, 40, 2, 2}, {6, 3, 80, 3, 2}, {6, 5, 112, 3, 1}, {6, 5, 192, 4, 2}, {6, 3, 320, 1, 1}} {
		var stage Sequential
		for k := range s.count {
			stride, hidden := 1, in*s.expansion
			if k == 0 {
				stride = s.stride
			}
			var body Sequential
			if s.expansion != 1 {
				body = append(body, convNorm(hidden, 1, 1, 1, SiLU{}))
			}
			body = append(body, convNorm(hidden, s.kernel, stride, hidden, SiLU{}),
				NewSqueezeExcite(SqueezeExciteOptions{Channels: hidden, Squeezed: max(1, in/4)}), convNorm(s.out, 1, 1, 1, nil))
			stage = append(stage, inverted("block", body, stride == 1 && in == s.out))
			in = s.out
		}
		features = append(features, stage)
	}
	return imageModel(append(features, convNorm(1280, 1, 1, 1, SiLU{})), classes)
}
