package dataset

import "testing"

// TestOrdersByWindowKeepLittle: decoded samples of 1 MiB stay in memory for later epochs up to 96 MiB, unless more is allowed or the order is exact.
func TestOrdersByWindowKeepLittle(t *testing.T) {
	for _, c := range []struct {
		samples int
		o       Options
		kept    bool
	}{
		{50, Options{Shuffle: Window, Window: 2}, true},
		{200, Options{Shuffle: Window, Window: 2}, false},
		{200, Options{Shuffle: None}, false},
		{200, Options{Shuffle: Window, Window: 2, Memory: 512 << 20}, true},
		{200, Options{Shuffle: Window, Window: 200}, true}, // all blocks are open
		{200, Options{Shuffle: Exact}, true},
	} {
		d := Description{Samples: c.samples, SampleBytes: 1 << 20, Decoded: true, DecodedSamples: c.samples}
		for end := 1; end <= c.samples; end++ {
			d.BlockEnds = append(d.BlockEnds, end)
		}
		c.o.BatchSize, c.o.Workers = 1, 1
		o, err := c.o.withDefaults(c.samples)
		if err != nil {
			t.Fatal(err)
		}
		p, err := newPlanner(d, o)
		if err != nil {
			t.Fatal(err)
		}
		if p.plan.CacheAll != c.kept {
			t.Errorf("%d MiB, %v, window %d, memory %d: all kept is %v, want %v", c.samples, o.Shuffle, o.Window, o.Memory, p.plan.CacheAll, c.kept)
		}
	}
}
