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

// TestOmitted: every object of a class, every key that is an object, and every tensor that is no
// array is named. The files are those of testdata/make_omitted.py.
func TestOmitted(t *testing.T) {
	for name, want := range map[string][]string{
		"omitted": {
			"/args: 1 type lost: an object of class argparse.Namespace; its values are kept, and its class as text",
			"/when: 1 type lost: an object of class datetime.date; its values are kept, and its class as text",
			"/color: 1 type lost: an object of class program.Color; its values are kept, and its class as text",
			"/functions: 1 type lost: program.activation, a class or another name that Python imports, which is kept as text",
			"/layer: 1 type lost: torch.nn.modules.activation.ReLU, a class or another name that Python imports, which is kept as text",
			`/annotated: 1 attribute lost: "mask" is an array, and attributes are numbers, texts and lists of them`,
			`/annotated: 1 attribute lost: "names" is of type dict, and attributes are numbers, texts and lists of them`,
			"/named: 1 type lost: a tensor of class program.Named is read as a plain one",
			"/file: 1 value lost: text with surrogates, which is not Unicode; they are kept as escapes",
			`/keys/k\udcff: 1 type lost: its key is of type builtins.str, which becomes text`,
			"/array: 1 type lost: numpy.ndarray, which is kept as array, as a tensor in .pt",
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
		"omitted_values": {
			"/frozen/0: 1 type lost: frozenset, which is kept as set",
			"/frozen/1/0: 1 type lost: frozenset, which is kept as set",
			"/frozen/1/1/x: 1 type lost: frozenset, which is kept as set",
			"/sets: 1 type lost: set, which is kept as list",
			"/sets/0: 1 type lost: frozenset, which is kept as set",
			"/deque: 1 type lost: deque, which is kept as list",
			"/queues/0: 1 type lost: deque, which is kept as list",
			"/default: 1 type lost: defaultdict, which is kept as dict, without its factory",
			"/ordered: 1 attribute lost: attribute note of an OrderedDict",
			"/paths: 2 types lost: pathlib.PurePosixPath, which is kept as str",
			"/numbers: 2 types lost: numpy.float32, which is kept as float",
			"/numbers: 1 type lost: numpy.uint64, which is kept as int",
			"/numbers: 1 type lost: numpy.complex64, which is kept as complex",
			"/numbers: 1 type lost: numpy.bool, which is kept as bool",
			"/numbers: 1 type lost: numpy.str_, which is kept as str",
			"/number: 1 type lost: numpy.int8, which is kept as int",
			"/array: 1 type lost: numpy.ndarray, which is kept as array, as a tensor in .pt",
			"/matrix: 1 type lost: numpy.matrix, which is kept as array, as a tensor in .pt",
			"/storage: 1 type lost: storage, which is kept as tensor",
			"/long: 1 type lost: int of more than 255 bytes, which is kept as str",
			"/range: 1 type lost: an object of class builtins.range; its values are kept, and its class as text",
			"/type: 1 type lost: builtins.int, a class or another name that Python imports, which is kept as text",
			"/same/name: 1 value lost: another value has this name",
			"/both/of: 1 value lost: another value has this name",
		},
		"structure_dict": {
			"/default: 1 type lost: defaultdict, which is kept as dict, without its factory",
			"/path: 1 type lost: pathlib.PurePosixPath, which is kept as str",
			"/text: 1 type lost: numpy.str_, which is kept as str",
		},
		"structure_classes": {},
		"checkpoint":        {},
		"state":             {},
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
	got := structure(t, through(t, "testdata/beside_numpy.pt", ".pt"))
	if want := `{"array": tensor(int64 2)false, "half": float64 0.0999755859375, "rate": float64 0.10000000149011612, "steps": int64 3}`; got != want {
		t.Errorf("%s; want %s", got, want)
	}
}
