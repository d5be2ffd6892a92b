package main

import (
	"github.com/urfave/cli/v2"

	"github.com/h5dnn/h5dnn/loss"
)

// lossFlags are the flags of the commands that write what they read: convert, repack,
// import and slice.
var lossFlags = []cli.Flag{
	&cli.BoolFlag{Name: "allow-loss", Usage: "exit with status 0 even if something is lost that OUT could hold"},
	&cli.BoolFlag{Name: "strict", Usage: "exit with status 1 if anything is lost, such as attributes in .npz"},
}

// lossStatus returns errNegative if the copy lacks something that it should have. The
// copy is in place.
func lossStatus(c *cli.Context, lost loss.List) error {
	if len(lost) > 0 && c.Bool("strict") || lost.Avoidable() && !c.Bool("allow-loss") {
		return errNegative
	}
	return nil
}

// lossSummary returns the end of the last line of a report.
func lossSummary(c *cli.Context, lost loss.List) string {
	text := lost.Summary()
	if lossStatus(c, lost) != nil && !c.Bool("strict") {
		text += " (--allow-loss accepts that)"
	}
	return text
}

// lossFields are the fields of a report in JSON.
func lossFields(lost loss.List) fields {
	items := make(loss.List, len(lost))
	for i, item := range lost {
		item.Reason = withoutKind(item.Reason)
		items[i] = item
	}
	return fields{{"lost", items}, {"complete", len(lost) == 0}}
}
