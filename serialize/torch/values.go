package torch

import (
	"cmp"
	"fmt"
	"iter"
	"slices"
	"strings"

	"github.com/h5dnn/h5dnn/internal/pickle"
	"github.com/h5dnn/h5dnn/storage"
)

// isArray reports whether value is a tensor, a storage or an array of NumPy.
func isArray(value any) bool {
	switch value := value.(type) {
	case *pickle.Persistent:
		_, err := storageOf(value)
		return err == nil
	case *pickle.Object:
		_, err := tensorOf(value, 0)
		return err != errNoTensor || isNumPyArray(value)
	}
	return false
}

// referred returns a value that others refer to, and may contain. Of tuples the references are not
// kept.
func referred(value any) (pointer any, ok bool) {
	switch value.(type) {
	case *pickle.Dict, *pickle.List, *pickle.Set, *pickle.Object:
		return value, true
	}
	return nil, false
}

// contained yields the values that a value contains.
func contained(value any) iter.Seq[any] {
	var lists [5][]any
	switch value := value.(type) {
	case *pickle.Dict:
		lists = [5][]any{value.Keys, value.Values, value.State}
	case *pickle.List:
		lists[0] = value.Items
	case *pickle.Set:
		lists[0] = value.Items
	case pickle.Tuple:
		lists[0] = value
	case *pickle.Object:
		lists = [5][]any{{value.Class}, value.Args, value.State}
		if value.Items != nil {
			lists[3] = []any{value.Items}
		}
		if value.List != nil {
			lists[4] = value.List.Items
		}
	}
	return func(yield func(any) bool) {
		for _, list := range lists {
			for _, inner := range list {
				if !yield(inner) {
					return
				}
			}
		}
	}
}

// isOptimizer reports whether value looks like the state_dict of an optimizer.
func isOptimizer(value any) bool {
	d, _ := value.(*pickle.Dict)
	_, state := d.Get("state")
	_, groups := d.Get("param_groups")
	return state && groups
}

// containsMore reports whether an item of a list is neither a scalar nor a list of scalars.
func containsMore(item any) bool {
	switch item := item.(type) {
	case *pickle.Object:
		return !isScalar(item)
	case *pickle.Dict, *pickle.Persistent, *pickle.Set:
		return true
	case *pickle.List:
		return slices.ContainsFunc(item.Items, isContainer)
	case pickle.Tuple:
		return slices.ContainsFunc(item, isContainer)
	}
	return false
}

// isText reports whether the text of a value says all of it: that of scalars, and lists of them.
func isText(value any) bool {
	switch value := value.(type) {
	case *pickle.Dict:
		return len(value.Keys) == 0
	case *pickle.Set:
		return !slices.ContainsFunc(value.Items, isContainer)
	}
	return !containsMore(value)
}

// isScalar reports whether an object is metadata as text: a scalar of NumPy, a path or the like.
func isScalar(o *pickle.Object) bool {
	if isNumPyScalar(o) {
		_, err := numpyScalar(o)
		return err == nil
	}
	return o.Is("torch.Size", "torch.device", layoutClass) || o.Is(pathClasses...)
}

func isContainer(item any) bool {
	switch item.(type) {
	case *pickle.Dict, *pickle.Object, *pickle.Persistent, *pickle.Set, *pickle.List, pickle.Tuple:
		return true
	}
	return false
}

// pathClasses are the classes of paths of files, which are pickled as their parts.
var pathClasses = []string{"pathlib.PosixPath", "pathlib.WindowsPath", "pathlib.PurePosixPath", "pathlib.PureWindowsPath", "pathlib._local.PosixPath", "pathlib._local.WindowsPath"}

// fileName returns the text of a path.
func fileName(o *pickle.Object) string {
	separator := "/"
	if g, _ := o.Class.(pickle.Global); strings.Contains(g.Name, "Windows") {
		separator = `\`
	}
	name := ""
	for _, arg := range o.Args {
		part, _ := arg.(string)
		if name != "" && !strings.HasSuffix(name, separator) {
			name += separator
		}
		name += part
	}
	return cmp.Or(name, ".")
}

// graphModules are the functions that make a torch.fx.GraphModule of its attributes and its program.
var graphModules = []string{"torch.fx.graph_module.reduce_graph_module", "torch.fx.graph_module.reduce_deploy_graph_module", "torch.fx.graph_module.reduce_package_graph_module"}

// moduleOf returns the attributes of a pickled torch.nn.Module, or nil.
func moduleOf(o *pickle.Object) *pickle.Dict {
	states := o.State
	if o.Is(graphModules...) {
		states = o.Args
	}
	for _, state := range states {
		d, _ := state.(*pickle.Dict)
		_, parameters := d.Get("_parameters")
		_, modules := d.Get("_modules")
		if parameters && modules {
			return d
		}
	}
	return nil
}

// visit calls do with each value that a value contains, tuples as often as they are
// referred to, and at most limit values.
func visit(root any, limit int, do func(value any) error) error {
	seen := map[any]bool{}
	list := []any{root}
	for len(list) > 0 {
		value := list[len(list)-1]
		list = list[:len(list)-1]
		if limit--; limit < 0 {
			return fmt.Errorf("values contain too many others: %w", storage.ErrState)
		}
		pointer, isReferred := referred(value)
		if p, ok := value.(*pickle.Persistent); ok {
			pointer, isReferred = p, true
		}
		if isReferred {
			if seen[pointer] {
				continue
			}
			seen[pointer] = true
		}
		if err := do(value); err != nil {
			return err
		}
		for inner := range contained(value) {
			list = append(list, inner)
		}
	}
	return nil
}

// isDType reports whether g is a type of elements of PyTorch, or a quantization scheme.
func isDType(g pickle.Global) bool {
	return g.Module == "torch" && (dtypes[g.Name] != nil || slices.Contains(otherDTypes, g.Name))
}

// otherDTypes are those that dtypes does not have.
var otherDTypes = strings.Fields("bcomplex32 bits16 bits1x8 bits2x4 bits4x2 bits8 complex32 float4_e2m1fn_x2 float8_e4m3fnuz float8_e5m2fnuz float8_e8m0fnu " +
	"int1 int2 int3 int4 int5 int6 int7 uint1 uint2 uint3 uint4 uint5 uint6 uint7 " +
	"per_channel_affine per_channel_affine_float_qparams per_channel_symmetric per_tensor_affine per_tensor_symmetric")

// layoutClass makes torch.strided and the like of their names.
const layoutClass = "torch.serialization._get_layout"
