package collectivetest_test

import (
	"fmt"

	"github.com/h5dnn/h5dnn/collective"
	"github.com/h5dnn/h5dnn/collective/collectivetest"
)

func ExampleCheck() {
	fmt.Println(collectivetest.Check(collective.Local(3)...))
	// Output: <nil>
}
