// Command layouts writes kernels/device/devicetest/layouts.txt: the offset and the size of each field of the structs of
// the device code, which package kernels declares in Go too. Needs clang 19, like make ptx.
package main

import (
	"bufio"
	"bytes"
	"cmp"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/h5dnn/h5dnn/kernels/device/source"
)

func main() {
	if err := write("kernels/device"); err != nil {
		fmt.Fprintln(os.Stderr, "layouts:", err)
		os.Exit(1)
	}
}

func write(folder string) error {
	dump, err := dumped(folder)
	if err != nil {
		return err
	}
	hash, err := source.Hash(folder)
	if err != nil {
		return err
	}
	var b strings.Builder
	fmt.Fprintf(&b, "// From sources %s by make ptx. Each line: a struct and its size, or the offset, size, count and name of a field.\n", hash)
	records := parse(dump)
	for _, name := range names(records) {
		r := records[name]
		fmt.Fprintf(&b, "%s %d\n", strings.ReplaceAll(name, " ", ""), r.size)
		for _, f := range r.fields {
			fmt.Fprintf(&b, "\t%d %d %d %s\n", f.offset, f.size, f.count, f.name)
		}
	}
	return os.WriteFile(filepath.Join(folder, "devicetest", "layouts.txt"), []byte(b.String()), 0o666)
}

// dumped returns clang's description of the layouts of all records.
func dumped(folder string) ([]byte, error) {
	sources, err := filepath.Glob(filepath.Join(folder, "*.cu"))
	if err != nil {
		return nil, err
	}
	var all strings.Builder
	for _, name := range sources {
		fmt.Fprintf(&all, "#include %q\n", filepath.Base(name))
	}
	c := exec.Command(cmp.Or(os.Getenv("CLANG"), "clang++-19"), append(slices.Clone(source.Flags), "--cuda-gpu-arch=sm_80", "-fsyntax-only",
		"-Xclang", "-fdump-record-layouts-complete", "-")...)
	c.Dir, c.Stdin = folder, strings.NewReader(all.String())
	var stderr bytes.Buffer
	c.Stderr = &stderr
	out, err := c.Output()
	if err != nil {
		return nil, fmt.Errorf("%w\n%s", err, stderr.Bytes())
	}
	return out, nil
}

type record struct {
	size   int
	fields []field // of numbers and addresses, those of members that are structs among them
}

type field struct {
	offset, size, count int
	name                string
}

var (
	line  = regexp.MustCompile(`^\s*(\d+) \|( +)(.*)$`)
	total = regexp.MustCompile(`sizeof=(\d+)`)
	array = regexp.MustCompile(`^(.*)\[(\d+)\]$`)
)

// sizes of the types of fields.
var sizes = map[string]int{
	"int64_t": 8, "uint64_t": 8, "double": 8, "int32_t": 4, "uint32_t": 4, "int": 4, "unsigned int": 4, "float": 4,
	"int16_t": 2, "uint16_t": 2, "int8_t": 1, "uint8_t": 1, "bool": 1,
}

// parse reads clang's dump. The fields of a member are listed behind it, more indented.
func parse(dump []byte) map[string]*record {
	all := map[string]*record{}
	var current *record
	for lines := bufio.NewScanner(bytes.NewReader(dump)); lines.Scan(); {
		text := lines.Text()
		if m := total.FindStringSubmatch(text); m != nil && current != nil {
			current.size, _ = strconv.Atoi(m[1])
			current = nil
			continue
		}
		m := line.FindStringSubmatch(text)
		if m == nil {
			continue
		}
		if len(m[2]) == 1 {
			current = new(record)
			all[strings.TrimPrefix(strings.TrimSuffix(m[3], " (empty)"), "struct ")] = current
			continue
		}
		offset, _ := strconv.Atoi(m[1])
		if f, ok := fieldOf(m[3], all); ok && current != nil {
			f.offset = offset
			current.fields = append(current.fields, f)
		}
	}
	return all
}

// fieldOf reads "TYPE NAME" of a number, an address, or an array of them or of structs.
func fieldOf(text string, known map[string]*record) (f field, ok bool) {
	at := strings.LastIndex(text, " ")
	if at < 0 || strings.HasSuffix(text, "(base)") {
		return f, false
	}
	kind := strings.TrimPrefix(text[:at], "const ")
	f.name, f.count = text[at+1:], 1
	for m := array.FindStringSubmatch(kind); m != nil; m = array.FindStringSubmatch(kind) {
		n, _ := strconv.Atoi(m[2])
		f.count *= n
		kind = m[1]
	}
	switch kind = strings.TrimSpace(kind); {
	case strings.HasSuffix(kind, "*"):
		f.size = 8
	case sizes[kind] > 0:
		f.size = sizes[kind]
	case f.count > 1 && known[strings.TrimPrefix(kind, "struct ")] != nil:
		f.size = known[strings.TrimPrefix(kind, "struct ")].size
	default:
		return f, false
	}
	return f, true
}

// names are the records that kernels may take as arguments, or parts of them: those that do not
// depend on a type of elements.
func names(all map[string]*record) (some []string) {
	for name, r := range all {
		template, argument, _ := strings.Cut(name, "<")
		takes := template == "MultiTensor" || template == "CallWith"
		if len(r.fields) > 0 && !strings.HasPrefix(name, "__") && !strings.Contains(name, "::") && (argument == "" || takes) {
			some = append(some, name)
		}
	}
	slices.Sort(some)
	return some
}
