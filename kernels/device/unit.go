package device

import (
	"compress/gzip"
	"embed"
	"fmt"
	"io"
	"strings"
	"sync"
)

// files has a file for each unit of the sources, compressed by gzip: a first line that names
// the sources, the variables and entries that all targets share, and for each target a line
// "// sm_75" and its own.
//
//go:embed ptx/*.ptx.gz
var files embed.FS

const hashLine = "// From sources "

// An entry is a kernel, and what its unit declares.
type entry struct {
	body      string // from .visible to }
	variables []variable
}

type variable struct{ name, line string }

// entries returns the entries of each target by name.
var entries = sync.OnceValue(func() map[string]map[string]entry {
	all := map[string]map[string]entry{}
	for _, target := range Targets {
		all[target] = map[string]entry{}
	}
	for _, text := range units() {
		common, own := sections(text)
		for _, target := range Targets {
			c := parse(common)
			c.add(parse(own[target]))
			for name, body := range c.bodies {
				all[target][name] = entry{body, c.variables}
			}
		}
	}
	return all
})

// units returns the text of each unit by name.
func units() map[string]string {
	names, err := files.ReadDir("ptx")
	if err != nil {
		panic(err) // the program is built without its files
	}
	all := map[string]string{}
	for _, name := range names {
		text, err := inflate("ptx/" + name.Name())
		if err != nil {
			panic(fmt.Errorf("%s: %w", name.Name(), err))
		}
		all[strings.TrimSuffix(name.Name(), ".ptx.gz")] = text
	}
	return all
}

func inflate(name string) (string, error) {
	f, err := files.Open(name)
	if err != nil {
		return "", err
	}
	defer f.Close()
	r, err := gzip.NewReader(f)
	if err != nil {
		return "", err
	}
	text, err := io.ReadAll(r)
	return string(text), err
}

// Hashes returns the hash of the sources of each unit, as [Merge] was given it.
func Hashes() map[string]string {
	hashes := map[string]string{}
	for name, text := range units() {
		first, _, _ := strings.Cut(text, "\n")
		hashes[name] = strings.TrimPrefix(first, hashLine)
	}
	return hashes
}

// sections returns what the targets of a unit have in common, and what each has of its own.
func sections(text string) (common string, own map[string]string) {
	own = map[string]string{}
	for i := len(Targets) - 1; i >= 0; i-- {
		text, own[Targets[i]], _ = strings.Cut(text, "// "+Targets[i]+"\n")
	}
	return text, own
}

// Merge returns the text of a unit from its modules for [Targets] and the hash of its sources.
func Merge(hash string, modules []string) (string, error) {
	parsed := make([]code, len(modules))
	for i, text := range modules {
		body, ok := strings.CutPrefix(text, head(Targets[i]))
		if !ok {
			return "", fmt.Errorf("code for %s does not begin with %q", Targets[i], head(Targets[i]))
		}
		parsed[i] = parse(body)
	}
	common, first := code{bodies: map[string]string{}}, parsed[0]
	for _, v := range first.variables {
		if all(parsed, func(c code) bool { return c.declares(v) }) {
			common.variables = append(common.variables, v)
		}
	}
	for name, body := range first.bodies {
		if all(parsed, func(c code) bool { return c.bodies[name] == body }) {
			common.bodies[name] = body
		}
	}
	var b strings.Builder
	b.WriteString(hashLine + hash + "\n" + common.text())
	for i, c := range parsed {
		b.WriteString("// " + Targets[i] + "\n" + c.without(common).text())
	}
	return b.String(), nil
}
