// Command make writes the sentences of examples/tagger: numbers of words of a small made language, each with its part
// of speech. Many words are of two parts of speech, and the words around them decide.
//
//	go run ./examples/tagger/make [-n NUMBER] [FILE]
package main

import (
	"math/rand/v2"

	"github.com/h5dnn/h5dnn/examples/internal/maker"
	"github.com/h5dnn/h5dnn/tensor"
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

const length = 24 // words of the longest sentence

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
	maker.Maker{File: "examples/tagger/sentences.h5", Noun: "sentences", N: 4000, Share: 4, Samples: makeSentences}.Main()
}

// makeSentences returns n sentences.
func makeSentences(r *rand.Rand, n int) map[string]*tensor.Tensor {
	var tokens []int16
	var tags []int8
	for range n {
		w, t := newSentence(r)
		tokens, tags = append(tokens, w...), append(tags, t...)
	}
	return map[string]*tensor.Tensor{"tokens": tensor.FromSlice(tokens, n, length), "tags": tensor.FromSlice(tags, n, length)}
}
