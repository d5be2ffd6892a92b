package main

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"strings"

	"github.com/urfave/cli/v2"

	"github.com/h5dnn/h5dnn/storage"
)

// limitFlag raises the budget of a command.
func limitFlag() cli.Flag {
	return &cli.StringFlag{Name: "expand-limit", Usage: "limit of memory and elements for which the files store little, such as 8GiB", DefaultText: "2GiB, or a quarter of the memory"}
}

type budgetKey struct{}

// withBudget gives the command of c one budget for all files that it opens.
func withBudget(c *cli.Context) error {
	limit := 0
	if text := c.String("expand-limit"); text != "" {
		var err error
		if limit, err = parseBytes(text); err != nil {
			return fmt.Errorf("--expand-limit %w", err)
		}
	}
	c.Context = context.WithValue(c.Context, budgetKey{}, storage.NewBudget(limit))
	return nil
}

// budgetOf returns the budget of a command.
func budgetOf(ctx context.Context) *storage.Budget {
	b, _ := ctx.Value(budgetKey{}).(*storage.Budget)
	return b
}

// limitAdvice returns the end of an error that a larger budget would avoid, or "" if no machine has
// so much.
func limitAdvice(err error) string {
	var over *storage.BudgetError
	if !errors.As(err, &over) || over.Bytes > 1<<50 {
		return ""
	}
	gib := (over.Bytes + 1<<30 - 1) >> 30
	return fmt.Sprintf("; --expand-limit %dGiB allows it", gib+1)
}

// parseBytes reads a number of bytes such as 64MiB, 1G or 4096.
func parseBytes(text string) (int, error) {
	digits := strings.TrimRight(text, "kKMGTiB")
	n, err := strconv.ParseFloat(digits, 64)
	shift, known := map[string]int{"": 0, "K": 10, "M": 20, "G": 30, "T": 40}[strings.ToUpper(strings.TrimRight(text[len(digits):], "iB"))]
	if err != nil || !known || n <= 0 || n*float64(int(1)<<shift) > 1<<50 {
		return 0, fmt.Errorf("%q is not an amount of memory; write 64MiB or 1GiB", text)
	}
	return int(n * float64(int(1)<<shift)), nil
}
