package main

import (
	"bytes"
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

var rewrite = flag.Bool("rewrite", false, "write what the commands in testdata/*.txt print now into those files")

// TestScripts runs the command lines in testdata/*.txt, which begin with "$ ",
// and compares their output with the lines below them. An exit status other than 0 is
// a separate line: [exit 2]. The commands share a folder that contains testdata.
func TestScripts(t *testing.T) {
	scripts, err := filepath.Glob("testdata/*.txt")
	if err != nil || len(scripts) == 0 {
		t.Fatalf("%d scripts, %v", len(scripts), err)
	}
	shared, err := filepath.Abs("../../testdata")
	if err != nil {
		t.Fatal(err)
	}
	for _, script := range scripts {
		t.Run(filepath.Base(script), func(t *testing.T) {
			script, err := filepath.Abs(script)
			if err != nil {
				t.Fatal(err)
			}
			want, err := os.ReadFile(script)
			if err != nil {
				t.Fatal(err)
			}
			t.Chdir(t.TempDir())
			if err := os.Symlink(shared, "testdata"); err != nil {
				t.Fatal(err)
			}
			for link, folder := range map[string]string{"keras": "serialize/kerasfile", "torch": "serialize/torch", "tables": "serialize/internal/column", "onnx": "models/onnxgraph", "weights": "serialize/onnx"} {
				if err := os.Symlink(filepath.Join(shared, "..", folder, "testdata"), link); err != nil {
					t.Fatal(err)
				}
			}
			writeForeign(t)
			got := play(t, string(want))
			if *rewrite {
				if err := os.WriteFile(script, []byte(got), 0o666); err != nil {
					t.Fatal(err)
				}
			} else if got != string(want) {
				t.Errorf("%s (-rewrite accepts what it prints now):\n%s", script, firstDifference(got, string(want)))
			}
		})
	}
}

// writeForeign writes beginnings of files of formats that are not read to the folder foreign,
// and a copy of newtypes.h5 that scripts may change.
func writeForeign(t *testing.T) {
	t.Helper()
	own, err := os.ReadFile("testdata/newtypes.h5") // which may be written
	if err := errors.Join(err, os.WriteFile("newtypes.h5", own, 0o666), os.Mkdir("foreign", 0o777)); err != nil {
		t.Fatal(err)
	}
	for name, head := range map[string]string{
		"old.hdf": "\x0e\x03\x13\x01", "old.nc": "CDF\x01", "large.nc": "CDF\x05", "v5.mat": "MATLAB 5.0 MAT-file, Platform: GLNXA64",
		"files.zip": "PK\x03\x04\x14\x00 PK\x05\x06", "data.h5.gz": "\x1f\x8b\x08", "data.tar": strings.Repeat("\x00", 257) + "ustar", "stack.tif": "II*\x00",
		"table.parquet": "PAR1", "image.fits": "SIMPLE  =                    T", "data.sqlite": "SQLite format 3\x00", "page.h5": "<!DOCTYPE html>",
		"pointer.h5": "version https://git-lfs.github.com/spec/v1\n", "photo.jpg": "\xff\xd8\xff\xe0", "empty.h5": "", "noise.h5": "\x01\x02\x03\x04 no format",
	} {
		if head != "" {
			head += strings.Repeat("\x00", 600)
		}
		if err := os.WriteFile("foreign/"+name, []byte(head), 0o666); err != nil {
			t.Fatal(err)
		}
	}
}

// play returns a script with the current output of its commands.
func play(t *testing.T, script string) string {
	var out strings.Builder
	printed := false // what the last command printed before is left out
	for line := range strings.Lines(script) {
		command, isCommand := strings.CutPrefix(line, "$ ")
		switch {
		case isCommand:
			out.WriteString(line)
			out.WriteString(play1(t, command))
			printed = true
		case strings.HasPrefix(line, "# ") || line == "#\n":
			if printed {
				out.WriteByte('\n')
				printed = false
			}
			out.WriteString(line)
		case !printed:
			out.WriteString(line)
		}
	}
	return out.String()
}

// play1 runs one command line and returns what it prints, without numbers of training.
func play1(t *testing.T, line string) string {
	out := output(t, line)
	if strings.HasPrefix(line, "h5dnn train") || strings.HasPrefix(line, "h5dnn eval") {
		return mask(out)
	}
	return out
}

// output runs one command line and returns what it prints, standard error included.
func output(t *testing.T, line string) string {
	args, err := words(line)
	if err != nil || args[0] != "h5dnn" {
		t.Fatalf("%q: %v; a command begins with h5dnn", line, err)
	}
	var out bytes.Buffer
	status := run(context.Background(), args, &out, &out)
	if out.Len() > 0 && !bytes.HasSuffix(out.Bytes(), []byte("\n")) {
		out.WriteByte('\n')
	}
	if status != 0 {
		fmt.Fprintf(&out, "[exit %d]\n", status)
	}
	return out.String()
}

// differing matches what differs between machines in the output of train and eval: losses,
// threads, speeds and times.
var differing = []*regexp.Regexp{
	regexp.MustCompile(`((?:loss|accuracy|_error|r2|f1|iou|cpu,) )[\d.e+-]+()`),
	regexp.MustCompile(`(  )\d+( samples/s)`),
	regexp.MustCompile(`(samples/s  )[\d.]+( s)(?:  \d+% waiting for data)?`),
	regexp.MustCompile(`(?m)(^)[\d.]+( s; run)`),
}

func mask(out string) string {
	for _, part := range differing {
		out = part.ReplaceAllString(out, "$1…$2")
	}
	return out
}

// words splits a line at blanks, except between single quotes.
func words(line string) ([]string, error) {
	parts := strings.Split(strings.TrimSpace(line), "'")
	if len(parts)%2 == 0 {
		return nil, fmt.Errorf("a quote is open")
	}
	var list []string
	glued := false
	for k, part := range parts {
		fields := strings.Fields(part)
		if k%2 == 1 {
			fields = []string{part}
		}
		if glued && len(fields) > 0 && !strings.HasPrefix(part, " ") {
			list[len(list)-1] += fields[0]
			fields = fields[1:]
		}
		list = append(list, fields...)
		glued = part != "" && !strings.HasSuffix(part, " ") || k%2 == 1
	}
	return list, nil
}

// firstDifference returns the first lines in which two texts differ.
func firstDifference(got, want string) string {
	g, w := strings.Split(got, "\n"), strings.Split(want, "\n")
	for k := range max(len(g), len(w)) {
		if k >= len(g) || k >= len(w) || g[k] != w[k] {
			return fmt.Sprintf("line %d:\ngot  %s\nwant %s", k+1, strings.Join(g[min(k, len(g)):min(k+3, len(g))], "\n     "),
				strings.Join(w[min(k, len(w)):min(k+3, len(w))], "\n     "))
		}
	}
	return "no difference"
}

// TestReadmeShowsWhatCommandsPrint runs the README's commands, in its order. Numbers that
// differ between machines, those of training, are compared as such only.
func TestReadmeShowsWhatCommandsPrint(t *testing.T) {
	const name = "../../README.md"
	readme, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	shared, err := filepath.Abs("../../testdata")
	if err != nil {
		t.Fatal(err)
	}
	path, err := filepath.Abs(name)
	if err != nil {
		t.Fatal(err)
	}
	t.Chdir(t.TempDir())
	if err := os.Symlink(shared, "testdata"); err != nil {
		t.Fatal(err)
	}
	lines, got := strings.Split(string(readme), "\n"), []string{}
	ran := 0
	for i := 0; i < len(lines); i++ {
		got = append(got, lines[i])
		command, ok := strings.CutPrefix(lines[i], "    $ ")
		if !ok {
			continue
		}
		ran++
		var want []string
		for ; i+1 < len(lines) && strings.HasPrefix(lines[i+1], "    ") && !strings.HasPrefix(lines[i+1], "    $ "); i++ {
			want = append(want, strings.TrimPrefix(lines[i+1], "    "))
		}
		var printed []string
		if text := strings.TrimSuffix(output(t, command), "\n"); text != "" {
			printed = strings.Split(text, "\n")
		}
		if !*rewrite && masked(command, printed) != masked(command, want) {
			t.Errorf("README: %s\n%s", command, firstDifference(strings.Join(printed, "\n"), strings.Join(want, "\n")))
		}
		for _, line := range printed {
			got = append(got, "    "+line)
		}
	}
	if ran < 8 {
		t.Errorf("README shows %d commands, want 8 or more", ran)
	}
	if *rewrite {
		if err := os.WriteFile(path, []byte(strings.Join(got, "\n")), 0o666); err != nil {
			t.Fatal(err)
		}
	}
}

var anyNumber = regexp.MustCompile(`[0-9]+(\.[0-9]+)?`)

// masked returns lines without the numbers that training determines.
func masked(command string, lines []string) string {
	text := strings.Join(lines, "\n")
	for _, name := range []string{"train", "eval", "predict"} {
		if strings.HasPrefix(command, "h5dnn "+name) {
			text = strings.ReplaceAll(anyNumber.ReplaceAllString(text, "0"), "  0% waiting for data", "") // on a busy machine
		}
	}
	return text
}
