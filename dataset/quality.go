package dataset

import "math"

// Quality returns how well the first epoch is shuffled: the mean entropy of labels within its batches, as a part of the entropy
// within batches of a random permutation. The labels are 14 equal ranges of rows, as if rows were sorted by label. Of long epochs it
// looks at the first 512 batches.
func (l *Loader) Quality() float64 {
	const labels, most = 14, 512
	n := l.d.Len()
	entropy := func(rows []int) (sum float64) {
		var counts [labels]int
		for _, row := range rows {
			counts[row*labels/n]++
		}
		for _, count := range counts {
			if p := float64(count) / float64(len(rows)); count > 0 {
				sum -= p * math.Log(p)
			}
		}
		return sum
	}
	random, drawn := permute(n, 0x9e3779b97f4a7c15), make([]int, 0, min(l.o.BatchSize, n))
	have, want, batches := 0.0, 0.0, 0
	for rows, next := range l.Order(0, 0) {
		if batches++; batches > most {
			break
		}
		drawn = drawn[:0]
		for i := range rows {
			drawn = append(drawn, random.at((next-1-i)%n))
		}
		have, want = have+entropy(rows), want+entropy(drawn)
	}
	if want == 0 { // batches of one sample
		return 1
	}
	return have / want
}
