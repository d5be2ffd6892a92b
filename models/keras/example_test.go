package keras_test

import (
	"encoding/json"
	"fmt"
	"os"

	"github.com/h5dnn/h5dnn/models/keras"
)

func Example() {
	m, err := keras.Parse(`{"class_name": "Sequential", "config": {"name": "small", "layers": [
		{"class_name": "InputLayer", "config": {"name": "x", "batch_shape": [null, 4]}},
		{"class_name": "Dense", "config": {"name": "hidden", "units": 3, "activation": "relu"}}]}}`)
	if err != nil {
		fmt.Println(err)
		return
	}
	t, err := keras.ToH5dnn(m, keras.LinkOptions{})
	if err != nil {
		fmt.Println(err)
		return
	}
	json.NewEncoder(os.Stdout).Encode(t.Description)
	// Output: {"graph":{"inputs":["x"],"nodes":[{"from":"x","layer":{"dense":{"bias":true,"in_features":4,"out_features":3}},"name":"hidden"},{"from":"hidden","layer":"relu","name":"hidden_activation"}],"outputs":["hidden_activation"]}}
}
