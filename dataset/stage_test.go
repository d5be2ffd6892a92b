package dataset

import (
	"errors"
	"fmt"
	"slices"
	"testing"

	"github.com/h5dnn/h5dnn/dtype"
	"github.com/h5dnn/h5dnn/storage"
)

// A stamp makes the first field of each sample its row, the epoch and its number in the shard's part of the batch.
type stamp struct{ fail int }

func (stamp) Output(fields []Field) ([]Field, error) {
	fields[0].Type, fields[0].Shape = dtype.Int64, []int{3}
	return fields, nil
}

func (s stamp) Apply(to, _ []storage.Array, epoch int, rows []int) error {
	stamps := storage.Elements[int64](to[0])
	for i, row := range rows {
		if row == s.fail {
			return fmt.Errorf("row %d", row)
		}
		copy(stamps[to[0].Offset+3*i:], []int64{int64(row), int64(epoch), int64(i)})
	}
	return nil
}

// TestAStageSeesEverySample runs a stage over every way of reading: the batches hold what it makes, of any number of shards
// in parts, and what it leaves as it is.
func TestAStageSeesEverySample(t *testing.T) {
	eachLoader(t, func(t *testing.T, s specimen, o Options) {
		o.Stage = stamp{-1}
		o.Memory = 0
		for _, shards := range []int{1, 2} {
			if o.Shards = shards; o.BatchSize%shards != 0 {
				continue
			}
			l := must[*Loader](t)(NewLoader(s.d, o))
			for epoch := range 2 {
				total := 0
				for b, err := range l.Epoch(t.Context(), epoch, 0) {
					if err != nil {
						t.Fatal(err)
					}
					parts := l.Parts(b.Consumed - len(b.Rows))
					stamps := storage.Elements[int64](b.Fields[0])
					for i, k, part := 0, 0, 0; i < len(b.Rows); i, k = i+1, k+1 {
						for k == parts[part] {
							part, k = part+1, 0
						}
						if want := []int64{int64(b.Rows[i]), int64(epoch), int64(k)}; !slices.Equal(stamps[3*i:3*i+3], want) {
							t.Fatalf("%s, %v: sample %d is %v, want %v", s.name, o.Shuffle, i, stamps[3*i:3*i+3], want)
						}
					}
					total += len(b.Rows)
				}
				if total != s.d.Len() {
					t.Fatalf("%s: %d samples of %d", s.name, total, s.d.Len())
				}
			}
		}
	})
}

func TestErrorsOfAStageComeWithTheirBatch(t *testing.T) {
	x, y := pairs(100)
	l := must[*Loader](t)(NewLoader(must[Dataset](t)(FromArrays(input("x", x), target("y", y))), Options{BatchSize: 10, Stage: stamp{7}}))
	failed := 0
	for b, err := range l.Epoch(t.Context(), 0, 0) {
		if (err != nil) != slices.Contains(b.Rows, 7) {
			t.Errorf("batch of rows %v: error %v", b.Rows, err)
		}
		if err != nil {
			failed++
		}
	}
	if failed != 1 {
		t.Errorf("%d batches failed, want 1", failed)
	}
	if _, err := NewLoader(l.Dataset(), Options{BatchSize: 1 << 20, Memory: 5000, Stage: stamp{}}); !errors.Is(err, ErrMemory) {
		t.Errorf("the memory of a stage is not planned: %v", err)
	}
}
