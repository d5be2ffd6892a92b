//go:build cgo

package main

import (
	"fmt"
	"math"

	"github.com/urfave/cli/v2"

	"github.com/h5dnn/h5dnn/train"
)

// findRate trains for a few steps with a learning rate that rises, and prints the losses and the rate that they suggest.
func findRate(c *cli.Context) error {
	if from := c.String("resume"); from != "" {
		return fmt.Errorf("--find-lr trains a new run; leave --resume out")
	}
	if group() != nil {
		return fmt.Errorf("--find-lr takes one process; start it without mpirun")
	}
	given, data, device, err := describedRun(c)
	if err != nil {
		return err
	}
	defer data.Close()
	points, best, err := train.FindRate(c.Context, given, data.Data, device, train.FindRateOptions{})
	if err != nil {
		return err
	}
	if c.Bool("json") {
		return ratesJSON(c, points, best)
	}
	rows := [][]string{{"lr", "loss", "mean"}}
	for i, p := range points {
		if i%ratesShown == 0 || i == len(points)-1 {
			rows = append(rows, []string{fmt.Sprintf("%.3g", p.Rate), lossText(p.Loss), lossText(p.Mean)})
		}
	}
	if err := writeTable(c.App.Writer, rows); err != nil {
		return err
	}
	text := "the loss does not fall at any rate"
	if !math.IsNaN(best) {
		text = fmt.Sprintf("the mean of the losses falls fastest at --lr %.3g", best)
	}
	_, err = fmt.Fprintln(c.App.Writer, text)
	return err
}

// ratesShown is the number of steps between rows of the table.
const ratesShown = 5

// ratesJSON prints an object for each step, and one of the best rate.
func ratesJSON(c *cli.Context, points []train.RatePoint, best float64) error {
	for i, p := range points {
		if err := encodeLine(c.App.Writer, fields{{"step", i + 1}, {"lr", p.Rate}, {"loss", jsonNumber(p.Loss)}, {"mean", jsonNumber(p.Mean)}}); err != nil {
			return err
		}
	}
	return encodeLine(c.App.Writer, fields{{"best", jsonNumber(best)}})
}
