package loss

import (
	"fmt"
	"testing"
)

// Example counts what .npz cannot hold of a dataset with two attributes.
func Example() {
	var lost List
	lost.AddInherent("/images", Attribute, 2, "npz has no attributes")
	fmt.Println(lost.Summary(), lost.Avoidable())
	lost.Add("/table", Array, 1, "npz holds numbers")
	fmt.Println(lost.Summary(), lost.Avoidable())
	// Output:
	// lost: 2 attributes false
	// lost: 1 array, 2 attributes true
}

func TestArraysAreNeverInherent(t *testing.T) {
	var lost List
	lost.AddInherent("/a", Array, 1, "")
	if !lost.Avoidable() {
		t.Error("a lost array is inherent")
	}
}

func TestSummary(t *testing.T) {
	var lost List
	if got := lost.Summary(); got != "nothing lost" || lost.Avoidable() {
		t.Errorf("an empty list: %q", got)
	}
	lost.Add("/a", Link, 0, "not added")
	lost.Add("/a", Property, 2, "")
	lost.Add("/b", Link, 1, "dangling")
	lost.Add("/a", Link, 1, "")
	if got := lost.Summary(); got != "lost: 2 links, 2 properties" {
		t.Errorf("got %q", got)
	}
	if got := lost.Of("/b"); len(got) != 1 || got[0].String() != "/b: 1 link lost: dangling" {
		t.Errorf("got %v", got)
	}
}
