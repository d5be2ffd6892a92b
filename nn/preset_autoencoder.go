package nn

// autoencoder computes vectors of outputs numbers from a code of 16 numbers.
func autoencoder(outputs int) Module {
	return append(codeOf(16), decoder(outputs)...)
}

// variationalAutoencoder has a code of 16 normal numbers (Kingma and Welling, arXiv:1312.6114). Its divergence weighs as one of the outputs, whose
// losses are averaged.
func variationalAutoencoder(outputs int) Module {
	sample := NewGaussianSample(GaussianSampleOptions{KLWeight: 1 / float64(outputs)})
	return append(append(codeOf(2*16), sample), decoder(outputs)...)
}

// codeOf computes n numbers from a sample.
func codeOf(n int) Sequential {
	return Sequential{Flatten{}, lazyDense(256), ReLU{}, lazyDense(n)}
}

// decoder computes outputs numbers from a code.
func decoder(outputs int) Sequential {
	return Sequential{lazyDense(256), ReLU{}, lazyDense(outputs)}
}
