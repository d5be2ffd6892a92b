package main

import (
	"reflect"
	"regexp"
	"strings"
)

// wording maps names of Go in comments to those of configurations.
type wording map[string]string

func (w wording) add(goName, name string) { w[goName] = name }

// addFields adds the fields of a struct of settings.
func (w wording) addFields(t reflect.Type) {
	for i := range t.NumField() {
		if name := settingName(t.Field(i)); name != "" {
			w.add(t.Field(i).Name, name)
		}
	}
}

// settingName returns the name of a field in configurations, or "".
func settingName(f reflect.StructField) string {
	name, _, _ := strings.Cut(f.Tag.Get("json"), ",")
	return strings.TrimPrefix(name, "-")
}

var (
	word = regexp.MustCompile(`\b[A-Z]\w*`)
	link = regexp.MustCompile(`\[\*?([A-Z][A-Za-z.]*)\]`)
	code = regexp.MustCompile(`(^|,? )as (?:nn\.)?\w+ reads (it|them)`)
)

// tidy returns a comment on one line, in the words of configurations and without
// what only Go programs see.
func (w wording) tidy(comment string) string {
	text := strings.Join(strings.Fields(comment), " ")
	text = code.ReplaceAllString(link.ReplaceAllString(text, "$1"), "")
	return word.ReplaceAllStringFunc(text, func(name string) string {
		if other, ok := w[name]; ok {
			return other
		}
		return name
	})
}

// sentence returns what the comment of a type says, without the type's name: "Conv2d
// is the cross-correlation" becomes "The cross-correlation".
func (w wording) sentence(comment, name string) string {
	text := strings.Join(strings.Fields(comment), " ")
	for _, start := range []string{name + " is ", "A " + name + " is ", "An " + name + " is ", name + " "} {
		if rest, ok := strings.CutPrefix(text, start); ok {
			text = rest
			break
		}
	}
	text = w.tidy(text)
	if startsWithWord.MatchString(text) {
		text = strings.ToUpper(text[:1]) + text[1:]
	}
	return strings.TrimSuffix(text, ".") + "."
}

// startsWithWord matches text that begins with a word and not with a formula.
var startsWithWord = regexp.MustCompile(`^([a-z]{2,}|a) `)
