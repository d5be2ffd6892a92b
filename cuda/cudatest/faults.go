package cudatest

// #include "table.h"
import "C"

import (
	"fmt"
	"os"
	"regexp"
	"strconv"
	"strings"
	"sync"
	"testing"
	"unsafe"
)

// faults are injected into a driver and libraries, for tests of error handling: by
// [InjectFault], or for a whole process by the environment variable H5DNN_TEST_FAULTS, a list
// such as "cuMemPoolCreate=801,cudnnCreate=1,exp_f32=wrong":
//
//	FUNCTION=CODE     a function of the driver or a library returns a code
//	FUNCTION=missing  it does not exist
//	ENTRY=wrong       a kernel subtracts where it should add
//	ENTRY=crash       a launch of a kernel fails, and every later call on that GPU
//	gpus=1            there is one GPU only, for a whole process
//	capability=90     GPUs have compute capability 9.0, for a whole process
type faults struct {
	mu      sync.Mutex
	kernels map[string]string // "wrong" or "crash", by entry
	fakes   map[string]fakeFunction
}

type fakeFunction struct {
	set      func(name string, function unsafe.Pointer)
	function unsafe.Pointer
}

var planted = faults{kernels: map[string]string{}, fakes: map[string]fakeFunction{}}

// setFake sets a function, or what the environment says is in its place.
func setFake(set func(name string, function unsafe.Pointer), name string, function unsafe.Pointer) {
	planted.mu.Lock()
	planted.fakes[name] = fakeFunction{set, function}
	planted.mu.Unlock()
	if what, ok := faultsOfEnvironment()[name]; ok {
		function = faulty(what)
	}
	set(name, function)
}

// faultsOfEnvironment are the faults that H5DNN_TEST_FAULTS names.
var faultsOfEnvironment = sync.OnceValue(func() map[string]string {
	all := map[string]string{}
	for fault := range strings.SplitSeq(os.Getenv("H5DNN_TEST_FAULTS"), ",") {
		if name, what, ok := strings.Cut(fault, "="); ok {
			all[name] = what
		}
	}
	return all
})

// environmentNumber returns a number that H5DNN_TEST_FAULTS sets, or otherwise.
func environmentNumber(name string, otherwise int) int {
	if n, err := strconv.Atoi(faultsOfEnvironment()[name]); err == nil {
		return n
	}
	return otherwise
}

// faulty returns the function for a fault: NULL for missing, or one that returns a code.
func faulty(what string) unsafe.Pointer {
	if what == "missing" {
		return nil
	}
	code, err := strconv.Atoi(what)
	if err != nil {
		panic(fmt.Sprintf("cudatest: no fault %q; want a code, or missing", what))
	}
	return C.h5_refusal(C.int(code))
}

// InjectFault injects a fault until the test ends: name is a function or an entry, what is as in
// H5DNN_TEST_FAULTS. Kernels that were launched before do not become wrong.
func InjectFault(t testing.TB, name, what string) {
	FakeOnly(t)
	planted.mu.Lock()
	defer planted.mu.Unlock()
	if what == "wrong" || what == "crash" {
		planted.kernels[name] = what
		t.Cleanup(func() {
			planted.mu.Lock()
			defer planted.mu.Unlock()
			delete(planted.kernels, name)
		})
		return
	}
	f, ok := planted.fakes[name]
	if !ok {
		t.Fatalf("cudatest: %s is not a function of the driver or of a loaded library", name)
	}
	f.set(name, faulty(what))
	t.Cleanup(func() { f.set(name, f.function) })
}

var (
	entryOf  = regexp.MustCompile(`\.entry\s+(\w+)`)
	addition = regexp.MustCompile(`\badd((?:\.rn)?\.f(?:32|64)\b)`)
)

// plantIn returns PTX, with additions turned into subtractions if its kernel is to be wrong.
func plantIn(text string) string {
	if found := entryOf.FindStringSubmatch(text); found != nil && plantedIn(found[1]) == "wrong" {
		return addition.ReplaceAllString(text, "sub$1")
	}
	return text
}

// plantedIn returns the fault of a kernel, or "".
func plantedIn(entry string) string {
	planted.mu.Lock()
	defer planted.mu.Unlock()
	if what, ok := planted.kernels[entry]; ok {
		return what
	}
	return faultsOfEnvironment()[entry]
}
