package pickle_test

import (
	"bytes"
	"errors"
	"fmt"
	"math/big"
	"reflect"
	"runtime/metrics"
	"slices"
	"strings"
	"testing"

	"github.com/h5dnn/h5dnn/internal/pickle"
)

// Example reads a pickle that would run a function, had Python loaded it.
func Example() {
	const pickled = "\x80\x02}X\x01\x00\x00\x00acfractions\nFraction\nK\x01K\x03\x86Rs." // pickle.dumps({"a": Fraction(1, 3)}, 2)
	value, n, err := pickle.Load(strings.NewReader(pickled), int64(len(pickled)), 1<<20)
	if err != nil {
		fmt.Println(err)
		return
	}
	a, _ := value.(*pickle.Dict).Get("a")
	object := a.(*pickle.Object)
	fmt.Println(n, object.Class, object.Args)
	// Output: 37 fractions.Fraction [1 3]
}

// TestEncodedValuesAreLoaded: Load is the inverse of Encode.
func TestEncodedValuesAreLoaded(t *testing.T) {
	ordered := &pickle.Dict{Class: "OrderedDict"}
	for key, value := range []any{"a", int64(-1), pickle.Tuple{}} {
		if err := ordered.Set(int64(key), value); err != nil {
			t.Fatal(err)
		}
	}
	ordered.State = []any{&pickle.Dict{}}
	for _, value := range []any{
		nil, true, false, int64(0), int64(255), int64(256), int64(65536), int64(-1), int64(1) << 40, int64(-1) << 63, new(big.Int).Lsh(big.NewInt(-3), 70),
		1.5, "größe", "", []byte{0, 255}, pickle.ByteArray{0, 255}, new(big.Int).Lsh(big.NewInt(-3), 3000), &pickle.Dict{Class: "Counter"}, pickle.Tuple{}, pickle.Tuple{int64(1)}, pickle.Tuple{int64(1), nil, true, "x"},
		&pickle.List{Items: []any{"a", &pickle.Dict{}}}, ordered,
		pickle.Global{Module: "torch", Name: "float32"}, &pickle.Persistent{ID: pickle.Tuple{"storage"}},
		&pickle.Object{Class: pickle.Global{Module: "a", Name: "B"}, Args: pickle.Tuple{int64(1)}, State: []any{"state"}},
	} {
		b, err := encode(value)
		if err != nil {
			t.Errorf("%v: %v", value, err)
			continue
		}
		got, n, err := pickle.Load(bytes.NewReader(append(b, "rest"...)), int64(len(b)+4), 1<<20)
		if err != nil || n != int64(len(b)) || !reflect.DeepEqual(got, value) {
			t.Errorf("%#v, %d of %d bytes, %v; want %#v", got, n, len(b), err, value)
		}
	}
}

// TestMemoryIsLimited by what values take, and not only by their bytes.
func TestMemoryIsLimited(t *testing.T) {
	many := "\x80\x02](" + strings.Repeat("]", 100_000) + "e."
	if _, _, err := pickle.Load(strings.NewReader(many), int64(len(many)), 1<<20); err == nil || !strings.Contains(err.Error(), "more memory than allowed") {
		t.Errorf("100,000 lists in 1 MiB: %v", err)
	}
	if _, _, err := pickle.Load(strings.NewReader(many), int64(len(many)), 100<<20); err != nil {
		t.Errorf("in 100 MiB: %v", err)
	}
	if value, _, err := pickle.Load(strings.NewReader("\x80\x02X\x00\x00\x01\x00"+strings.Repeat("x", 1<<16)+"."), 1<<20, 1<<10); err == nil {
		t.Errorf("64 KiB of text in 1 KiB: %.10v", value)
	}
}

// TestKeysAreEqualAsInPython: 1, 1.0 and True are one key, and "1" is another.
func TestKeysAreEqualAsInPython(t *testing.T) {
	d := &pickle.Dict{}
	for i, key := range []any{int64(1), 1.0, true, "1", []byte("1"), pickle.Tuple{int64(1)}, pickle.Tuple{true}, pickle.Tuple{"1"}} {
		if err := d.Set(key, i); err != nil {
			t.Fatal(err)
		}
	}
	if want := []any{2, 3, 4, 6, 7}; !reflect.DeepEqual(d.Values, want) {
		t.Errorf("values %v, want %v", d.Values, want)
	}
	if err := d.Set(&pickle.List{}, 1); err == nil {
		t.Error("a list is a key")
	}
}

