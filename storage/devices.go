package storage

import (
	"fmt"
	"maps"
	"slices"
	"strings"
)

var openers = map[string]func(name string) (Device, error){
	"cpu": func(string) (Device, error) { return CPU, nil },
}

// RegisterDevices makes [DeviceNamed] call open for the names kind, such as "cuda", and
// kind:N. The init function of a package that implements devices calls it.
func RegisterDevices(kind string, open func(name string) (Device, error)) { openers[kind] = open }

// DeviceNamed returns the device of a name: "cpu" is [CPU]; "cuda", the first GPU, and
// "cuda:1" need a program that imports package cuda. The error for an unknown name is
// [ErrDevice].
func DeviceNamed(name string) (Device, error) {
	kind, _, _ := strings.Cut(name, ":")
	open := openers[kind]
	if open == nil {
		return nil, fmt.Errorf("device %q; want %s: %w", name, strings.Join(slices.Sorted(maps.Keys(openers)), " or "), ErrDevice)
	}
	return open(name)
}
