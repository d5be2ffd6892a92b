package dataset

import (
	"math"
	"math/bits"
)

// A permutation is a bijection of 0 … n-1 that needs no table: a Feistel network
// over pairs (left, right) of about √n values each, applied again to the few
// results beyond n until they are inside (Black and Rogaway, "Ciphers
// with arbitrary finite domains", 2002, the cycle-walking method).
type permutation struct {
	n           uint64
	left, right uint64 // left·right ≥ n
	key         uint64
	pairs       int // of rounds
}

// roundStep sets the keys of rounds far apart, so that no two rounds hash the
// same sums of key and value.
const roundStep = 0xd1342543de82ef95

func permute(n int, key uint64) permutation {
	left := uint64(math.Ceil(math.Sqrt(float64(max(n, 1)))))
	return permutation{uint64(n), left, (uint64(n) + left - 1) / left, key, roundPairs(n)}
}

// roundPairs returns how many pairs of rounds a domain of n needs to pass statistical
// tests of positions, distances and order. Small domains need more.
func roundPairs(n int) int {
	switch {
	case n < 64:
		return 10
	case n < 4096:
		return 4
	}
	return 3
}

// at returns where i, in 0 … n-1, goes.
func (p permutation) at(i int) int {
	x := uint64(i)
	for {
		l, r := x/p.right, x%p.right
		key := p.key
		for range p.pairs {
			if l += below(p.left, scramble(key, r)); l >= p.left {
				l -= p.left
			}
			if r += below(p.right, scramble(key^roundStep, l)); r >= p.right {
				r -= p.right
			}
			key += roundStep
		}
		if x = l*p.right + r; x < p.n {
			return int(x)
		}
	}
}

// mix returns a hash of key and x: the finalizer of SplitMix64 (Steele, Lea and
// Flood, "Fast splittable pseudorandom number generators", 2014).
func mix(key, x uint64) uint64 {
	x = (x + key) * 0x9e3779b97f4a7c15
	x = (x ^ x>>30) * 0xbf58476d1ce4e5b9
	x = (x ^ x>>27) * 0x94d049bb133111eb
	return x ^ x>>31
}

// scramble is a cheaper mix of which only the high bits are good; below uses these.
func scramble(key, x uint64) uint64 {
	x = (x + key) * 0x9e3779b97f4a7c15
	return (x ^ x>>32) * 0xbf58476d1ce4e5b9
}

// below maps a uniform hash to 0 … n-1.
func below(n, hash uint64) uint64 {
	high, _ := bits.Mul64(n, hash)
	return high
}

// shuffle permutes s in a way that depends on key only (Fisher and Yates).
func shuffle[T any](s []T, key uint64) {
	for i := len(s) - 1; i > 0; i-- {
		j := below(uint64(i+1), mix(key, uint64(i)))
		s[i], s[j] = s[j], s[i]
	}
}

// Each use of a seed has a key of its own.
const (
	splitKey = 1 + iota
	epochKey
	turnKey
	rotationKey
	blockKey
	roundKey
	insideKey
)
