package train

import (
	"encoding/json"
	"errors"
	"fmt"
	"strconv"
	"strings"

	"github.com/goccy/go-yaml"
	"github.com/goccy/go-yaml/ast"
	"github.com/goccy/go-yaml/parser"
	"github.com/goccy/go-yaml/token"

	"github.com/h5dnn/h5dnn/nn"
)

// The parser takes time that grows with the square of how deep lists nest, so a
// configuration is no larger than this.
const (
	maxConfig = 64 << 10
	maxLine   = 4 << 10
)

// yamlToJSON returns the one document in text as JSON, and the document to find
// places in. Aliases, which can grow without bound, are refused.
func yamlToJSON(text []byte) (json.RawMessage, ast.Node, error) {
	if err := small(text); err != nil {
		return nil, nil, err
	}
	file, err := parser.ParseBytes(text, 0)
	var bad yaml.Error
	switch {
	case errors.As(err, &bad):
		return nil, nil, place(bad.GetToken(), errors.New(bad.GetMessage()))
	case err != nil:
		return nil, nil, err
	case len(file.Docs) != 1:
		return nil, nil, fmt.Errorf("%d documents; want one", len(file.Docs))
	case file.Docs[0].Body == nil:
		return nil, nil, errors.New("empty; name at least data.file, data.x and data.y")
	}
	value, err := valueOf(file.Docs[0].Body)
	if err != nil {
		return nil, nil, err
	}
	raw, err := json.Marshal(value)
	return raw, file.Docs[0].Body, err
}

func small(text []byte) error {
	if len(text) > maxConfig {
		return fmt.Errorf("%d bytes; want at most %d", len(text), maxConfig)
	}
	n := 0
	for line := range strings.Lines(string(text)) {
		if n++; len(line) > maxLine {
			return fmt.Errorf("line %d has %d bytes; want at most %d", n, len(line), maxLine)
		}
	}
	return nil
}

// place says where in the text err is.
func place(t *token.Token, err error) error {
	if t == nil || t.Position == nil {
		return err
	}
	return fmt.Errorf("%d:%d: %w", t.Position.Line, t.Position.Column, err)
}

// valueOf returns n as Go values that JSON can write.
func valueOf(n ast.Node) (any, error) {
	switch n := n.(type) {
	case *ast.MappingNode:
		return mapOf(n.Values)
	case *ast.MappingValueNode:
		return mapOf([]*ast.MappingValueNode{n})
	case *ast.SequenceNode:
		list := make([]any, len(n.Values))
		for i, elem := range n.Values {
			var err error
			if list[i], err = valueOf(elem); err != nil {
				return nil, err
			}
		}
		return list, nil
	case *ast.StringNode:
		return textOrNumber(n), nil
	case *ast.LiteralNode:
		return n.Value.Value, nil
	case *ast.IntegerNode, *ast.FloatNode, *ast.BoolNode, *ast.NullNode:
		return n.(ast.ScalarNode).GetValue(), nil
	}
	return nil, place(n.GetToken(), fmt.Errorf("a YAML %s is not understood here; write the value out", strings.ToLower(n.Type().String())))
}

func mapOf(entries []*ast.MappingValueNode) (any, error) {
	m := make(map[string]any, len(entries))
	for _, e := range entries {
		key, ok := e.Key.(ast.ScalarNode)
		if !ok {
			return nil, place(e.Key.GetToken(), errors.New("want a name before the colon"))
		}
		value, err := valueOf(e.Value)
		if err != nil {
			return nil, err
		}
		m[fmt.Sprint(key.GetValue())] = value
	}
	return m, nil
}

// textOrNumber reads 1e-3, which is a number to everyone but YAML 1.1.
func textOrNumber(n *ast.StringNode) any {
	plain := n.Token.Type == token.StringType && strings.ContainsAny(n.Value[:min(1, len(n.Value))], "0123456789+-.")
	if f, err := strconv.ParseFloat(n.Value, 64); plain && err == nil && f-f == 0 {
		return f
	}
	return n.Value
}

// placed adds to a ConfigError where in the document it is.
func placed(doc ast.Node, err error) error {
	var wrong *nn.ConfigError
	if !errors.As(err, &wrong) {
		return err
	}
	return place(locate(doc, wrong.Path), err)
}

// locate returns the token that path leads to, or as near as it gets.
func locate(n ast.Node, path []any) *token.Token {
	if n == nil {
		return nil
	}
	nearest := n.GetToken()
	if len(path) == 0 {
		return nearest
	}
	switch step := path[0].(type) {
	case int:
		if list, ok := n.(*ast.SequenceNode); ok && step < len(list.Values) {
			return locate(list.Values[step], path[1:])
		}
	case string:
		if e := entry(n, step); e != nil {
			if inner := locate(e.Value, path[1:]); len(path) > 1 && inner != nil {
				return inner
			}
			return e.Key.GetToken()
		}
		return nearest
	}
	return nearest
}

func entry(n ast.Node, key string) *ast.MappingValueNode {
	var entries []*ast.MappingValueNode
	switch n := n.(type) {
	case *ast.MappingNode:
		entries = n.Values
	case *ast.MappingValueNode:
		entries = []*ast.MappingValueNode{n}
	}
	for _, e := range entries {
		if k, ok := e.Key.(ast.ScalarNode); ok && fmt.Sprint(k.GetValue()) == key {
			return e
		}
	}
	return nil
}
