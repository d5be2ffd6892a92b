package nn

// lstmModel is an LSTM of two layers of 64 for sequences (N, T, F), and a product of its last state: for classes, or for numbers of a forecast.
func lstmModel(outputs int) Module {
	return Sequential{NewLSTM(LSTMOptions{RecurrentOptions: RecurrentOptions{HiddenSize: 64, NumLayers: 2}}), lazyDense(outputs)}
}

// gruModel is lstmModel with a GRU.
func gruModel(outputs int) Module {
	return Sequential{NewGRU(GRUOptions{RecurrentOptions: RecurrentOptions{HiddenSize: 64, NumLayers: 2}}), lazyDense(outputs)}
}
