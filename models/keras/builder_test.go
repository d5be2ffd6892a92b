package keras

import (
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/h5dnn/h5dnn/models/weights"
)

// TestSettingsOfNodes compares what layers become, or why they do not, with the settings of
// PyTorch's modules. Predictions do not show all of them.
func TestSettingsOfNodes(t *testing.T) {
	for _, c := range []struct{ layer, want string }{
		{`"BatchNormalization", "config": {"name": "l", "momentum": 0.75}`, `"momentum":0.25`},
		{`"CuDNNGRU", "config": {"name": "l", "units": 2}`, `{"gru":{`},
		{`"GRU", "config": {"name": "l", "units": 2, "reset_after": false}`, `"reset_after":false`},
		{`"GRU", "config": {"name": "l", "units": 2, "reset_after": true, "go_backwards": true}`, `"go_backwards":true`},
		{`"SimpleRNN", "config": {"name": "l", "units": 2}`, `{"rnn":{`},
		{`"SimpleRNN", "config": {"name": "l", "units": 2, "activation": "relu"}`, `"nonlinearity":"relu"`},
		{`"LSTM", "config": {"name": "l", "units": 2, "activation": "relu"}`, `"activation":"relu"`},
		{`"LSTM", "config": {"name": "l", "units": 2, "stateful": true}`, "stateful"},
	} {
		m, err := Parse(fmt.Sprintf(`{"class_name": "Sequential", "config": {"name": "s", "layers": [
			{"class_name": "InputLayer", "config": {"name": "i", "batch_shape": [null, 4, 3]}}, {"class_name": %s}]}}`, c.layer))
		if err != nil {
			t.Errorf("%s: %v", c.layer, err)
			continue
		}
		got := ""
		translation, err := ToH5dnn(m, LinkOptions{})
		if errors.Is(err, weights.ErrUnsupported) {
			got = err.Error()
		} else if err == nil {
			b, _ := json.Marshal(translation.Description)
			got = string(b)
		}
		if !strings.Contains(got, c.want) {
			t.Errorf("%s: %s, %v; want %s", c.layer, got, err, c.want)
		}
	}
}
