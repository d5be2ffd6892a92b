package torch_test

import (
	"slices"
	"testing"

	"github.com/h5dnn/h5dnn/serialize"
)

// omittedOf returns what the arrays and the metadata of a file do not have.
func omittedOf(t *testing.T, name string) []string {
	t.Helper()
	f, err := serialize.Open(name)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	list := []string{}
	for _, i := range f.(serialize.Omitter).Omitted() {
		list = append(list, i.String())
	}
	return list
}

// TestOmitted: every object of a class, every key that is neither text nor an integer, and every
// tensor that is no array is named. The files are those of testdata/make_omitted.py.
func TestOmitted(t *testing.T) {
	for name, want := range map[string][]string{
		"omitted": {
			"/args: 1 type lost: an object of class argparse.Namespace; its values are kept, and its class as text",
			"/when: 1 type lost: an object of class datetime.date; its values are kept, and its class as text",
			"/color: 1 type lost: an object of class program.Color; its values are kept, and its class as text",
			"/functions/0: 1 type lost: program.activation is a class or another name that Python imports; it is kept as text",
			"/layer: 1 type lost: torch.nn.modules.activation.ReLU is a class or another name that Python imports; it is kept as text",
			`/annotated: 1 attribute lost: "mask" is an array, and attributes are numbers, texts and lists of them`,
			`/annotated: 1 attribute lost: "names" is of type dict, and attributes are numbers, texts and lists of them`,
			"/named: 1 type lost: a tensor of class program.Named is read as a plain one",
			"/file: 1 value lost: text with surrogates, which is not Unicode; they are kept as escapes",
			`/keys/k\udcff: 1 type lost: its key is of type builtins.str, which becomes text`,
			`/keys/[1, "a"]: 1 type lost: its key is of type tuple, which becomes text`,
			"/keys/null: 1 type lost: its key is of type None, which becomes text",
			"/keys/3: 1 type lost: its key is a str, which becomes an int",
		},
		"omitted_module": {
			"/table: 1 attribute lost: the state_dict of the module does not have it",
			"/mask: 1 attribute lost: a buffer that is not persistent, so the state_dict of the module does not have it",
			"/layer.scale: 1 attribute lost: the state_dict of the module does not have it",
			"/: 2 types lost: a module of class program.Net, the outermost of 2 modules: the arrays of its state_dict are read, and neither its program nor other attributes",
		},
		"omitted_cycle": {
			"/scheduler/method: 1 type lost: an object of class builtins.getattr; its values are kept, and its class as text",
			"/scheduler/method/0: 1 type lost: an object of class program.Scheduler; its values are kept, and its class as text",
			"/scheduler/method/0: 1 link lost: it refers to a value that it is in",
		},
		"structure_dict": {},
		"checkpoint":     {},
		"state":          {},
	} {
		file := "testdata/" + name + ".pt"
		if name == "state" {
			file += "h"
		}
		got := omittedOf(t, file)
		slices.Sort(got)
		slices.Sort(want)
		if !slices.Equal(got, want) {
			t.Errorf("%s:\n%q\nwant\n%q", name, got, want)
		}
	}
}

// TestOmittedIsWrittenOnce: what a conversion has left out is no part of the file it wrote.
func TestOmittedIsWrittenOnce(t *testing.T) {
	if got := omittedOf(t, through(t, "testdata/omitted_module.pt", ".pt")); len(got) != 0 {
		t.Errorf("%q", got)
	}
}

// TestValuesBesideNumPy: values beside arrays of NumPy stay beside them, and numbers of NumPy stay
// what they are.
func TestValuesBesideNumPy(t *testing.T) {
	got := python(pickled(t, through(t, "testdata/beside_numpy.pt", ".pt")))
	if want := `{"array": tensor(int64 2), "half": float64 0.0999755859375, "rate": float64 0.10000000149011612, "steps": int64 3}`; got != want {
		t.Errorf("%s; want %s", got, want)
	}
}
