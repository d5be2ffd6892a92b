package device_test

import (
	"fmt"
	"strings"

	"github.com/h5dnn/h5dnn/kernels/device"
)

// What a driver for compute capability 9.0 is given to add arrays of float32.
func ExampleEntry() {
	text, err := device.Entry(90, "add_f32")
	if err != nil {
		panic(err)
	}
	for line := range strings.Lines(text) {
		if strings.HasPrefix(line, ".target") || strings.HasPrefix(line, ".visible") {
			fmt.Print(line)
		}
	}
	// Output:
	// .target sm_80
	// .visible .entry add_f32(
}
