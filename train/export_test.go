package train

import "github.com/h5dnn/h5dnn/storage"

// ScaleOf returns the state of what scales r's losses.
func ScaleOf(r *Run) storage.Array { return r.scaler.Array }
