package dataset

import (
	"slices"
	"testing"
)

// TestDescriptionsSayHowSamplesAreStored describes a dataset of each storage, and
// parts and unions of them.
func TestDescriptionsSayHowSamplesAreStored(t *testing.T) {
	x, y := pairs(100)
	of := func(fields ...NamedArray) Dataset { return must[Dataset](t)(FromArrays(fields...)) }
	memory := of(input("x", x), target("y", y))
	chunked := of(input("x", newFake(x, 30).Array()), target("y", y))
	unmapped := of(input("x", newUncompressed(x, 0).Array()), target("y", y))
	half := must[Dataset](t)(Subset(chunked, slices.Concat(seq(0, 10), seq(60, 100))))
	foreign := struct{ Dataset }{memory}
	for _, test := range []struct {
		name    string
		d       Dataset
		blocks  []int
		decoded int
		want    Description // without fields, blocks and columns
	}{
		{"memory", memory, nil, 100, Description{Samples: 100, SampleBytes: 32}},
		{"chunked", chunked, []int{30, 60, 90, 100}, 115, Description{Samples: 100, SampleBytes: 32, Decoded: true}},
		{"unmapped", unmapped, nil, 100, Description{Samples: 100, SampleBytes: 32, UnmappedBytes: 2400}},
		{"subset", half, []int{10, 40, 50}, 70, Description{Samples: 50, SampleBytes: 32, Decoded: true, HeldBytes: 400}},
		{"of another package", foreign, nil, 100, Description{Samples: 100, SampleBytes: 32, Decoded: true}},
		{"in parts", must[Dataset](t)(Concat(chunked, unmapped, foreign)), []int{30, 60, 90, 100, 200, 300}, 315, Description{Samples: 300, SampleBytes: 32, UnmappedBytes: 2400, Decoded: true}},
	} {
		got := Describe(test.d)
		if !slices.Equal(got.BlockEnds, test.blocks) || got.DecodedSamples != test.decoded || len(got.Fields) != 2 {
			t.Errorf("%s: blocks %v of %d decoded samples, want %v of %d", test.name, got.BlockEnds, got.DecodedSamples, test.blocks, test.decoded)
		}
		if got.Samples != test.want.Samples || got.SampleBytes != test.want.SampleBytes || got.Decoded != test.want.Decoded || got.UnmappedBytes != test.want.UnmappedBytes || got.HeldBytes != test.want.HeldBytes {
			t.Errorf("%s: %+v, want %+v", test.name, got, test.want)
		}
	}
	if a := Describe(chunked).ExactAmplification(1); a < 28 || a > 30 {
		t.Errorf("a sample at a time decodes %v samples for each, want about 28.75", a)
	}
	if a := Describe(memory).ExactAmplification(10); a != 1 {
		t.Errorf("without blocks the amplification is %v, want 1", a)
	}
}

func seq(first, end int) (all []int) {
	for k := first; k < end; k++ {
		all = append(all, k)
	}
	return all
}
