package config

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
)

// The parser takes time that grows with the square of how deep lists nest, so a
// configuration is no larger than this.
const (
	maxConfig = 64 << 10
	maxLine   = 4 << 10
)

// A Document is one configuration, as read from a YAML file.
type Document struct {
	body  ast.Node
	value any // of body, in the types of encoding/json
}

// ParseYAML reads text, which holds one YAML document, or none for no settings.
// JSON is YAML too. Aliases and anchors are refused, as they can make a small text
// large.
func ParseYAML(text []byte) (*Document, error) {
	if err := checkSize(text); err != nil {
		return nil, err
	}
	file, err := parser.ParseBytes(text, 0)
	var bad yaml.Error
	switch {
	case errors.As(err, &bad):
		return nil, withPosition(bad.GetToken(), errors.New(withQuotes(bad.GetMessage())))
	case err != nil:
		return nil, err
	case len(file.Docs) != 1:
		return nil, fmt.Errorf("%d documents; want one", len(file.Docs))
	case file.Docs[0].Body == nil:
		return &Document{value: map[string]any{}}, nil
	}
	value, err := valueOf(file.Docs[0].Body)
	if err != nil {
		return nil, err
	}
	return &Document{body: file.Docs[0].Body, value: value}, nil
}

// withQuotes adds to the parser's message about a second colon in a line what to do.
func withQuotes(message string) string {
	if strings.HasPrefix(message, "mapping value is not allowed") {
		message += "; a text with a colon and a space needs quotes"
	}
	return message
}

// Decode is the function Decode with the document's value; its errors give
// positions.
func (d *Document) Decode(settings any) error {
	raw, err := json.Marshal(d.value)
	if err != nil {
		return err
	}
	return d.Locate(Decode(raw, settings))
}

// Locate adds to an Error the position in the document that its path leads to, as
// line:column. Other errors are returned as they are.
func (d *Document) Locate(err error) error {
	var wrong *Error
	if !errors.As(err, &wrong) {
		return err
	}
	return withPosition(d.locate(wrong.Path), err)
}

func checkSize(text []byte) error {
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

// withPosition adds the line and column of t to err.
func withPosition(t *token.Token, err error) error {
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
	return nil, withPosition(n.GetToken(), fmt.Errorf("a YAML %s is not understood here; write the value out", strings.ToLower(n.Type().String())))
}

func mapOf(entries []*ast.MappingValueNode) (any, error) {
	m := make(map[string]any, len(entries))
	for _, e := range entries {
		key, ok := e.Key.(ast.ScalarNode)
		if !ok {
			return nil, withPosition(e.Key.GetToken(), errors.New("want a name before the colon"))
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

// Line returns the line of the setting that path leads to, or 0 where the document does not have it.
func (d *Document) Line(path ...any) int {
	n, line := d.body, 0
	for _, step := range path {
		if item, ok := step.(Item); ok {
			list, ok := n.(*ast.SequenceNode)
			if !ok || item.Index >= len(list.Values) {
				return 0
			}
			n = list.Values[item.Index]
			line = n.GetToken().Position.Line
			continue
		}
		e := entry(n, fmt.Sprint(step))
		if e == nil {
			return 0
		}
		n, line = e.Value, e.Key.GetToken().Position.Line
	}
	return line
}

// locate returns the token that path leads to, or the nearest one above it.
func (d *Document) locate(path []any) *token.Token {
	if d.body == nil {
		return nil
	}
	n := d.body
	nearest := n.GetToken()
	for i, step := range path {
		switch step := step.(type) {
		case Item:
			list, ok := n.(*ast.SequenceNode)
			if !ok || step.Index >= len(list.Values) {
				return nearest
			}
			n = list.Values[step.Index]
			nearest = n.GetToken()
		default:
			e := entry(n, fmt.Sprint(step))
			if e == nil {
				return nearest
			}
			if n, nearest = e.Value, e.Key.GetToken(); i < len(path)-1 {
				nearest = n.GetToken() // of the value, where the rest of the path may be
			}
		}
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
