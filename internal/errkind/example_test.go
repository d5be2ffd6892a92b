package errkind_test

import (
	"errors"
	"fmt"
	"io/fs"

	"github.com/h5dnn/h5dnn/internal/errkind"
)

func Example() {
	err := errkind.Errorf(fs.ErrNotExist, "no array %q", "weights")
	fmt.Println(err, errors.Is(err, fs.ErrNotExist))
	// Output: no array "weights" true
}
