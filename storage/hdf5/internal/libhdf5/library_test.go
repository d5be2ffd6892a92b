package libhdf5

import "testing"

func TestShortMessage(t *testing.T) {
	for text, want := range map[string]string{
		"name already exists": "name already exists",
		"two\n\tlines":        "two lines",
		"file write failed: time = Sat Nov 21 10:39:24 2026\n, filename = 'x', errno = 28, error message = 'No space left on device', buf = 0": "file write failed: No space left on device",
		"file write failed: time = now, error message = 'cut sh":                                                                               "file write failed: time = now, error message = 'cut sh",
	} {
		if got := shortMessage(text); got != want {
			t.Errorf("brief(%q) = %q, want %q", text, got, want)
		}
	}
}
