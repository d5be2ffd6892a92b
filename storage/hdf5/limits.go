package hdf5

import "github.com/h5dnn/h5dnn/storage/hdf5/internal/format"

// MaxRank is the largest number of axes of a dataset.
const MaxRank = format.MaxRank
