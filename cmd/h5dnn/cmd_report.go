//go:build cgo

package main

import (
	"cmp"
	"fmt"
	"path/filepath"
	"strings"

	"github.com/urfave/cli/v2"

	"github.com/h5dnn/h5dnn/dataset"
	"github.com/h5dnn/h5dnn/internal/atomicfile"
	webpage "github.com/h5dnn/h5dnn/train/report"
)

func reportCommand() *cli.Command {
	return &cli.Command{
		Name:      "report",
		Usage:     "write a page about a run: curves, confusion matrix, the samples with the largest loss",
		ArgsUsage: "RUN",
		Description: "The page is one HTML file without references to others. The confusion matrix and the samples are of the validation\n" +
			"data; where they cannot be read the page says so. Where time went in training is known to the callback report\n" +
			"alone: callbacks: [report] in a configuration writes the page at the end of training.",
		Flags: []cli.Flag{
			&cli.StringFlag{Name: "output", Aliases: []string{"o"}, Usage: "write the page to `FILE`", DefaultText: "RUN with the extension .html"},
			deviceFlag(),
			&cli.IntFlag{Name: "threads", Usage: "`NUMBER` of compute threads", DefaultText: "all"},
			forceFlag(),
		},
		Action: func(c *cli.Context) error {
			args, err := arguments(c, "RUN")
			if err != nil {
				return err
			}
			out := cmp.Or(c.String("output"), strings.TrimSuffix(args[0], filepath.Ext(args[0]))+".html")
			run, err := resumedOn(c, args[0])
			if err != nil {
				return err
			}
			if err := checkOutput(c, out); err != nil {
				return err
			}
			var samples dataset.Dataset
			data, err := openData(c.Context, run.Config)
			if err == nil {
				defer data.Close()
				samples = data.Val
			}
			page, failed := run.Report(c.Context, args[0], samples)
			if failed != nil {
				return failed
			}
			if err != nil {
				page.Missing = []string{"The confusion matrix and the samples with the largest loss are missing, as the data cannot be read: " + printable(err.Error())}
			}
			if err := atomicfile.Write(out, func(f *atomicfile.File) error { return webpage.Write(f, page) }); err != nil {
				return err
			}
			_, err = fmt.Fprintf(c.App.Writer, "report written to %s\n", out)
			for _, text := range page.Missing {
				fmt.Fprintln(c.App.ErrWriter, "note: "+text)
			}
			return err
		},
	}
}
