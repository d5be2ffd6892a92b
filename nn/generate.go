package nn

import (
	"cmp"
	"fmt"
	"iter"
	"math"
	"math/rand/v2"
	"slices"

	"github.com/h5dnn/h5dnn/internal/errkind"
	"github.com/h5dnn/h5dnn/storage"
	"github.com/h5dnn/h5dnn/tensor"
	"github.com/h5dnn/h5dnn/views"
)

// GenerateOptions are the settings of Generate.
type GenerateOptions struct {
	Tokens      int            // to generate; required
	Temperature float64        // that logits are divided by; 0 takes the most probable token
	TopK        int            // tokens to draw from, the most probable ones; all if 0
	Seed        uint64         // of the draws
	Context     int            // tokens that the model takes at once, if it has no positions that say it
	NoCache     bool           // compute all tokens again for each new one
	Device      storage.Device // of the model; the CPU if nil
}

// Generate continues a prompt: model takes tokens (1, T) and returns logits (1, tokens, T), of each token after the ones before
// it, as the losses of classes take them. The model is put into evaluation mode. With a cache each new token costs
// the products of its own row. Where the tokens fill the context, generation goes on from the last half of them.
//
// The sequence ends with an error, if there is one.
func Generate(model Module, prompt []int, o GenerateOptions) iter.Seq2[int, error] {
	g := generator{GenerateOptions: o, model: model, tokens: slices.Clone(prompt), random: rand.New(rand.NewPCG(o.Seed, 0))}
	return func(yield func(int, error) bool) {
		if err := g.begin(); err != nil {
			yield(0, fmt.Errorf("generate: %w", err))
			return
		}
		defer EndCache(model)
		for range o.Tokens {
			token, err := g.next()
			if err != nil {
				err = fmt.Errorf("generate: %w", err)
			}
			if !yield(token, err) || err != nil {
				return
			}
		}
	}
}

type generator struct {
	GenerateOptions
	model  Module
	tokens []int // that the model is given
	random *rand.Rand
	cache  *Cache
}

// begin checks the settings and compares the results with a cache and without one, which differ if the model is not causal.
func (g *generator) begin() error {
	switch {
	case len(g.tokens) == 0:
		return errkind.Errorf(ErrConfig, "no prompt; want a token at least")
	case g.Tokens < 1 || !(g.Temperature >= 0) || g.TopK < 0 || g.Context < 0:
		return errkind.Errorf(ErrConfig, "tokens %d, temperature %v, top-k %d, context %d; want at least 1, 0, 0 and 0", g.Tokens, g.Temperature, g.TopK, g.Context)
	}
	Eval(g.model)
	g.Device = cmp.Or(g.Device, storage.CPU)
	if g.Context == 0 {
		g.Context = len(g.tokens) + g.Tokens
	}
	for _, m := range Modules(g.model) {
		if p, ok := m.(*Positions); ok {
			g.Context = min(g.Context, p.MaxLen)
		}
	}
	g.shorten()
	if g.NoCache {
		return nil
	}
	want, err := g.logits(g.tokens)
	if err != nil {
		return err
	}
	g.cache = UseCache(g.model, g.Context)
	got, err := g.continued()
	if err != nil {
		return err
	}
	scale := 1e-3
	for _, x := range want {
		scale = max(scale, math.Abs(x))
	}
	for i := range want {
		if math.Abs(got[i]-want[i]) > 1e-3*scale {
			EndCache(g.model)
			return errkind.Errorf(ErrConfig, "the model's logits of the prompt change with a cache, from %v to %v; it has layers that see other tokens than attention does; generate without a cache", want[i], got[i])
		}
	}
	g.cache.Reset()
	return nil
}

// shorten leaves the last half of the tokens where they fill the context.
func (g *generator) shorten() {
	if n := len(g.tokens); n > g.Context {
		g.tokens = slices.Clone(g.tokens[n-max(1, g.Context/2):])
		if g.cache != nil {
			g.cache.Reset()
		}
	}
}

// next draws a token after the others, and adds it.
func (g *generator) next() (int, error) {
	logits, err := g.continued()
	if err != nil {
		return 0, err
	}
	token := g.draw(logits)
	g.tokens = append(g.tokens, token)
	g.shorten()
	return token, nil
}

// continued returns the logits after the last token.
func (g *generator) continued() ([]float64, error) {
	if g.cache == nil {
		return g.logits(g.tokens)
	}
	n := len(g.tokens)
	if g.cache.Len() == 0 && n > 1 {
		if _, err := g.logits(g.tokens[:n-1]); err != nil {
			return nil, err
		}
		g.cache.Advance(n - 1)
	}
	logits, err := g.logits(g.tokens[n-1:])
	g.cache.Advance(1)
	return logits, err
}

// logits applies the model to tokens, and returns what it gives for the one after the last.
func (g *generator) logits(tokens []int) (logits []float64, err error) {
	in := make([]int64, len(tokens))
	for i, token := range tokens {
		in[i] = int64(token)
	}
	x, err := storage.From(in, 1, len(in)).To(g.Device)
	if err != nil {
		return nil, err
	}
	err = tensor.Infer(func(tape *tensor.Tape) error {
		y := single(kindOf(g.model), Call("", g.model, tape.Input(x)))
		if y.Rank() != 3 || y.Shape()[0] != 1 || y.Shape()[2] != len(tokens) {
			return errkind.Errorf(views.ErrShape, "the model returns %v for %d tokens; want logits (1, tokens, %d)", y.Shape(), len(tokens), len(tokens))
		}
		logits = tensor.Values[float64](y.Select(2, len(tokens)-1).Contiguous())
		return nil
	})
	return logits, err
}

// draw returns a token by its logit.
func (g *generator) draw(logits []float64) int {
	order := make([]int, len(logits))
	for i := range order {
		order[i] = i
	}
	slices.SortStableFunc(order, func(i, j int) int { return cmp.Compare(logits[j], logits[i]) })
	if g.Temperature == 0 {
		return order[0]
	}
	if g.TopK > 0 {
		order = order[:min(g.TopK, len(order))]
	}
	sums, total := make([]float64, len(order)), 0.0
	for i, token := range order {
		total += math.Exp((logits[token] - logits[order[0]]) / g.Temperature)
		sums[i] = total
	}
	at, _ := slices.BinarySearch(sums, g.random.Float64()*total)
	return order[min(at, len(order)-1)]
}
