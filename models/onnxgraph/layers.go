package onnxgraph

import (
	"cmp"
	"strings"
)

// layers are the rules by which nodes become layers of nn.
var layers = map[string]func(){}

func compareOperators(a, b operator) int {
	return cmp.Or(strings.Compare(a.domain, b.domain), strings.Compare(a.op, b.op))
}
