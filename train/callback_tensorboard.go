package train

import (
	"path/filepath"
	"strings"

	"github.com/h5dnn/h5dnn/internal/tfevents"
)

// TensorBoardOptions are the settings of a [TensorBoard].
type TensorBoardOptions struct {
	Folder string `json:"folder"` // of the event file; beside the run, with its name, if empty
	Every  int    `json:"every"`  // steps between events of steps; events of epochs only if 0
}

// TensorBoard writes an event file for TensorBoard: loss/train and loss/val, and so on, of each epoch, and step/loss and so on
// for every N steps.
type TensorBoard struct {
	log
	TensorBoardOptions
}

// eventFile is the name of the event file in its folder, by which TensorBoard knows it.
const eventFile = "events.out.tfevents.0.h5dnn"

// NewTensorBoard returns a callback that writes an event file.
func NewTensorBoard(o TensorBoardOptions) *TensorBoard {
	checkEvery("tensorboard", o.Every)
	t := &TensorBoard{TensorBoardOptions: o}
	folder := besides(o.Folder, ".tensorboard")
	t.log = log{name: "tensorboard", every: o.Every, append: appendEvent, begin: t.beginFile, size: tfevents.RecordSize,
		path: func(run string) string { return filepath.Join(folder(run), eventFile) }}
	return t
}

// beginFile writes the event that says the version.
func (t *TensorBoard) beginFile(continued bool) error {
	if !continued {
		t.write(tfevents.AppendRecord(nil, tfevents.Event{Time: t.flushed, Version: tfevents.Version}))
	}
	return nil
}

func appendEvent(b []byte, row logRow) ([]byte, error) {
	e := tfevents.Event{Time: row.Time, Step: int64(row.Step)}
	for _, n := range row.Numbers {
		if n.name != "step" {
			e.Scalars = append(e.Scalars, tfevents.Scalar{Tag: row.tag(n.name), Value: n.value})
		}
	}
	return tfevents.AppendRecord(b, e), nil
}

// tag returns the tag of a number, whose group is that before the slash.
func (r logRow) tag(name string) string {
	of, validated := strings.CutPrefix(name, "val_")
	switch {
	case !r.Epoch:
		return "step/" + name
	case validated:
		return of + "/val"
	}
	return name + "/train"
}

var _ = RegisterCallback("tensorboard", NewTensorBoard, TensorBoardOptions{Every: 50})
