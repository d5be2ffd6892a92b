package device

import (
	"fmt"
	"os"
	"regexp"
	"strings"
	"testing"

	"github.com/h5dnn/h5dnn/kernels/device/source"
)

// TestPTXIsOfTheseSources fails where "make ptx" was forgotten.
func TestPTXIsOfTheseSources(t *testing.T) {
	units, err := source.Units(".")
	if err != nil {
		t.Fatal(err)
	}
	have := Hashes()
	for _, u := range units {
		if have[u.Name] != u.Hash {
			t.Errorf("ptx/%s.ptx.gz is of other sources: run make ptx", u.Name)
		}
		delete(have, u.Name)
	}
	for name := range have {
		t.Errorf("ptx/%s.ptx.gz is of no source: run make ptx", name)
	}
}

// TestPTXKeepsToItsSubset holds the device code to what every driver since CUDA
// 11.0 compiles, and to what does not make it slow behind our backs.
func TestPTXKeepsToItsSubset(t *testing.T) {
	for name, text := range units() {
		for what, why := range map[string]string{
			".weak":         "is a member of a class: make it a function",
			".const":        "is a variable: make it an enum",
			".local":        "keeps an array in slow memory: unroll the loops over it",
			".func":         "calls a function: inline it",
			".extern":       "needs what is not there",
			"ld.f":          "reads memory of an unknown kind",
			"ld.u":          "reads memory of an unknown kind",
			"st.u":          "writes memory of an unknown kind",
			"fma.rn.ftz":    "flushes denormals",
			"contract":      "may be fused",
			".global.add.f": "adds in an order that differs from run to run",
		} {
			if i := strings.Index(text, what); i >= 0 {
				line := 1 + strings.Count(text[:i], "\n")
				t.Errorf("%s:%d: %s %s", name, line, what, why)
			}
		}
	}
}

// TestTheAssemblerTakesEveryEntry holds ptxas.txt, which "make ptxas" writes, to
// being of these units, listing their entries, and registers being enough for all of them.
func TestTheAssemblerTakesEveryEntry(t *testing.T) {
	table, err := os.ReadFile("ptxas.txt")
	if err != nil {
		t.Fatal(err)
	}
	for name, hash := range Hashes() {
		if !strings.Contains(string(table), fmt.Sprintf("# %s %s\n", name, hash)) {
			t.Errorf("ptxas.txt lacks %s or is of other code: run make ptxas", name)
		}
	}
	listed := map[string]bool{}
	for line := range strings.Lines(string(table)) {
		if fields := strings.Fields(line); fields[0] != "#" {
			listed[fields[0]] = true
			if len(fields) != 6 || fields[5] != "0" {
				t.Errorf("ptxas.txt: %s: want registers on four targets and nothing spilled", strings.TrimSpace(line))
			}
		}
	}
	for _, target := range Targets {
		for name := range entries()[target] {
			if !listed[name] {
				t.Errorf("ptxas.txt lacks %s of %s: run make ptxas", name, target)
			}
		}
	}
}

// TestModulesAreComplete finds every line of the files in the module of some entry, and every
// module to declare the variables that it uses.
func TestModulesAreComplete(t *testing.T) {
	rest := map[string]bool{}
	for _, text := range units() {
		for line := range strings.Lines(text) {
			rest[line] = !strings.HasPrefix(line, "//")
		}
	}
	for _, capability := range []int{75, 90} {
		names, err := Entries(capability)
		if err != nil || len(names) < 500 {
			t.Fatal(len(names), err)
		}
		for _, name := range names {
			text, err := Entry(capability, name)
			if err != nil {
				t.Fatal(err)
			}
			for line := range strings.Lines(text) {
				delete(rest, line)
			}
			for _, variable := range regexp.MustCompile(`\b_Z\w+`).FindAllString(text, -1) {
				if !strings.Contains(text, ".b8 "+variable+"[") && !strings.Contains(text, ".u32 "+variable+";") {
					t.Errorf("%d: %s uses %s, which its module does not declare", capability, name, variable)
				}
			}
		}
	}
	for line, unused := range rest {
		if unused {
			t.Errorf("%q is in no module", line)
		}
	}
	if _, err := Entry(70, "neg_f32"); err == nil {
		t.Error("an entry for compute capability 7.0")
	}
	if _, err := Entry(90, "neg"); err == nil {
		t.Error("half the name of an entry is one")
	}
}

// TestMergedModulesStayWhole merges modules that share an entry and a variable, and takes them apart.
func TestMergedModulesStayWhole(t *testing.T) {
	module := func(target, own string) string {
		return head(target) + ".shared .align 4 .u32 both;\n.shared .align 4 .u32 " + own + ";\n" +
			".visible .entry same(\n)\n{\n\tret;\n}\n.visible .entry other(\n)\n{\n\tst.shared.u32 [" + own + "], 1;\n}\n"
	}
	modules := []string{module("sm_75", "a"), module("sm_80", "b")}
	text, err := Merge("of these", modules)
	if err != nil {
		t.Fatal(err)
	}
	if n := strings.Count(text, ".entry same("); n != 1 {
		t.Errorf("the common entry is there %d times", n)
	}
	common, own := sections(text)
	for i, target := range Targets {
		c := parse(common)
		c.add(parse(own[target]))
		want := parse(modules[i])
		if c.text() != want.text() {
			t.Errorf("%s:\n%s\nwant\n%s", target, c.text(), want.text())
		}
	}
	if _, err := Merge("", []string{module("sm_80", "a"), module("sm_80", "b")}); err == nil {
		t.Error("code for another target is merged")
	}
}
