package launch_test

import (
	"testing"

	"github.com/h5dnn/h5dnn/kernels/device/devicetest"
	"github.com/h5dnn/h5dnn/kernels/launch"
	"github.com/h5dnn/h5dnn/kernels/native"
)

// TestStructsAreThoseOfTheDeviceCode compares every offset of what all kernels share.
func TestStructsAreThoseOfTheDeviceCode(t *testing.T) {
	devicetest.Check(t, "Grid", native.Axes{})
	for name, twin := range launch.CallTwins() {
		devicetest.Check(t, name, twin)
	}
}
