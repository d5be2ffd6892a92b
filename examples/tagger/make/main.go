// Command make writes the sentences of examples/tagger: numbers of words of a small made language, each with its part
// of speech. Many words are of two parts of speech, and the words around them decide.
//
//	go run ./examples/tagger/make [-n NUMBER] [FILE]
package main

import (
	"flag"
	"fmt"
	"math/rand/v2"
	"os"

	"github.com/h5dnn/h5dnn/tensor"
	"github.com/h5dnn/h5dnn/tensors"
)

// The tags. Places after the end of a sentence have the word 0 and the tag none, which PyTorch's losses ignore too.
const (
	determiner = iota
	adjective
	noun
	verb
	adverb
	conjunction
	stop
	none = -100
)

const (
	length = 24 // of the longest sentence
	words  = 80 // with 0, which fills sentences
)

// A lexicon has the words of each tag: from its first to the last.
var lexicon = map[int][2]int{
	determiner: {1, 4}, conjunction: {4, 6}, stop: {5, 6}, // 5, like "that": a conjunction, or the end of a question
	adjective: {7, 35}, noun: {20, 60}, verb: {45, 75}, adverb: {70, 80},
}

// A sentence is words with their tags.
type sentence struct {
	r     *rand.Rand
	words []int16
	tags  []int8
}

func (s *sentence) add(tag int) {
	w := lexicon[tag]
	s.words, s.tags = append(s.words, int16(w[0]+s.r.IntN(w[1]-w[0]))), append(s.tags, int8(tag))
}

// nounPhrase adds a determiner, adjectives and a noun. Without a determiner, there is an adjective.
func (s *sentence) nounPhrase() {
	adjectives := s.r.IntN(3)
	if s.r.IntN(4) > 0 {
		s.add(determiner)
	} else {
		adjectives++
	}
	for range adjectives {
		s.add(adjective)
	}
	s.add(noun)
}

// clause adds a subject, a verb and perhaps an object and an adverb.
func (s *sentence) clause() {
	s.nounPhrase()
	if s.r.IntN(4) == 0 {
		s.add(adverb)
	}
	s.add(verb)
	if s.r.IntN(2) == 0 {
		s.nounPhrase()
	}
	if s.r.IntN(3) == 0 {
		s.add(adverb)
	}
}

// newSentence returns one clause, or two, padded to the length.
func newSentence(r *rand.Rand) (words []int16, tags []int8) {
	for {
		s := &sentence{r: r}
		s.clause()
		if r.IntN(2) == 0 {
			s.add(conjunction)
			s.clause()
		}
		s.add(stop)
		if len(s.words) > length {
			continue
		}
		for len(s.words) < length {
			s.words, s.tags = append(s.words, 0), append(s.tags, none)
		}
		return s.words, s.tags
	}
}

func main() {
	n := flag.Int("n", 4000, "sentences to train on; a quarter as many are for validation")
	seed := flag.Uint64("seed", 1, "of the random numbers")
	flag.Parse()
	file := "examples/tagger/sentences.h5"
	if flag.NArg() > 0 {
		file = flag.Arg(0)
	}
	if err := save(file, *n, *seed); err != nil {
		fmt.Fprintln(os.Stderr, "make:", err)
		os.Exit(1)
	}
}

func save(file string, n int, seed uint64) error {
	if n < 4 {
		return fmt.Errorf("-n %d; want at least 4", n)
	}
	all := map[string]*tensor.Tensor{}
	for stream, part := range []string{"train", "val"} {
		count := n / []int{1, 4}[stream]
		r := rand.New(rand.NewPCG(seed, uint64(stream)))
		var tokens []int16
		var tags []int8
		for range count {
			w, t := newSentence(r)
			tokens, tags = append(tokens, w...), append(tags, t...)
		}
		all[part+"/tokens"] = tensor.FromSlice(tokens, count, length)
		all[part+"/tags"] = tensor.FromSlice(tags, count, length)
	}
	if err := tensors.SaveAll(file, all, nil); err != nil {
		return err
	}
	fmt.Printf("%s: %d sentences to train on, %d for validation, of %d words\n", file, n, n/4, words)
	return nil
}
