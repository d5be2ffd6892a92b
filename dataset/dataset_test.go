package dataset

import (
	"errors"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/h5dnn/h5dnn/dtype"
	"github.com/h5dnn/h5dnn/storage"
	"github.com/h5dnn/h5dnn/storage/storagetest"
	"github.com/h5dnn/h5dnn/views"
)

// pick reads rows of d one element after the other, by definition.
func pick(a storage.Array, rows []int) []float32 {
	var all []float32
	elems := storage.Elements[float32](a)
	for _, row := range rows {
		for p := range samples(a.View, row, 1).Positions() {
			all = append(all, elems[p])
		}
	}
	return all
}

// TestReadGathersRowsThroughViews reads random rows, some of them twice, of
// arrays seen through every kind of view, from memory and from chunks.
func TestReadGathersRowsThroughViews(t *testing.T) {
	x, _ := pairs(60)
	v := func(v views.View, err error) views.View { return must[views.View](t)(v, err) }
	r := rand.New(rand.NewPCG(1, 2))
	for name, view := range map[string]views.View{
		"whole":           x.View,
		"later rows":      v(x.Slice(0, 11, 53, 1)),
		"every other row": v(x.Slice(0, 1, 60, 2)),
		"every third row": v(x.Slice(0, 2, 60, 3)),
		"backwards":       v(x.Flip(0)),
		"cropped":         v(x.Slice(2, 1, 3, 1)),
		"cropped, later":  v(v(x.Slice(2, 1, 3, 1)).Slice(0, 13, 60, 1)),
		"transposed":      v(x.Transpose(0, 2, 1)),
		"a column":        v(v(x.Select(2, 1)).Select(1, 1)),
		"a column, back":  v(v(v(x.Flip(0)).Select(2, 1)).Select(1, 1)),
		"columns first":   v(x.Transpose(1, 0, 2)),
		"one row, often":  {Offset: 12, Shape: []int{9, 6}, Stride: []int{0, 1}},
	} {
		for _, chunk := range []int{0, 1, 6, 7, 60} {
			seen := x.With(view)
			if chunk > 0 {
				seen = newFake(x, chunk).Array().With(view)
			}
			d := must[Dataset](t)(FromArrays(input("x", seen)))
			for _, n := range []int{0, 1, 5, 40} {
				rows := make([]int, n)
				for k := range rows {
					rows[k] = r.IntN(d.Len())
				}
				b := must[*Batch](t)(NewBatch(d, n+2))
				if err := d.Read(*b, rows); err != nil {
					t.Fatalf("%s, chunks of %d: %v", name, chunk, err)
				}
				want := pick(x.With(view), rows)
				if got := storage.Elements[float32](b.Fields[0])[:len(want)]; !slices.Equal(got, want) {
					t.Fatalf("%s, chunks of %d, rows %v: %v, want %v", name, chunk, rows, got, want)
				}
			}
			l := must[*Loader](t)(NewLoader(d, Options{BatchSize: 7, Shuffle: Window, Window: 2}))
			for b, err := range l.Epoch(t.Context(), 0, 0) {
				if err != nil {
					t.Fatal(err)
				}
				want := pick(x.With(view), b.Rows)
				if got := storage.Elements[float32](b.Fields[0])[:len(want)]; !slices.Equal(got, want) {
					t.Fatalf("%s, chunks of %d, batch of rows %v: %v, want %v", name, chunk, b.Rows, got, want)
				}
			}
		}
	}
}

func TestOneReadDecodesAChunkOnce(t *testing.T) {
	x, _ := pairs(100)
	for name, view := range map[string]views.View{
		"whole":      x.View,
		"later rows": must[views.View](t)(x.Slice(0, 13, 100, 1)),
		"every 2nd":  must[views.View](t)(x.Slice(0, 3, 100, 2)),
		"cropped":    must[views.View](t)(x.Slice(2, 0, 2, 1)),
	} {
		fake := newFake(x, 10)
		d := must[Dataset](t)(FromArrays(input("x", fake.Array().With(view))))
		b := must[*Batch](t)(NewBatch(d, 300))
		rows := make([]int, 300)
		for k := range rows {
			rows[k] = k * 11 % d.Len()
		}
		if err := d.Read(*b, rows); err != nil {
			t.Fatal(err)
		}
		if times, chunks := fake.most(); times != 1 || chunks < 8 {
			t.Errorf("%s: %d chunks were decoded up to %d times, want each of 10 once", name, chunks, times)
		}
	}
}

