//go:build cgo

package main

import (
	"bufio"
	"fmt"
	"io"
	"os"
	"time"

	"github.com/urfave/cli/v2"

	"github.com/h5dnn/h5dnn/nn"
)

func generateCommand() *cli.Command {
	return &cli.Command{
		Name:      "generate",
		Usage:     "continue a text with a model of its bytes",
		ArgsUsage: "RUN --prompt TEXT",
		Description: "RUN is a trained model whose tokens are bytes, with causal attention, such as examples/gpt makes; it returns logits (tokens, steps). The text is\n" +
			"written as it is drawn. Keys and values of earlier tokens are cached; where they fill the model's positions, it goes on from the last half.",
		Flags: []cli.Flag{
			&cli.StringFlag{Name: "prompt", Usage: "`TEXT` to continue, or - for standard input"},
			&cli.IntFlag{Name: "tokens", Value: 200, Usage: "`NUMBER` of bytes to add"},
			&cli.Float64Flag{Name: "temperature", Value: 1, Usage: "divide logits by `NUMBER`; 0 takes the most probable byte"},
			&cli.IntFlag{Name: "top-k", Usage: "draw from the `NUMBER` of most probable bytes", DefaultText: "all"},
			&cli.Uint64Flag{Name: "seed", Usage: "of the draws, a `NUMBER`"},
			&cli.IntFlag{Name: "context", Usage: "`NUMBER` of bytes that the model takes at once, if its positions do not limit it", DefaultText: "all"},
			&cli.BoolFlag{Name: "no-cache", Usage: "compute all bytes again for each new one"},
			followFlag(),
			&cli.BoolFlag{Name: "time", Usage: "print how long a byte took to standard error"},
			deviceFlag(),
			&cli.IntFlag{Name: "threads", Usage: "`NUMBER` of compute threads", DefaultText: "all"},
		},
		Action: generate,
	}
}

func generate(c *cli.Context) error {
	args, err := arguments(c, "RUN")
	if err != nil {
		return err
	}
	prompt := c.String("prompt")
	if prompt == "-" {
		text, err := io.ReadAll(io.LimitReader(os.Stdin, 1<<24))
		if err != nil {
			return err
		}
		prompt = string(text)
	}
	if prompt == "" {
		return fmt.Errorf("name a text to continue with --prompt TEXT")
	}
	run, err := resumedOn(c, args[0])
	if err != nil {
		return err
	}
	if _, err := run.Predictor(); err != nil { // which uses the averages of the weights, if there are any
		return err
	}
	if err := checkBytes(args[0], run.Model); err != nil {
		return err
	}
	tokens := make([]int, len(prompt))
	for i, b := range []byte(prompt) {
		tokens[i] = int(b)
	}
	o := nn.GenerateOptions{
		Tokens: c.Int("tokens"), Temperature: c.Float64("temperature"), TopK: c.Int("top-k"), Seed: c.Uint64("seed"),
		Context: c.Int("context"), NoCache: c.Bool("no-cache"), Device: run.Device,
	}
	return writeGenerated(c, prompt, run.Model, tokens, o)
}

// checkBytes fails unless the tokens of a model are bytes.
func checkBytes(name string, model nn.Module) error {
	for _, m := range nn.Modules(model) {
		if e, ok := m.(*nn.Embedding); ok && e.NumEmbeddings <= 256 {
			return nil
		}
		if e, ok := m.(*nn.ReversibleEmbedding); ok && e.NumEmbeddings <= 256 {
			return nil
		}
	}
	return fmt.Errorf("%s has no embedding of at most 256 tokens, which bytes are; nn.Generate takes other tokens", name)
}

// writeGenerated writes the prompt and each byte as soon as it is drawn.
func writeGenerated(c *cli.Context, prompt string, model nn.Module, tokens []int, o nn.GenerateOptions) error {
	w := bufio.NewWriter(c.App.Writer)
	fmt.Fprint(w, prompt)
	var began time.Time
	count := 0
	for token, err := range nn.Generate(model, tokens, o) {
		if err != nil {
			return fmt.Errorf("%s: %w", c.Args().First(), err)
		}
		if token > 255 {
			return fmt.Errorf("%s: token %d is no byte; nn.Generate takes such tokens", c.Args().First(), token)
		}
		if count++; count == 1 {
			began = time.Now()
		}
		w.WriteByte(byte(token))
		if err := w.Flush(); err != nil {
			return err
		}
	}
	fmt.Fprintln(w)
	if c.Bool("time") && count > 1 {
		fmt.Fprintf(c.App.ErrWriter, "%.3f ms a byte after the first\n", time.Since(began).Seconds()*1e3/float64(count-1))
	}
	return w.Flush()
}
