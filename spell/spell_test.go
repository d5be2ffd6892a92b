package spell_test

import (
	"fmt"
	"testing"

	"github.com/h5dnn/h5dnn/spell"
)

func ExampleHint() {
	fmt.Println("there is no layer convd2" + spell.Hint("convd2", []string{"dense", "conv2d", "dropout"}))
	// Output: there is no layer convd2; did you mean conv2d?
}

func TestNearest(t *testing.T) {
	known := []string{"/train/images", "/train/labels", "MaxPool2d", "epochs", "x"}
	for name, want := range map[string]string{
		"/train/imagse": "/train/images", // two letters exchanged
		"/train/label":  "/train/labels", // one missing
		"max_pool2d":    "MaxPool2d",     // written otherwise
		"EPOCHS":        "epochs",
		"epo":           "epochs", // a beginning
		"ep":            "",       // too little of one
		"learning_rate": "",
		"":              "",
		"y":             "",
	} {
		if got, ok := spell.Nearest(name, known); got != want || ok != (want != "") {
			t.Errorf("Nearest(%q) = %q, %v; want %q", name, got, ok, want)
		}
	}
	for _, known := range [][]string{{"a.k", "a.q"}, {"a.q", "a.k"}} {
		if got, _ := spell.Nearest("*.n", known); got != "a.k" {
			t.Errorf("of names equally near in %v, %q; want the first in byte order", known, got)
		}
	}
	if got, ok := spell.Nearest("a", nil); ok {
		t.Errorf("of nothing, %q", got)
	}
}
