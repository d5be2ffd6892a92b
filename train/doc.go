// Package train trains models: it fits, evaluates and predicts, and saves runs that
// can be resumed with the same results, bit for bit on the same number of threads and
// the same instruction set.
//
//	import _ "github.com/h5dnn/h5dnn/serialize/hdf5" // the format of run.h5
//
//	c, err := train.ParseConfig(yaml)                  // model, data, optimizer
//	data, err := train.NewData(c, arrays)              // or OpenData: the caller opens files
//	run, err := train.New(ctx, c, data, storage.CPU)
//	err = run.Fit(ctx, data, train.Options{File: "run.h5"})
//
// A [Run] holds everything that determines its next step. [Fit] trains any model from
// any loader, without a configuration.
//
// On the CPU each step is made at once. A GPU is given steps ahead of time, most of
// them captured in a graph and replayed. In both cases a [Hook] sees the gradients
// between the backward pass and the update, and a [Callback] is told about steps and
// epochs.
//
// File formats belong to package serialize, the order of samples to package dataset,
// models to package nn.
package train
