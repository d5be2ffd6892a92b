package h5ck_test

import (
	"testing"

	"github.com/h5dnn/h5dnn/serialize/serializetest"
)

// TestAttacks: testdata/make_attacks.py describes the files.
func TestAttacks(t *testing.T) {
	serializetest.TestAttacks(t, "h5ck", "testdata/attacks", map[string]string{
		"cycle_of_views":           "/model/b is a view itself",
		"damaged_elements":         "checksum fc885b61, want 00000001",
		"elements_elsewhere":       "refers to file \"/etc/passwd\", and other files are not opened",
		"huge_shape":               "overflows",
		"negative_shape":           "has a negative size",
		"negative_stride":          "negative ones are not allowed",
		"never_written":            "128 TiB of elements for 0 bytes of stored data",
		"no_reference":             "attribute h5ck:storage is not a reference",
		"no_shape":                 "no attribute h5ck:shape",
		"other_size":               "names float64, but elements have 4 bytes",
		"ranks_differ":             "2 strides for a shape of 1 axes",
		"reference_to_a_group":     "is a group, not a dataset",
		"reference_to_nothing":     "is a group, not a dataset",
		"strides_outside":          "reach outside of 4 elements",
		"terabytes_of_one_element": "4 TiB of elements for 16 bytes of stored data",
		"two_offsets":              "attribute h5ck:offset has 2 values",
		"type_of_numbers":          "attribute h5ck:dtype has 2 values",
		"unknown_type":             "unknown type \"float128\"",
		"view_of_itself":           "/model/w is a view itself",
		"view_of_texts":            "is not a dataset of numbers",
		"view_outside":             "reach outside of 4 elements",
	})
}
