package main

import (
	"bufio"
	byteorder "encoding/binary"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"sort"

	"github.com/h5dnn/h5dnn/dataset"
	"github.com/h5dnn/h5dnn/storage/hdf5"
)

// gatherProgram is compiled from gather/gather.c by make.
const gatherProgram = "bench/out/gather"

// gatherInC copies the rows of a large file in the order of a shuffled epoch by a C
// program, in one of its ways.
func gatherInC(name, way string) func(folders) (task, error) {
	return func(in folders) (task, error) {
		path := filepath.Join(in.made, name)
		order, row, err := windowOrder(path)
		if err != nil {
			return task{}, err
		}
		c := exec.Command(gatherProgram, path, order, fmt.Sprint(row), fmt.Sprint(batchSize), way)
		c.Stderr = os.Stderr
		input, err := c.StdinPipe()
		if err != nil {
			return task{}, err
		}
		output, err := c.StdoutPipe()
		if err != nil {
			return task{}, err
		}
		if err := c.Start(); err != nil {
			os.Remove(order)
			return task{}, err
		}
		lines := bufio.NewReader(output)
		return task{
			once: func() error {
				fmt.Fprintln(input, 1)
				_, err := lines.ReadString('\n')
				return err
			},
			done: func() {
				input.Close()
				c.Wait()
				os.Remove(order)
			},
		}, nil
	}
}

// windowOrder writes the offset and the block of each row of an epoch shuffled by window,
// and returns the name of what it wrote and the size of a row.
func windowOrder(path string) (name string, row int, err error) {
	f, err := hdf5.Open(path)
	if err != nil {
		return "", 0, err
	}
	defer f.Close()
	at, row, err := rowOffsets(f, "images")
	if err != nil {
		return "", 0, err
	}
	x, err := array(f, "images")
	if err != nil {
		return "", 0, err
	}
	d, err := dataset.FromArrays(dataset.NamedArray{Name: "x", Array: x})
	if err != nil {
		return "", 0, err
	}
	l, err := dataset.NewLoader(d, dataset.Options{BatchSize: batchSize, OrderOnly: true})
	if err != nil {
		return "", 0, err
	}
	out, err := os.CreateTemp(filepath.Dir(path), "order")
	if err != nil {
		return "", 0, err
	}
	w := bufio.NewWriter(out)
	for rows := range l.Order(1, 0) {
		for _, r := range rows {
			place := byteorder.NativeEndian.AppendUint64(nil, uint64(at(r)))
			w.Write(byteorder.NativeEndian.AppendUint64(place, uint64(r/l.Plan().BlockSize)))
		}
	}
	if err := w.Flush(); err != nil {
		return "", 0, err
	}
	return out.Name(), row, out.Close()
}

// rowOffsets returns where each row of a dataset lies in its file, and how many
// bytes it has. Chunks are whole rows without filters.
func rowOffsets(f *hdf5.File, path string) (at func(row int) int, size int, err error) {
	d, err := f.Dataset(path)
	if err != nil {
		return nil, 0, err
	}
	n, err := d.Len()
	if err != nil {
		return nil, 0, err
	}
	size = n / d.Shape[0] * d.Type.Size
	if start, ok := d.Offset(); ok {
		return func(row int) int { return start + row*size }, size, nil
	}
	chunks, err := d.StoredChunks()
	if err != nil {
		return nil, 0, err
	}
	return func(row int) int {
		i := sort.Search(len(chunks), func(i int) bool { return chunks[i].Coord[0] > row }) - 1
		return chunks[i].Offset + (row-chunks[i].Coord[0])*size
	}, size, nil
}
