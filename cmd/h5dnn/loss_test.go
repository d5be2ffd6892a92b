package main

import (
	"encoding/json"
	"fmt"
	"testing"

	"github.com/h5dnn/h5dnn/loss"
	"github.com/h5dnn/h5dnn/storage"
)

// TestReasonsInJSON: reasons are those of the report, without the kind of the error.
func TestReasonsInJSON(t *testing.T) {
	var lost loss.List
	lost.Add("/x", loss.Array, 1, "%v", fmt.Errorf("its name is empty: %w", storage.ErrState))
	b, err := json.Marshal(lossFields(lost))
	if want := `{"lost":[{"path":"/x","kind":"array","count":1,"reason":"its name is empty","inherent":false}],"complete":false}`; err != nil || string(b) != want {
		t.Errorf("%s, %v; want %s", b, err, want)
	}
}