func TestNarrowColumnsAreDecodedOnce(t *testing.T) {
	x, _ := pairs(1000)
	labels := newFake(storage.From(make([]uint8, 1000), 1000), 300)
	images := newFake(x, 16)
	d := must[Dataset](t)(FromArrays(input("x", images.Array()), target("y", labels.Array())))
	o := Options{BatchSize: 10, Window: 4}
	o.Memory = leastMemory(d, o)
	l := must[*Loader](t)(NewLoader(d, o))
	for epoch := range 3 {
		for _, err := range l.Epoch(t.Context(), epoch, 0) {
			if err != nil {
				t.Fatal(err)
			}
		}
	}
	if times, chunks := labels.most(); times != 1 || chunks != 4 {
		t.Errorf("%d chunks of labels were decoded up to %d times, want 4 once", chunks, times)
	}
	if times, _ := images.most(); times != 3 {
		t.Errorf("chunks of images were decoded up to %d times in 3 epochs, want 3", times)
	}
}

// TestNarrowWindowsAreDecodedOnce: sliding windows over a narrow column, which is held in
// memory, have all of their rows, the last as well.
func TestNarrowWindowsAreDecodedOnce(t *testing.T) {
	line := make([]float32, 100)
	for i := range line {
		line[i] = float32(i)
	}
	x := storage.From(make([]float32, 98*64), 98, 64)
	narrow := must[storage.Array](t)(SlidingWindows(newFake(storage.From(line, 100), 30).Array(), 3))
	d := must[Dataset](t)(FromArrays(input("x", newFake(x, 16).Array()), target("y", narrow)))
	rows := 0
	for b, err := range must[*Loader](t)(NewLoader(d, Options{BatchSize: 7})).Epoch(t.Context(), 0, 0) {
		if err != nil {
			t.Fatal(err)
		}
		y := storage.Elements[float32](b.Fields[1])
		for i, row := range b.Rows {
			if got, want := y[3*i:3*i+3], line[row:row+3]; !slices.Equal(got, want) {
				t.Fatalf("sample %d: window %v, want %v", row, got, want)
			}
			rows++
		}
	}
	if rows != 98 {
		t.Errorf("%d samples, want 98", rows)
	}
}

// TestAFileCutWhileItIsReadIsAnError reads batches out of a mapped file that
// loses its second half on the way.
func TestAFileCutWhileItIsReadIsAnError(t *testing.T) {
	x, _ := pairs(10_000)
	bytes, _ := x.Bytes()
	name := filepath.Join(t.TempDir(), "x.raw")
	if err := os.WriteFile(name, bytes, 0o666); err != nil {
		t.Fatal(err)
	}
	f := must[*os.File](t)(os.Open(name))
	defer f.Close()
	mapping := must[*storage.Mapping](t)(storage.Map(f))
	defer mapping.Close()
	mapped := must[*storage.Mapped](t)(mapping.Range(0, int64(len(bytes))))
	d := must[Dataset](t)(FromArrays(input("x", storage.Array{Data: mapped, Type: x.Type, View: x.View})))
	l := must[*Loader](t)(NewLoader(d, Options{BatchSize: 16}))
	batches, failed := 0, 0
	for b, err := range l.Epoch(t.Context(), 0, 0) {
		if batches++; batches == 5 {
			if err := os.Truncate(name, int64(len(bytes)/2)); err != nil {
				t.Fatal(err)
			}
		}
		switch {
		case errors.Is(err, storage.ErrState):
			failed++
		case err != nil:
			t.Fatal(err)
		case failed > 0 && slices.Max(b.Rows) >= 5000:
			t.Fatalf("batch %d has rows %v of the half that is gone", batches, b.Rows)
		default:
			if got, want := storage.Elements[float32](b.Fields[0])[:6*len(b.Rows)], pick(x, b.Rows); !slices.Equal(got, want) {
				t.Fatalf("batch %d: %v, want %v", batches, got, want)
			}
		}
	}
	if batches != 625 || failed < 600 {
		t.Errorf("%d of %d batches failed, want all of 625 from about the fifth on", failed, batches)
	}
}

func TestSplitsPartition(t *testing.T) {
	x, y := pairs(97)
	d := must[Dataset](t)(FromArrays(input("x", x), target("y", y)))
	var before []int
	for seed := range uint64(5) {
		train, val, err := Split(d, 0.25, seed)
		if err != nil {
			t.Fatal(err)
		}
		if val.Len() != 24 || train.Len() != 73 {
			t.Errorf("seed %d: %d and %d samples, want 73 and 24", seed, train.Len(), val.Len())
		}
		chosen := val.(*subset).rows
		all := slices.Sorted(slices.Values(append(slices.Clone(chosen), train.(*subset).rows...)))
		if len(slices.Compact(all)) != 97 || all[0] != 0 || all[96] != 96 {
			t.Errorf("seed %d: the parts hold %v, want 0 to 96", seed, all)
		}
		if slices.Equal(chosen, before) {
			t.Errorf("seeds %d and %d choose the same %v", seed-1, seed, chosen)
		}
		before = chosen
	}
	for _, fraction := range []float64{-1, 0, 0.001, 1, 2} {
		if _, _, err := Split(d, fraction, 0); !errors.Is(err, views.ErrShape) {
			t.Errorf("a fraction of %v: %v, want %v", fraction, err, views.ErrShape)
		}
	}
}

