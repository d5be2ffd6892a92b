package train_test

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/h5dnn/h5dnn/train"
)

func TestExamplesAreValid(t *testing.T) {
	files, err := filepath.Glob("../examples/*.yaml")
	if err != nil || len(files) < 2 {
		t.Fatalf("examples %v, %v", files, err)
	}
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := train.ParseConfig(text); err != nil {
			t.Errorf("%s: %v", file, err)
		}
	}
}
