// Package train is the loop: fit, evaluate, predict, and a file that a run can
// go on from.
//
//	c, err := train.ParseConfig(yaml)                  // what, on what, how
//	data, err := train.NewData(c, arrays)              // or OpenData: the caller opens files
//	run, err := train.New(c, data, storage.CPU)
//	err = run.Fit(ctx, data, train.Options{File: "run.h5"})
//
// All that decides what a run does next is in its [Run]; [Save] and [Resume]
// keep it in one file, and a run resumed anywhere goes on bit by bit as it would
// have. Formats of files belong to package serialize, the order of samples to
// package dataset, models to package nn.
package train
