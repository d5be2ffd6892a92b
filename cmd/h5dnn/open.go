package main

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/urfave/cli/v2"

	"github.com/h5dnn/h5dnn/dtype"
	"github.com/h5dnn/h5dnn/inspect"
	"github.com/h5dnn/h5dnn/internal/atomicfile"
	"github.com/h5dnn/h5dnn/serialize"
	"github.com/h5dnn/h5dnn/serialize/sharded"
	"github.com/h5dnn/h5dnn/spell"
	"github.com/h5dnn/h5dnn/storage"
	"github.com/h5dnn/h5dnn/storage/remote"
)

// open opens a file. Its format is found by content.
func open(ctx context.Context, name string) (inspect.File, error) {
	return openWith(name, inputOptions(ctx))
}

// openWith is open with options.
func openWith(name string, o serialize.Options) (inspect.File, error) {
	if err := isFile(name); err != nil {
		return nil, err
	}
	file, err := inspect.Open(name, o)
	if err == nil {
		addInput(o.Context, name, linkedBy(file))
	}
	return file, err
}

// openOptions returns the options in the command's flags. Files that the format opens
// beside the named one are inputs, too.
func openOptions(ctx context.Context) serialize.Options {
	void, _ := ctx.Value(voidKey{}).(dtype.Type)
	cache, _ := ctx.Value(cacheKey{}).(int)
	return serialize.Options{
		Void: void, CacheBytes: cache,
		Follow: followed(ctx), Budget: budgetOf(ctx), Context: ctx,
		Opened: func(name string) { addInput(ctx, name, nil) },
	}
}

// inputOptions returns openOptions with the format of --from.
func inputOptions(ctx context.Context) serialize.Options {
	o := openOptions(ctx)
	o.Format = formatFrom(ctx)
	return o
}

// isFile returns an error, with a suggestion, if name is not a file.
func isFile(name string) error {
	if storage.IsURL(name) {
		return nil // opening it finds out
	}
	info, err := os.Stat(name)
	switch above, path := fileAbove(name); {
	case err != nil && above != "":
		return fmt.Errorf("%s is a file; what is in it follows a colon: %s:%s", above, above, path)
	case errors.Is(err, fs.ErrNotExist) && atomicfile.Interrupted(name):
		return fmt.Errorf("%s: no such file: the program that wrote it was killed before the file, and others that it names, were complete; write it again", name)
	case errors.Is(err, fs.ErrNotExist):
		return fmt.Errorf("%s: no such file%s", shownName(name), neighbourHint(name))
	case err == nil && info.IsDir() && serialize.FileOf(name) != name:
		return nil
	case err == nil && info.IsDir():
		return fmt.Errorf("%s is a folder; %s", name, inFolder(name))
	case err == nil && !info.Mode().IsRegular():
		if info.Mode()&fs.ModeNamedPipe != 0 {
			return fmt.Errorf("%s is a pipe; read it as - with < %s", name, name)
		}
		_, err = storage.OpenFile(name)
		return err
	}
	return err
}

// fileAbove returns the file that a name continues as if it were a folder, and the rest of the name.
func fileAbove(name string) (file, path string) {
	for k, c := range name {
		if info, err := os.Stat(name[:k]); c == '/' && k > 0 && err == nil && info.Mode().IsRegular() {
			return name[:k], name[k:]
		}
	}
	return "", ""
}

// shownName is the name of a file in an error.
func shownName(name string) string {
	if name == "" {
		return `""`
	}
	return name
}

// inFolder says what to do instead of naming a folder: to name its index, or its only file of a
// known format.
func inFolder(folder string) string {
	var found []string
	for _, name := range neighbours(filepath.Join(folder, "x")) {
		_, err := serialize.ByExtension(name)
		switch {
		case filepath.Base(name) == ".metadata":
			return "if it is a checkpoint of torch.distributed.checkpoint, python -m torch.distributed.checkpoint.format_utils dcp_to_torch FOLDER FILE converts it"
		case strings.HasSuffix(name, sharded.Extension):
			return "name a file in it, such as " + name
		case err == nil:
			found = append(found, name)
		}
	}
	if len(found) == 1 {
		return "name a file in it, such as " + found[0]
	}
	return "name a file in it"
}

// followFlag allows external links, external data and virtual datasets.
func followFlag() cli.Flag {
	return &cli.StringFlag{Name: followName, Usage: "open files in `FOLDER`, or below a URL, that this one refers to; by default none"}
}

const followName = "follow"

// fromFlag names the format of inputs.
func fromFlag() cli.Flag {
	return &cli.StringFlag{Name: fromName, Usage: "read inputs as `FORMAT`, such as hdf5 for the stored objects of a MATLAB file; by default by content"}
}

const fromName = "from"

// voidFlag names the type of elements of which NumPy wrote only the size.
func voidFlag() cli.Flag {
	return &cli.StringFlag{Name: voidName, Usage: "`TYPE` of elements of which an .npy or .npz says only the size, such as bf16"}
}

const voidName = "void"

// voidKey is the key of the type of --void in the context of a command.
type voidKey struct{}

// cacheKey is the key of [serialize.Options.CacheBytes] in the context of a command that measures.
type cacheKey struct{}

// fromKey is the key of the format of --from in the context of a command.
type fromKey struct{}

// formatFrom returns the format of --from, or "".
func formatFrom(ctx context.Context) string {
	format, _ := ctx.Value(fromKey{}).(string)
	return format
}

// followKey is the key of the folder of --follow in the context of a command.
type followKey struct{}

// remember keeps the flags about files that a command opens in its context.
func remember(c *cli.Context) error {
	c.Context = context.WithValue(c.Context, followKey{}, c.String(followName))
	c.Context = context.WithValue(c.Context, fromKey{}, c.String(fromName))
	if name := c.String(voidName); name != "" {
		void, err := castType(name)
		if err != nil {
			return fmt.Errorf("--%s %s: %w", voidName, name, err)
		}
		c.Context = context.WithValue(c.Context, voidKey{}, void)
	}
	remote.SetDefault(remote.NewClient(remote.Options{Folder: c.String(remoteCacheName), Linger: !c.IsSet(refreshName)}))
	return withBudget(c)
}

// followed returns the folder of --follow, or "".
func followed(ctx context.Context) string {
	folder, _ := ctx.Value(followKey{}).(string)
	return folder
}

// neighbours lists the other files in the folder of name.
func neighbours(name string) []string {
	folder := filepath.Dir(name)
	files, _ := os.ReadDir(folder) // without them there is nothing to suggest
	var names []string
	for _, file := range files {
		if neighbour := filepath.Join(folder, file.Name()); !file.IsDir() && neighbour != name {
			names = append(names, neighbour)
		}
	}
	return names
}

// neighbourHint suggests the file beside a name that may have been meant. Folders are not compared.
func neighbourHint(name string) string {
	var names []string
	for _, neighbour := range neighbours(name) {
		names = append(names, filepath.Base(neighbour))
	}
	near, ok := spell.Nearest(filepath.Base(name), names)
	if !ok {
		return ""
	}
	return fmt.Sprintf("; did you mean %s?", filepath.Join(filepath.Dir(name), near))
}

// fileSize returns the size of a file, of one at a URL if it was opened, or else 0.
func fileSize(name string) int {
	if size, ok := remote.Default().Size(name); ok {
		return int(size)
	}
	info, err := os.Stat(name)
	if err != nil {
		return 0
	}
	return int(info.Size())
}
