// Command make writes the bytes of a text as sequences for examples/gpt: each with the byte after every one of its own. Without a text it takes
// Go's own source, of the standard library beside the go command.
//
//	go run ./examples/gpt/make [-n NUMBER] [-text FILE] [FILE]
package main

import (
	"bytes"
	"flag"
	"fmt"
	"os"

	"github.com/h5dnn/h5dnn/examples/internal/maker"
	"github.com/h5dnn/h5dnn/tensor"
	"github.com/h5dnn/h5dnn/tensors"
)

// packages are read where no text is named.
var packages = []string{"bufio", "bytes", "container", "encoding", "errors", "fmt", "io", "path", "sort", "strconv", "strings", "text", "time", "unicode"}

const length = 128 // of a sequence

func main() {
	text := flag.String("text", "", "`FILE` of text; Go's source if empty")
	maker.Command("examples/gpt/text.h5", 6000, "sequences to train on at most; a quarter as many are for validation", func(file string, n int) error {
		return save(file, *text, n)
	})
}

func save(file, text string, n int) error {
	train, val, err := texts(text)
	if err != nil {
		return err
	}
	all := map[string]*tensor.Tensor{}
	for i, part := range []string{"train", "val"} {
		text, count := [][]byte{train, val}[i], []int{n, n / 4}[i]
		there := (len(text) - 1) / length
		if count = min(count, there); count < 1 {
			return fmt.Errorf("-n %d of %d bytes; want a sequence of %d for each of training and validation", n, len(text), length)
		}
		var x, y []byte
		for i := range count { // from all over the text
			at := i * there / count * length
			x, y = append(x, text[at:at+length]...), append(y, text[at+1:at+length+1]...)
		}
		all[part+"/bytes"], all[part+"/next"] = tensor.FromSlice(x, count, length), tensor.FromSlice(y, count, length)
	}
	if err := tensors.SaveAll(file, all, nil); err != nil {
		return err
	}
	fmt.Printf("%s: %d sequences of %d bytes to train on, %d for validation\n", file, all["train/bytes"].Shape()[0], length, all["val/bytes"].Shape()[0])
	return nil
}

// texts returns the bytes to train on and those for validation: the last tenth of a file, or every tenth file of Go's source.
func texts(name string) (train, val []byte, err error) {
	if name != "" {
		text, err := os.ReadFile(name)
		return text[:len(text)*9/10], text[len(text)*9/10:], err
	}
	count := 0
	err = maker.GoSource(packages, func(source []byte) {
		if source = bytes.ReplaceAll(source, []byte("\r"), nil); count%10 == 9 {
			val = append(val, source...)
		} else {
			train = append(train, source...)
		}
		count++
	})
	if err != nil {
		return nil, nil, fmt.Errorf("%w; name a text with -text", err)
	}
	return train, val, nil
}
