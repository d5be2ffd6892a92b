package nn

import (
	"strconv"

	"github.com/h5dnn/h5dnn/tensor"
)

// BranchesOptions are the settings of Branches.
type BranchesOptions struct {
	Branches Submodule `json:"branches"`      // a list, each of whose elements is applied to the input; required
	Join     Submodule `json:"join,omitzero"` // a module of several inputs, such as concat, add or mul; concat if nil
}

// Branches applies each branch to x and joins the results. Joined by concat it is an inception module (Szegedy et al.,
// arXiv:1409.4842), with identity as a branch a layer of a DenseNet (Huang et al., arXiv:1608.06993); joined by mul
// beside identity it is squeeze-and-excitation (Hu et al., arXiv:1709.01507).
type Branches struct{ BranchesOptions }

// NewBranches returns Branches: o.Branches is a Sequential of them, and required.
func NewBranches(o BranchesOptions) *Branches {
	if list, ok := o.Branches.Module.(Sequential); !ok || len(list) == 0 {
		tensor.Fail("branches", ErrConfig, "no list of branches; want [[layers of one], [layers of another], …]")
	}
	return &Branches{o}
}

// Forward returns the joined results of the branches.
func (b *Branches) Forward(x *tensor.Tensor) *tensor.Tensor {
	var results []*tensor.Tensor
	for i, branch := range NewBranches(b.BranchesOptions).list() {
		results = append(results, call("branches."+strconv.Itoa(i), branch, x))
	}
	join := b.Join.Module
	if join == nil {
		join = NewConcat(ConcatOptions{})
	}
	return single("branches", Call("join", join, results...))
}

// list returns the branches, none of a literal.
func (b *Branches) list() Sequential {
	list, _ := b.Branches.Module.(Sequential)
	return list
}

// InputSpec returns the input of the first branch that says something of it.
func (b *Branches) InputSpec() InputSpec {
	for _, branch := range b.list() {
		if spec := InputOf(branch, ""); spec != (InputSpec{}) {
			return spec
		}
	}
	return InputSpec{}
}

var _ = RegisterLayer("branches", NewBranches, BranchesOptions{})
