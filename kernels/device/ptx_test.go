package device

import (
	"crypto/sha256"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// TestPTXIsOfTheseSources fails where "make ptx" was forgotten.
func TestPTXIsOfTheseSources(t *testing.T) {
	sources := []string{"../../scripts/ptx.sh", "../native/ops.h"}
	for _, pattern := range []string{"*.cuh", "*.cu"} {
		found, err := filepath.Glob(pattern)
		if err != nil {
			t.Fatal(err)
		}
		sources = append(sources, found...)
	}
	sum := sha256.New()
	for _, name := range sources {
		text, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		sum.Write(text)
	}
	want := fmt.Sprintf("// From sources sha256:%x by make ptx.\n", sum.Sum(nil))
	for name, text := range map[string]string{"sm_75.ptx": sm75, "sm_80.ptx": sm80} {
		if !strings.HasPrefix(text, want) {
			t.Errorf("%s is of other sources: run make ptx", name)
		}
	}
}

// TestPTXKeepsToItsSubset holds the device code to what every driver since CUDA
// 11.0 compiles, and to what does not make it slow behind our backs.
func TestPTXKeepsToItsSubset(t *testing.T) {
	for target, text := range map[string]string{"sm_75": sm75, "sm_80": sm80} {
		if !strings.Contains(text, ".version 7.0\n.target "+target+"\n") {
			t.Errorf("%s: not of version 7.0 for that target", target)
		}
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
				t.Errorf("%s.ptx:%d: %s %s", target, line, what, why)
			}
		}
	}
}

// TestTheAssemblerTakesEveryEntry holds ptxas.txt, which "make ptxas" writes, to
// being of this PTX, listing the entries there are, and registers being enough for all of them.
func TestTheAssemblerTakesEveryEntry(t *testing.T) {
	table, err := os.ReadFile("ptxas.txt")
	if err != nil {
		t.Fatal(err)
	}
	if want := fmt.Sprintf("# Of PTX sha256:%x\n", sha256.Sum256([]byte(sm75+sm80))); !strings.Contains(string(table), want) {
		t.Error("ptxas.txt is of other PTX: run make ptxas")
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
	for _, entry := range strings.Split(sm75, ".visible .entry ")[1:] {
		if name, _, _ := strings.Cut(entry, "("); !listed[name] {
			t.Errorf("ptxas.txt lacks %s: run make ptxas", name)
		}
	}
}

// TestEntriesAreAllOfThePTX takes the code apart and finds every line of it in
// some entry's module, and every module to declare the variables that it uses.
func TestEntriesAreAllOfThePTX(t *testing.T) {
	for _, capability := range []int{75, 90} {
		whole, err := PTX(capability)
		if err != nil {
			t.Fatal(err)
		}
		rest := map[string]bool{}
		for line := range strings.Lines(whole) {
			rest[line] = true
		}
		names := regexp.MustCompile(`\.visible \.entry (\w+)`).FindAllStringSubmatch(whole, -1)
		for _, name := range names {
			text, err := Entry(capability, name[1])
			if err != nil {
				t.Fatal(err)
			}
			for line := range strings.Lines(text) {
				delete(rest, line)
			}
			for _, variable := range regexp.MustCompile(`\b_Z\w+`).FindAllString(text, -1) {
				if !strings.Contains(text, ".b8 "+variable+"[") && !strings.Contains(text, ".u32 "+variable+";") {
					t.Errorf("sm_%d: %s uses %s, which its module does not declare", capability, name[1], variable)
				}
			}
		}
		if len(names) < 100 || len(rest) > 0 {
			t.Errorf("sm_%d: %d entries; %d lines are in none of their modules", capability, len(names), len(rest))
		}
	}
	if _, err := Entry(70, "neg_f32"); err == nil {
		t.Error("an entry for compute capability 7.0")
	}
	if _, err := Entry(90, "neg"); err == nil {
		t.Error("half the name of an entry is one")
	}
}
