package train

import (
	"encoding/json"
	"math"
	"strconv"
)

// JSONLines writes a JSON object for every N steps and for each epoch, one a line.
type JSONLines struct {
	log
	LogOptions
}

// NewJSONLines returns a callback that writes lines of JSON.
func NewJSONLines(o LogOptions) *JSONLines {
	checkEvery("jsonl", o.Every)
	return &JSONLines{log{name: "jsonl", every: o.Every, path: besides(o.File, ".jsonl"), append: appendJSON, size: lineSize}, o}
}

// appendJSON appends {"event":"epoch","epoch":1,…}. Numbers that JSON does not have are null.
func appendJSON(b []byte, row logRow) ([]byte, error) {
	event := "step"
	if row.Epoch {
		event = "epoch"
	}
	b = append(append(append(b, `{"event":"`...), event...), '"')
	for _, n := range row.Numbers {
		name, err := json.Marshal(n.name)
		if err != nil {
			return nil, err
		}
		b = append(append(append(b, ','), name...), ':')
		if math.IsNaN(n.value) || math.IsInf(n.value, 0) {
			b = append(b, "null"...)
		} else {
			b = strconv.AppendFloat(b, n.value, 'g', -1, 64)
		}
	}
	return append(b, "}\n"...), nil
}

var _ = RegisterCallback("jsonl", NewJSONLines, LogOptions{Every: 50})
