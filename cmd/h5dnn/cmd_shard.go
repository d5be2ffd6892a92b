package main

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/urfave/cli/v2"

	"github.com/h5dnn/h5dnn/convert"
	"github.com/h5dnn/h5dnn/serialize"
	"github.com/h5dnn/h5dnn/serialize/kerasfile"
	"github.com/h5dnn/h5dnn/serialize/sharded"
)

func shardCommand() *cli.Command {
	return &cli.Command{
		Name:      "shard",
		Usage:     "split a checkpoint into several files with an index",
		ArgsUsage: "IN OUT" + sharded.Extension,
		Description: "Writes OUT" + sharded.Extension + ", such as model.safetensors" + sharded.Extension + ", and shards such as\n" +
			"model-00001-of-00003.safetensors beside it, in the layout of Hugging Face. Shards may be of any format that\n" +
			"holds several arrays. Arrays that share elements go into one shard. With --force, shards of the index that is\n" +
			"replaced are removed if the new one has another number of them. OUT" + kerasfile.IndexExtension + " is an index of shards that\n" +
			"Keras loads, of a file of Keras that has its architecture.",
		Flags: copyFlags(&cli.StringFlag{Name: "size", Usage: "most `BYTES` of elements in a shard, such as 500MiB; by default 5 GB"}),
		Action: func(c *cli.Context) error {
			args, err := arguments(c, "IN", "OUT"+sharded.Extension)
			if err != nil {
				return err
			}
			out := args[1]
			if !strings.HasSuffix(out, sharded.Extension) && !strings.HasSuffix(out, kerasfile.IndexExtension) {
				return fmt.Errorf("%s: the name of an index ends in %s, as in model.safetensors%s", out, sharded.Extension, sharded.Extension)
			}
			size := sharded.DefaultSize
			if text := c.String("size"); text != "" {
				var err error
				if size, err = parseBytes(text); err != nil {
					return fmt.Errorf("--size: %w", err)
				}
			}
			shards := 0
			check := func(name string) error {
				shards++
				return checkOutput(c, filepath.Join(filepath.Dir(out), name))
			}
			removed := 0
			remove := func(name string) error {
				name = filepath.Join(filepath.Dir(out), name)
				if checkOutput(c, name) != nil { // it is IN, or a part of it
					return nil
				}
				err := os.Remove(name)
				if err == nil {
					removed++
				} else if errors.Is(err, fs.ErrNotExist) {
					err = nil
				}
				return err
			}
			save := func(out string, contents serialize.Contents) error {
				if strings.HasSuffix(out, kerasfile.IndexExtension) {
					return kerasfile.SaveShards(out, contents, kerasfile.ShardOptions{Size: size, Check: check, Old: remove})
				}
				return sharded.Save(out, contents, sharded.Options{Size: size, Check: check, Old: remove})
			}
			return arrayCopy{Options: convert.Options{Save: save}, done: func(arrays, _ int, out string) string {
				done := fmt.Sprintf("%s written to %s and %s", plural(arrays, "array"), out, plural(shards, "shard"))
				if removed > 0 {
					done += fmt.Sprintf(", and %s removed", plural(removed, "old shard"))
				}
				return done
			}}.run(c)
		},
	}
}
