package train

import (
	"fmt"
	"strings"

	"github.com/h5dnn/h5dnn/kernels/native"
	"github.com/h5dnn/h5dnn/storage"
)

// A compute is what the last bits of a result depend on besides the run: sums of
// products are in an order that the number of threads and the instruction set decide.
type compute struct {
	Threads int    `json:"threads"`
	ISA     string `json:"isa"`
}

// computeNow returns the compute of the device of r; it is zero on GPUs, where the order of
// sums does not depend on the host.
func (r *Run) computeNow() compute {
	if r.Device != storage.CPU {
		return compute{}
	}
	isa := native.ISA()
	if r.roundsProducts() && native.BF16() {
		isa += " with bf16"
	}
	return compute{native.Threads(), isa}
}

// differs says why the results of a run that was begun with c and goes on with now are
// not those of one that was not interrupted, to the bit; it is empty if they are.
func (c compute) differs(now compute) string {
	if c == now || c == (compute{}) || now == (compute{}) {
		return ""
	}
	var reasons []string
	way := ""
	if c.Threads != now.Threads {
		reasons = append(reasons, fmt.Sprintf("%d threads instead of %d", now.Threads, c.Threads))
		way = fmt.Sprintf("; %d threads would keep them", c.Threads)
	}
	if c.ISA != now.ISA {
		reasons = append(reasons, fmt.Sprintf("instruction set %s instead of %s", now.ISA, c.ISA))
		way = ""
	}
	return fmt.Sprintf("%s: results differ in their last bits from those of a run that was not interrupted%s", strings.Join(reasons, ", "), way)
}