// TestMisfitsAreRefused lists what a caller, a file or a config can get wrong.
func TestMisfitsAreRefused(t *testing.T) {
	x, y := pairs(10)
	d := must[Dataset](t)(FromArrays(input("x", x), target("y", y)))
	other := must[Dataset](t)(FromArrays(input("x", y), target("y", x)))
	batch := func(d Dataset, n int) Batch { return *must[*Batch](t)(NewBatch(d, n)) }
	fake := storagetest.NewDevice("fake:0")
	away := must[storage.Array](t)(storage.Make(fake, dtype.Float32, 10, 2))
	second := func(_ any, err error) error { return err }
	first := func(o Options) error {
		for _, err := range Load(t.Context(), d, o) {
			return err
		}
		return nil
	}
	chunked := must[Dataset](t)(FromArrays(input("x", newFake(x, 2).Array())))
	for _, test := range []struct {
		name string
		err  error
		kind error
		says string
	}{
		{"no fields", second(FromArrays()), views.ErrShape, "no fields"},
		{"unequal lengths", second(FromArrays(input("x", x), target("y", storage.From(make([]int64, 9), 9)))), views.ErrShape, "x has 10 samples and y has 9"},
		{"a scalar", second(FromArrays(input("x", storage.From([]float32{1})))), views.ErrShape, "no axis"},
		{"no type", second(FromArrays(input("x", storage.Array{Data: x.Data, View: x.View}))), dtype.ErrType, "cannot be loaded"},
		{"the same name", second(FromArrays(input("x", x), input("x", y))), nil, "two fields are called x"},
		{"on a device", second(FromArrays(input("x", away))), storage.ErrDevice, "move it to the CPU"},
		{"a view too long", second(FromArrays(input("x", x.With(views.Of(11, 2, 3))))), views.ErrShape, "beyond its storage"},
		{"a row too far", d.Read(batch(d, 2), []int{0, 10}), views.ErrShape, "row 10 of 10"},
		{"a row before", d.Read(batch(d, 2), []int{-1}), views.ErrShape, "row -1 of 10"},
		{"a batch too short", d.Read(batch(d, 2), []int{1, 2, 3}), views.ErrShape, "cannot hold 3 contiguous samples"},
		{"another's batch", d.Read(batch(other, 2), []int{1}), dtype.ErrType, "batch holds int64"},
		{"an empty batch", d.Read(Batch{}, []int{1}), views.ErrShape, "has none for x"},
		{"a batch on a device", d.Read(Batch{Fields: []storage.Array{away}}, []int{1}), storage.ErrDevice, "fake:0"},
		{"a subset too far", second(Subset(d, []int{3, 11})), views.ErrShape, "row 11 of 10"},
		{"nothing to concatenate", second(Concat()), views.ErrShape, "nothing"},
		{"other fields", second(Concat(d, other)), views.ErrShape, "must be equal"},
		{"no batch", first(Options{}), nil, "batches of 0"},
		{"a negative window", first(Options{BatchSize: 1, Window: -1}), nil, "window -1"},
		{"a rank too far", first(Options{BatchSize: 1, Rank: 2, WorldSize: 2}), nil, "rank 2 of 2"},
		{"no such shuffle", first(Options{BatchSize: 1, Shuffle: 9}), nil, "unknown shuffle 9"},
		{"too little memory", first(Options{BatchSize: 8, Memory: 100}), ErrMemory, "than is allowed: 100 bytes; allow more, take smaller batches"},
		{"too wide a window", second(NewLoader(chunked, Options{BatchSize: 1, Window: 4, Memory: 200})), nil, "open fewer blocks"},
		{"an unknown name", second(ParseShuffle("some")), nil, "auto, none, window or exact"},
	} {
		switch {
		case test.err == nil:
			t.Errorf("%s: no error, want %q", test.name, test.says)
		case !strings.Contains(test.err.Error(), test.says) || strings.Contains(test.err.Error(), "\n"):
			t.Errorf("%s: %q, want %q in one line", test.name, test.err, test.says)
		case test.kind != nil && !errors.Is(test.err, test.kind):
			t.Errorf("%s: %v is not of kind %v", test.name, test.err, test.kind)
		}
	}
}

