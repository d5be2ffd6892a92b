package docs_test

import (
	"fmt"
	"strings"

	"github.com/h5dnn/h5dnn/docs"
)

func Example() {
	title, _, _ := strings.Cut(docs.Configuration, "\n")
	fmt.Println(title)
	// Output: # Configuration
}
