// Command make writes pieces of Go's own source for examples/characters, each with the package of the standard library that it is from.
//
//	go run ./examples/characters/make [-n NUMBER] [FILE]
package main

import (
	"fmt"
	"math/rand/v2"
	"strings"

	"github.com/h5dnn/h5dnn/examples/internal/maker"
	"github.com/h5dnn/h5dnn/tensor"
	"github.com/h5dnn/h5dnn/tensors"
)

// packages are the classes, in the order of their labels.
var packages = []string{"crypto", "database", "encoding", "go", "image", "math", "net", "text"}

const length = 128 // bytes of a piece

func main() {
	maker.Command("examples/characters/pieces.h5", 8000, "pieces to train on; a quarter as many, of other files, are for validation", save)
}

func save(file string, n int) error {
	if n < 4*len(packages) {
		return fmt.Errorf("-n %d; want at least %d", n, 4*len(packages))
	}
	all, r := map[string]*tensor.Tensor{}, rand.New(rand.NewPCG(1, 1))
	texts := map[string][]string{}
	for _, name := range packages {
		train, val, err := source(name)
		if err != nil {
			return err
		}
		texts["train"], texts["val"] = append(texts["train"], train), append(texts["val"], val)
	}
	for _, part := range []string{"train", "val"} {
		count := n
		if part == "val" {
			count = n / 4
		}
		var pieces, labels []byte
		for i := range count {
			label := i % len(packages)
			text := texts[part][label]
			if len(text) <= length {
				return fmt.Errorf("%s: %d bytes; want more than %d", packages[label], len(text), length)
			}
			at := r.IntN(len(text) - length)
			pieces, labels = append(pieces, text[at:at+length]...), append(labels, byte(label))
		}
		all[part+"/bytes"], all[part+"/package"] = tensor.FromSlice(pieces, count, length), tensor.FromSlice(labels, count)
	}
	if err := tensors.SaveAll(file, all, nil); err != nil {
		return err
	}
	fmt.Printf("%s: %d pieces of %d bytes to train on, %d for validation, of %d packages\n", file, n, length, n/4, len(packages))
	return nil
}

// source returns the Go files of a package and of those below it, one after another: every fifth of them for validation.
func source(name string) (train, val string, err error) {
	var texts [2]strings.Builder
	count := 0
	err = maker.GoSource([]string{name}, func(text []byte) {
		texts[count%5/4].Write(text)
		count++
	})
	return texts[0].String(), texts[1].String(), err
}