func TestSortedLabelsAreNoted(t *testing.T) {
	const n = 1000
	x := newFake(storage.From(make([]float32, 8*n), n, 8), 10).Array()
	for _, test := range []struct {
		name  string
		label func(i int) int64
		noted bool
	}{
		{"sorted", func(i int) int64 { return int64(i / 100) }, true},
		{"sorted downwards", func(i int) int64 { return int64(9 - i/100) }, true},
		{"sorted within halves", func(i int) int64 { return int64(i % 500 / 50) }, true},
		{"mixed", func(i int) int64 { return int64(mix(3, uint64(i)) % 10) }, false},
		{"mixed, few of one", func(i int) int64 { return int64(mix(3, uint64(i)) % 100 / 99) }, false},
		{"in turn", func(i int) int64 { return int64(i % 10) }, false},
		{"all the same", func(int) int64 { return 5 }, false},
		{"timestamps", func(i int) int64 { return int64(i * 1e6) }, false},
	} {
		y := make([]int64, n)
		for i := range y {
			y[i] = test.label(i)
		}
		d := must[Dataset](t)(FromArrays(input("x", x), target("y", storage.From(y, n))))
		train, _, err := Split(d, 0.1, 1)
		if err != nil {
			t.Fatal(err)
		}
		for _, d := range []Dataset{d, train, must[Dataset](t)(Concat(d, train))} {
			l := must[*Loader](t)(NewLoader(d, Options{BatchSize: 8, Window: 4}))
			if notes := l.Plan().Notes; len(notes) > 0 != test.noted {
				t.Errorf("%s: notes %q, want any is %v", test.name, notes, test.noted)
			}
		}
	}
}

func TestShufflesAreParsedFromTheirNames(t *testing.T) {
	for _, s := range []Shuffle{Auto, None, Window, Exact} {
		if got, err := ParseShuffle(s.String()); got != s || err != nil {
			t.Errorf("%v: parsed to %v, %v", s, got, err)
		}
	}
}

// vast says it is as long as can be said.
type vast struct{ *fakeSource }

func (vast) Len() int                                      { return math.MaxInt }
func (vast) ReadView([]byte, dtype.Type, views.View) error { return errTorn }

// TestDeclaredSizesAreNotBelieved loads arrays that declare more than anyone has,
// as a chunked dataset of a hostile file can without storing a byte.
func TestDeclaredSizesAreNotBelieved(t *testing.T) {
	for _, shape := range [][]int{{1 << 40, 1 << 20}, {1 << 20, 1 << 40}, {1 << 60}, {3, 1 << 58}, {0, 1 << 40, 1 << 20}, {0, math.MaxInt, 2}} {
		v := views.View{Shape: shape, Stride: make([]int, len(shape))} // so that it need not exist
		fake := newFake(storage.Array{Data: storage.From([]uint8{1}).Data, Type: dtype.Uint8, View: v}, 3)
		arrays := []storage.Array{fake.Array(), fake.array}
		if _, err := views.New(shape, math.MaxInt); err == nil {
			arrays = append(arrays, storage.Array{Data: vast{newFake(storage.Array{Type: dtype.Uint8, View: views.Of(shape...)}, 3)}, Type: dtype.Uint8, View: views.Of(shape...)})
		}
		for _, a := range arrays {
			d, err := FromArrays(input("x", a))
			if err != nil {
				continue
			}
			for _, mode := range []Shuffle{Auto, None, Window, Exact} {
				for _, err := range Load(t.Context(), d, Options{BatchSize: 1 << 50, Shuffle: mode}) {
					if err == nil {
						t.Errorf("%v, %v: a batch of everything was loaded", shape, mode)
					}
					break
				}
			}
			if _, _, err := Split(d, 0.5, 1); err == nil && d.Len() > maxListedRows {
				t.Errorf("%v: split into lists of %d samples", shape, d.Len())
			}
		}
	}
}

// TestEmptyDatasetsLoadNothing covers datasets and fields without elements.
func TestEmptyDatasetsLoadNothing(t *testing.T) {
	for _, mode := range []Shuffle{Auto, None, Window, Exact} {
		for name, a := range map[string]storage.Array{
			"no samples":        storage.From([]float32{}, 0, 3),
			"empty samples":     storage.From([]float32{}, 5, 0),
			"no chunks":         newFake(storage.From([]float32{}, 0, 3), 4).Array(),
			"empty in chunks":   newFake(storage.From([]float32{}, 5, 0), 4).Array(),
			"broadcast nothing": newFake(storage.From([]float32{}, 5, 0), 9).Array(),
		} {
			d := must[Dataset](t)(FromArrays(input("x", a)))
			got := 0
			for b, err := range Load(t.Context(), d, Options{BatchSize: 2, Shuffle: mode}) {
				if err != nil {
					t.Fatalf("%s, %v: %v", name, mode, err)
				}
				got += len(b.Rows)
			}
			if got != d.Len() {
				t.Errorf("%s, %v: %d samples, want %d", name, mode, got, d.Len())
			}
		}
	}
}
