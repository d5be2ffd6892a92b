package jsontext_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/h5dnn/h5dnn/internal/jsontext"
)

func Example() {
	p := jsontext.New(`{"shape": [2, 3], "name": "größe"}`)
	p.Object(func(key string) {
		if key == "shape" {
			fmt.Println(key, p.Ints())
			return
		}
		fmt.Println(key, p.String())
	})
	fmt.Println(p.End())
	// Output:
	// shape [2 3]
	// name größe
	// <nil>
}

// TestWhatIsNotJSONIsRefused, and JSON that two readers may understand differently.
func TestWhatIsNotJSONIsRefused(t *testing.T) {
	for _, text := range []string{
		"", "{", "[", "[1", "[1,", "[1,]", "[,1]", `{"a"}`, `{"a":}`, `{"a":1,}`, `{a:1}`, `"`, `"\`, `"\u12"`, "\"\n\"", "01", "-", "1e",
		"tru", "nul", "[1] 2", `{"a":1,"a":2}`, "\"\xff\"", strings.Repeat("[", 1000), strings.Repeat("[", 65) + strings.Repeat("]", 65),
		`{"a":1,"b":1,"c":1,"d":1,"e":1,"f":1,"g":1,"h":1,"i":1,"j":1,"j":1}`, `{"a":1,"b":1,"c":1,"d":1,"e":1,"f":1,"g":1,"h":1,"i":1,"j":1,"a":1}`,
	} {
		p := jsontext.New(text)
		p.Skip()
		if err := p.End(); !errors.Is(err, jsontext.ErrSyntax) {
			t.Errorf("%.40q: %v, want ErrSyntax", text, err)
		}
	}
	for _, text := range []string{"-1", "1.0", "1e3", "00", "9223372036854775808", "99999999999999999999", `"1"`, "null", "", "+1"} {
		p := jsontext.New(text)
		if n := p.Int(); !errors.Is(p.End(), jsontext.ErrSyntax) {
			t.Errorf("%q is the integer %d", text, n)
		}
	}
	p := jsontext.New("[9223372036854775807,0, 10]")
	if got := p.Ints(); p.End() != nil || !slices.Equal(got, []int{1<<63 - 1, 0, 10}) {
		t.Errorf("%v, %v", got, p.End())
	}
}

// FuzzSkip compares what is taken for JSON with encoding/json.
func FuzzSkip(f *testing.F) {
	for _, text := range []string{`{"a":[1,2.5e3,-0,true,null,"x\u00e4\n"]}`, "[]", "{}", `" "`, "[[[]]]", "1", " false ", "null"} {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		p := jsontext.New(text)
		p.Skip()
		if p.End() == nil && !json.Valid([]byte(text)) {
			t.Errorf("%q is taken for JSON", text)
		}
		var s, back string
		if isText := strings.HasPrefix(strings.TrimLeft(text, " \t\r\n"), `"`); isText && utf8.ValidString(text) && json.Unmarshal([]byte(text), &s) == nil {
			if p := jsontext.New(text); p.String() != s || p.End() != nil {
				t.Errorf("%q is not the string %q: %v", text, s, p.End())
			}
			if json.Unmarshal(jsontext.Append(nil, s), &back) != nil || back != s {
				t.Errorf("%q is written as %s", s, jsontext.Append(nil, s))
			}
		}
	})
}
