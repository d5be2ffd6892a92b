//go:build cgo

package main

import (
	"fmt"
	"image/png"
	"strings"

	"github.com/urfave/cli/v2"

	"github.com/h5dnn/h5dnn/internal/atomicfile"
	"github.com/h5dnn/h5dnn/train"
)

func previewCommand() *cli.Command {
	return &cli.Command{
		Name:      "preview",
		Usage:     "draw samples as training sees them: augmented, with labels, masks, boxes and points",
		ArgsUsage: "CONFIG.yaml",
		Description: "The samples are the first of an epoch, in its order. augment: in CONFIG.yaml says how they are changed, and\n" +
			"augment_fields: which fields are masks, boxes and points; h5dnn help augmentations lists what there is. Images\n" +
			"are drawn before normalization, other samples as a curve for each channel.",
		Flags: []cli.Flag{
			&cli.StringFlag{Name: "output", Aliases: []string{"o"}, Usage: "write the picture to `FILE`", Value: "preview.png"},
			&cli.IntFlag{Name: "count", Usage: "`NUMBER` of samples", Value: 16},
			&cli.IntFlag{Name: "epoch", Usage: "`EPOCH` of training, from 1", Value: 1},
			&cli.Uint64Flag{Name: "seed", Usage: "`SEED` of the order and the augmentation", DefaultText: "as CONFIG.yaml has it"},
			&cli.BoolFlag{Name: "json", Usage: "print one JSON object"},
			forceFlag(), followFlag(),
		},
		Action: preview,
	}
}

func preview(c *cli.Context) error {
	if _, err := arguments(c, "CONFIG.yaml"); err != nil {
		return err
	}
	out := c.String("output")
	if c.Int("count") < 1 || c.Int("epoch") < 1 {
		return fmt.Errorf("--count %d, --epoch %d: want numbers from 1", c.Int("count"), c.Int("epoch"))
	}
	if !strings.EqualFold(out[strings.LastIndexByte(out, '.')+1:], "png") {
		return fmt.Errorf("%s: the picture is a PNG file; choose a name that ends in .png", out)
	}
	config, err := configOf(c)
	if err != nil {
		return err
	}
	data, err := openData(c.Context, config)
	if err != nil {
		return err
	}
	defer data.Close()
	if err := checkOutput(c, out); err != nil {
		return err
	}
	p, err := train.NewPreview(c.Context, config, data.Data, train.PreviewOptions{Epoch: c.Int("epoch") - 1, Count: c.Int("count")})
	if err != nil {
		return err
	}
	if err := atomicfile.Write(out, func(f *atomicfile.File) error { return png.Encode(f, p.Picture) }); err != nil {
		return err
	}
	return sayPreview(c, out, p)
}

// sayPreview prints what was drawn.
func sayPreview(c *cli.Context, out string, p *train.Preview) error {
	var names []string
	for _, f := range p.Fields {
		names = append(names, f.String())
	}
	if c.Bool("json") {
		return encodeLine(c.App.Writer, fields{{"file", out}, {"epoch", c.Int("epoch")}, {"columns", p.Columns}, {"augmentations", orEmpty(p.Augmentations)},
			{"fields", names}, {"rows", p.Rows}, {"labels", p.Labels}})
	}
	how := "not augmented"
	if len(p.Augmentations) > 0 {
		how = "augmented by " + strings.Join(p.Augmentations, ", ")
	}
	fmt.Fprintf(c.App.Writer, "%d samples of epoch %d, %s: %s\n", len(p.Rows), c.Int("epoch"), how, printable(strings.Join(names, ", ")))
	rows := [][]string{{"row", "label"}}
	for i, row := range p.Rows {
		rows = append(rows, []string{fmt.Sprint(row), printable(p.Labels[i])})
	}
	if err := writeTable(c.App.Writer, rows); err != nil {
		return err
	}
	_, err := fmt.Fprintf(c.App.Writer, "picture written to %s\n", out)
	return err
}