// FuzzLoad: loading takes no more memory than allowed, errors say where the fault is, and a
// value that is encoded and loaded again is encoded equally.
func FuzzLoad(f *testing.F) {
	for _, seed := range []string{"\x80\x02}.", "\x80\x04\x95\x00\x00\x00\x00\x00\x00\x00\x00\x8c\x01a\x94\x8c\x01b\x94\x93)\x81.", "\x80\x02](K\x01K\x02e."} {
		f.Add([]byte(seed))
	}
	const limit = 1 << 20
	f.Fuzz(func(t *testing.T, b []byte) {
		before := allocated()
		value, n, err := pickle.Load(bytes.NewReader(b), int64(len(b)), limit)
		if used := allocated() - before; used > 8*limit+16*uint64(len(b)) {
			t.Errorf("%d bytes of memory for %d bytes and a limit of %d", used, len(b), limit)
		}
		if n < 0 || n > int64(len(b)) {
			t.Errorf("%d of %d bytes are read", n, len(b))
		}
		if err != nil {
			if !strings.HasPrefix(err.Error(), "pickle, byte ") {
				t.Errorf("the error is %q", err)
			}
			return
		}
		if countValues(value, 1000) >= 1000 {
			return // a value that is referred to twice is encoded twice, and so on
		}
		first, err := encode(value)
		if err != nil {
			return // of a type or depth that is not written
		}
		again, _, err := pickle.Load(bytes.NewReader(first), int64(len(first)), 1<<30)
		if err != nil {
			t.Fatalf("what was encoded again is not read: %v", err)
		}
		if second, err := encode(again); err != nil || !bytes.Equal(first, second) {
			t.Errorf("encoded %q, and what was loaded from that %q, %v", first, second, err)
		}
	})
}

// encode returns the pickle of a value.
func encode(value any) ([]byte, error) {
	var b bytes.Buffer
	err := pickle.Encode(&b, value)
	return b.Bytes(), err
}

// TestLongPicklesAreWrittenInParts, as they are encoded: no part is much more than 32 KiB, and what
// was written is the whole.
func TestLongPicklesAreWrittenInParts(t *testing.T) {
	list := &pickle.List{}
	for i := range 100_000 {
		list.Items = append(list.Items, int64(i))
	}
	var b bytes.Buffer
	parts := 0
	if err := pickle.Encode(writerFunc(func(p []byte) (int, error) {
		if parts++; len(p) > 33<<10 {
			t.Errorf("part %d has %d bytes", parts, len(p))
		}
		return b.Write(p)
	}), list); err != nil || parts < 8 {
		t.Errorf("%d parts, %v", parts, err)
	}
	got, _, err := pickle.Load(bytes.NewReader(b.Bytes()), int64(b.Len()), 1<<30)
	if err != nil || !reflect.DeepEqual(got, any(list)) {
		t.Errorf("%.100v, %v", got, err)
	}
	full := errors.New("the disk is full")
	if err := pickle.Encode(writerFunc(func([]byte) (int, error) { return 0, full }), list); !errors.Is(err, full) {
		t.Errorf("an error of the writer: %v", err)
	}
}

type writerFunc func(p []byte) (int, error)

func (w writerFunc) Write(p []byte) (int, error) { return w(p) }

// allocated returns how many bytes the process has allocated since it started.
func allocated() uint64 {
	sample := []metrics.Sample{{Name: "/gc/heap/allocs:bytes"}}
	metrics.Read(sample)
	return sample[0].Value.Uint64()
}

// countValues returns how many values a value contains, counted as often as they are
// referred to, or some number beyond limit.
func countValues(value any, limit int) int {
	var parts []any
	switch value := value.(type) {
	case pickle.Tuple:
		parts = value
	case *pickle.List:
		parts = value.Items
	case *pickle.Set:
		parts = value.Items
	case *pickle.Dict:
		parts = append(append(slices.Clone(value.Keys), value.Values...), value.State...)
	case *pickle.Persistent:
		parts = []any{value.ID}
	case *pickle.Object:
		parts = append(append([]any{value.Class}, value.Args...), value.State...)
		if value.Items != nil {
			parts = append(parts, value.Items)
		}
		if value.List != nil {
			parts = append(parts, value.List)
		}
	}
	n := 1
	for _, part := range parts {
		if n > limit {
			break
		}
		n += countValues(part, limit-n)
	}
	return n
}
