package models_test

import (
	"strings"
	"testing"

	"github.com/h5dnn/h5dnn/convert/models"
	_ "github.com/h5dnn/h5dnn/serialize/torch"
)

// TestWhatAFileHasBesideArraysIsLost: a module's class and its attributes are in no format that is written.
func TestWhatAFileHasBesideArraysIsLost(t *testing.T) {
	source, err := models.Open("../../serialize/torch/testdata/omitted_module.pt")
	if err != nil {
		t.Fatal(err)
	}
	defer source.Close()
	plan, err := models.New(source, "safetensors", models.Options{Framework: "pytorch"})
	if err != nil {
		t.Fatal(err)
	}
	for _, item := range plan.Lost {
		if strings.Contains(item.Reason, "a module of class") {
			return
		}
	}
	t.Errorf("lost %v; want a module of a class", plan.Lost)
}
