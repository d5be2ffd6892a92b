package serialize

import "slices"

// KeepFormats returns a function that removes the formats that are registered after the call.
func KeepFormats() (restore func()) {
	kept := slices.Clone(formats)
	return func() { formats = kept }
}

// Hints are the folders of the packages that errors about formats name.
var Hints = hints
