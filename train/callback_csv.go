package train

import (
	"bufio"
	"bytes"
	"encoding/csv"
	"fmt"
	"io"
	"slices"
	"strconv"

	"github.com/h5dnn/h5dnn/storage"
)

// CSV writes a table: a row for each epoch, or with every for every N steps instead. The first row has the names.
type CSV struct {
	log
	LogOptions
	names []string // of the columns
}

// NewCSV returns a callback that writes a table of epochs or of steps.
func NewCSV(o LogOptions) *CSV {
	checkEvery("csv", o.Every)
	c := &CSV{LogOptions: o}
	c.log = log{name: "csv", every: o.Every, path: besides(o.File, ".csv"), append: c.appendRow, begin: c.readNames, size: lineSize}
	return c
}

// readNames reads the first row of a table that is continued.
func (c *CSV) readNames(continued bool) (err error) {
	if c.names = nil; continued {
		c.names, err = csv.NewReader(bufio.NewReader(io.NewSectionReader(c.file, 0, 1<<20))).Read()
	}
	return err
}

func (c *CSV) appendRow(b []byte, row logRow) ([]byte, error) {
	if row.Epoch == (c.Every > 0) {
		return b, nil
	}
	to := bytes.NewBuffer(b)
	w := csv.NewWriter(to)
	if c.names == nil {
		for _, n := range row.Numbers {
			c.names = append(c.names, n.name)
		}
		w.Write(c.names)
	}
	cells := make([]string, len(c.names))
	for _, n := range row.Numbers {
		k := slices.Index(c.names, n.name)
		if k < 0 {
			return nil, fmt.Errorf("%s has no column %s; move the file away: %w", c.file.Name(), n.name, storage.ErrState)
		}
		cells[k] = strconv.FormatFloat(n.value, 'g', -1, 64)
	}
	w.Write(cells)
	w.Flush()
	return to.Bytes(), w.Error()
}

var _ = RegisterCallback("csv", NewCSV, LogOptions{})
