package main

import (
	"testing"

	"github.com/h5dnn/h5dnn/docs"
)

// TestPageIsCurrent fails if docs/configuration.md is not what the code says now.
func TestPageIsCurrent(t *testing.T) {
	text, err := page("../..")
	if err != nil {
		t.Fatal(err)
	}
	if text != docs.Configuration {
		t.Error("docs/configuration.md is not what the code says; make golden writes it")
	}
}
