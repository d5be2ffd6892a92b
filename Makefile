# h5dnn. `make` lists what can be made.

export PATH := $(PATH):/usr/local/go/bin
ifneq ($(shell command -v brew),)
export CPATH := $(CPATH):$(shell brew --prefix)/include
export LIBRARY_PATH := $(LIBRARY_PATH):$(shell brew --prefix)/lib
endif

CORPUS   ?= ../shared/corpus
FUZZTIME ?= 30s
STATICCHECK = honnef.co/go/tools/cmd/staticcheck@v0.8.2

.PHONY: help
help:
	@awk -F ':.*## ' '/^[a-z-]+:.*## / { printf "  make %-12s %s\n", $$1, $$2 }' $(firstword $(MAKEFILE_LIST))

.PHONY: setup
setup: ## install the libraries that are missing (says how before it does)
	@sh scripts/setup.sh

.PHONY: build
build: setup ## build bin/h5dnn
	go build -o bin/h5dnn ./cmd/h5dnn

.PHONY: demo
demo: build ## look into the digits data set, train on it, show the result
	bin/h5dnn inspect testdata/digits.h5
	bin/h5dnn slice 'testdata/digits.h5:/test/images[0]'
	bin/h5dnn train examples/digits.yaml -o bin/digits.run.h5
	bin/h5dnn inspect bin/digits.run.h5
	bin/h5dnn eval bin/digits.run.h5

.PHONY: test
test: setup format capi ## run every test
	go vet ./...
	go test ./...

.PHONY: race
race: setup ## run every test under the race detector
	go test -race -timeout 30m ./...

# Instruments C; Go checks itself, and an interpreter that is instrumented takes minutes more.
# Go's memory is guarded all the same. What is skipped runs the same C a thousand times over.
.PHONY: asan
asan: setup ## run the tests of packages that have C under the address sanitizer
	LSAN_OPTIONS=suppressions=$(CURDIR)/scripts/leaks.txt:print_suppressions=0 \
	go test -asan -gcflags='github.com/h5dnn/h5dnn/...=-asan=false' -timeout 30m -skip '^TestKernelsAgreeWithPlainLoops$$' \
	$$(go list -f '{{if .CFiles}}{{.ImportPath}}{{end}}' ./...)

.PHONY: fuzz
fuzz: setup ## run each fuzz target for FUZZTIME (30s)
	@grep -rno --include='*_test.go' '^func Fuzz[A-Za-z0-9_]*' . | { failed=; while IFS=: read -r file _ target; do \
		echo "fuzz: $${file%/*} $${target#func }"; \
		go test "$${file%/*}" -run '^$$' -fuzz "^$${target#func }\$$" -fuzztime $(FUZZTIME) -fuzzminimizetime 50x || failed="$$failed $${target#func }"; \
	done; test -z "$$failed" || { echo "fuzz: failed:$$failed"; exit 1; }; }

.PHONY: capi
capi: setup ## build bin/libh5dnn.so for C and Python, and try it from both
	@sh scripts/capi.sh
	go test ./capi -library "$(CURDIR)/bin"

.PHONY: bench
bench: build ## measure beside PyTorch (makes a Python environment outside the tree)
	$(MAKE) -C bench

.PHONY: bench-io
bench-io: build ## measure reading beside h5py, likewise (makes files of 25 GiB, one after the other)
	$(MAKE) -C bench bench-io

.PHONY: bench-host
bench-host: build ## measure what training on a GPU takes of the host (no GPU is needed)
	$(MAKE) -C bench bench-host

.PHONY: gpu-check
gpu-check: setup ## pack bin/gpu-check, to be run on a machine with an NVIDIA GPU (bench/gpu/README.md)
	@sh scripts/gpu_check.sh

.PHONY: golden
golden: setup ## rewrite the expected output in cmd/h5dnn/testdata, and docs/operations.md
	go test ./cmd/h5dnn -run TestScripts -rewrite
	go test ./tensor -run TestDevicesComputeWhatIsListed -rewrite

.PHONY: ptx
ptx: ## compile the kernels for GPUs (needs clang 19)
	@sh scripts/ptx.sh

.PHONY: ptxas
ptxas: ## have NVIDIA's assembler check them (PTXAS=path)
	@sh scripts/ptxas.sh

.PHONY: cuda-headers
cuda-headers: ## compare what is declared of CUDA with NVIDIA's headers (HEADERS=folders LIBCUDA=file)
	@HEADERS="$(HEADERS)" LIBCUDA="$(LIBCUDA)" sh scripts/headers.sh

.PHONY: nvrtc
nvrtc: setup ## have NVRTC compile the kernels as well, if it is found
	go test ./cuda -run TestNVRTCCompilesAllKernels -count 1 -v -nvrtc

.PHONY: big
big: setup ## compute on more than 2^31 elements, in the interpreter (minutes, 5 GiB)
	go test ./cuda -run TestMoreThan2GiElements -count 1 -v -timeout 60m -big

.PHONY: conformance
conformance: build ## compare with h5py on the files under CORPUS
	@test -f $(CORPUS)/golden.jsonl || { echo "conformance: skipped, no $(CORPUS)/golden.jsonl"; exit 0; }; \
	go test ./cmd/h5dnn -run TestConformance -count 1 -v -corpus "$(abspath $(CORPUS))"

.PHONY: format
format:
	@unformatted=$$(gofmt -l .); test -z "$$unformatted" || { echo "gofmt would change: $$unformatted"; exit 1; }

.PHONY: lint
lint: setup format ## gofmt, go vet, staticcheck; C under -Wall -Wextra -Werror
	go vet ./...
	sh scripts/lint_c.sh
	go run $(STATICCHECK) -checks inherit,-ST1005 ./... # names such as B-tree begin messages

.PHONY: clean
clean: ## remove what was built
	rm -rf bin bench/out
