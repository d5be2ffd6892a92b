# h5dnn. `make` lists the targets.

export PATH := $(PATH):/usr/local/go/bin
ifneq ($(shell command -v brew),)
export CPATH := $(CPATH):$(shell brew --prefix)/include
export LIBRARY_PATH := $(LIBRARY_PATH):$(shell brew --prefix)/lib
endif

CORPUS   ?= ../shared/corpus
TARGET   ?= .
TIME     ?= 30s
STATICCHECK = honnef.co/go/tools/cmd/staticcheck@v0.8.2

.PHONY: help
help:
	@awk -F ':.*## ' '/^[a-z-]+:.*## / { printf "  make %-12s %s\n", $$1, $$2 }' $(firstword $(MAKEFILE_LIST))

.PHONY: setup
setup: ## install missing libraries (prints the commands first)
	@sh scripts/setup.sh

.PHONY: build
build: setup ## build bin/h5dnn
	go build -o bin/h5dnn ./cmd/h5dnn

.PHONY: demo
demo: build ## inspect the digits data set, train on it, show the result
	bin/h5dnn inspect testdata/digits.h5
	bin/h5dnn slice 'testdata/digits.h5:/test/images[0]'
	bin/h5dnn train examples/digits.yaml -o bin/digits.run.h5 --force
	bin/h5dnn inspect bin/digits.run.h5
	bin/h5dnn eval bin/digits.run.h5

# Tests are position-independent, as the shared library of capi has to be: with other flags, Go compiles all of C a second time.
test capi python: export GOFLAGS := -buildmode=pie $(GOFLAGS)

.PHONY: test
test: setup format capi ## run all tests
	go vet ./...
	go test -vet=off -timeout 30m ./...
	CGO_ENABLED=0 go test ./storage/hdf5/filter

.PHONY: race
race: setup ## run all tests under the race detector
	go test -race -timeout 30m ./...

# Only C code is instrumented: an instrumented PTX interpreter takes minutes longer. Memory
# allocated by Go is checked nevertheless. The skipped test runs the same C code thousands of times.
.PHONY: asan
asan: setup ## run the tests of packages with C code, of kernels and of HDF5 under the address sanitizer
	LSAN_OPTIONS=suppressions=$(CURDIR)/scripts/leaks.txt:print_suppressions=0 \
	go test -asan -gcflags='github.com/h5dnn/h5dnn/...=-asan=false' -timeout 30m -skip '^TestKernelsMatchReference$$' \
	$$(go list -f '{{if .CFiles}}{{.ImportPath}}{{end}}' ./...) ./kernels ./storage/hdf5 ./storage/hdf5/hdf5write ./storage/hdf5/hdf5test

.PHONY: fuzz
fuzz: setup ## run fuzz targets whose name contains TARGET (serialize/torch.FuzzPickle), each for TIME (30s)
	@grep -ro --include='*_test.go' '^func Fuzz[A-Za-z0-9_]*' . | sed 's,/[^/]*:func ,.,' | grep -- '$(TARGET)' | { failed=; while read -r target; do \
		echo "fuzz: $$target"; \
		go test "$${target%.*}" -run '^$$' -fuzz "^$${target##*.}\$$" -fuzztime $(TIME) -fuzzminimizetime 50x || failed="$$failed $$target"; \
	done; test -z "$$failed" || { echo "fuzz: failed:$$failed"; exit 1; }; }

.PHONY: mpi
mpi: build ## build bin/libh5dnn-openmpi.so and bin/libh5dnn-mpich.so, by which mpirun -n 4 bin/h5dnn train works, for the MPIs that are here
	@sh scripts/mpi.sh

.PHONY: capi
capi: setup ## build bin/libh5dnn.so for C and Python and test it from both
	@sh scripts/capi.sh
	go test ./capi -library "$(CURDIR)/bin"

.PHONY: python
python: setup ## build bin/libh5dnn.so and test the Python package (PYTHON=interpreter with NumPy)
	@sh scripts/capi.sh
	go test ./capi -run Python -count 1 -v -library "$(CURDIR)/bin"

.PHONY: wheel
wheel: setup ## build the Python package as a wheel in bin
	@$(or $(PYTHON),python3) -B python/build_h5dnn.py bin

.PHONY: manylinux
manylinux: setup ## build the wheel for all Linux from Debian 11 on in bin/dist (needs root and debootstrap)
	@PYTHON="$(PYTHON)" sh scripts/dist/wheel.sh x86_64 bin/dist

.PHONY: dist
dist: setup ## build what is released in bin/dist: tarball, .deb, image, wheels, other systems (needs root and debootstrap)
	@PYTHON="$(PYTHON)" sh scripts/dist/all.sh

.PHONY: try
try: ## install what make dist built in bare roots of Debian 11, 12 and 13, and try it (needs root, debootstrap and qemu-user-static)
	@sh scripts/dist/try.sh "tarball deb image wheel wheel-aarch64" "bullseye bookworm trixie"

.PHONY: cross
cross: ## build the programs without cgo for linux/arm64, darwin and windows
	@mkdir -p bin/cross && sh scripts/dist/cross.sh devel bin/cross

.PHONY: check-cross
check-cross: ## compile the programs without cgo for linux/arm64, darwin and windows; make test tries the one for this machine
	@sh scripts/dist/cross.sh

.PHONY: bench
bench: build ## benchmark against PyTorch (creates a Python environment outside the tree), or BASE=commit
	$(MAKE) -C bench BASE="$(BASE)"

.PHONY: bench-inference
bench-inference: build ## benchmark prediction against ONNX Runtime and OpenVINO, or BASE=commit
	$(MAKE) -C bench bench-inference BASE="$(BASE)"

.PHONY: bench-tensor
bench-tensor: build ## benchmark single operations on tensors against PyTorch, or BASE=commit
	$(MAKE) -C bench bench-tensor BASE="$(BASE)"

.PHONY: bench-io
bench-io: build ## benchmark reading against h5py (creates files of 25 GiB, one after the other), or BASE=commit
	$(MAKE) -C bench bench-io BASE="$(BASE)"

.PHONY: bench-checkpoint
bench-checkpoint: build ## benchmark checkpoints of 4 GiB in each format (creates such files, one after the other), or BASE=commit
	$(MAKE) -C bench bench-checkpoint BASE="$(BASE)"

.PHONY: bench-loaders
bench-loaders: setup ## benchmark the Python loader against h5py and DataLoader (PYTHON=interpreter with h5py and PyTorch)
	@sh scripts/capi.sh release
	$(or $(PYTHON),python3) -B bench/loaders/loaders.py --output bench/LOADERS.md

.PHONY: bench-host
bench-host: build ## benchmark the host overhead of training on a GPU (no GPU needed)
	$(MAKE) -C bench bench-host

.PHONY: bench-step
bench-step: setup ## count what a training step costs a GPU, by the interpreter (minutes, no GPU needed)
	go test ./train -run TestStepCost -count 1 -timeout 60m -step-cost "$(CURDIR)/bench/STEP.md"

.PHONY: gpu-check
gpu-check: setup ## pack bin/gpu-check to run on a machine with an NVIDIA GPU (bench/gpu/README.md)
	@sh scripts/gpu_check.sh

.PHONY: golden
golden: setup ## rewrite the expected output in cmd/h5dnn/testdata, and the generated pages in docs
	go run ./scripts/configuration > bin/configuration.md && mv bin/configuration.md docs/configuration.md
	go test ./cmd/h5dnn -run TestScripts -rewrite
	go test ./tensor -run TestDevicesComputeWhatIsListed -rewrite
	go test ./nn -run 'TestTrainingTable|TestLayersTable' -rewrite
	go test ./models/keras -run TestKerasColumnOfLayers -rewrite
	go test ./train -run TestCallbacksTable -rewrite

.PHONY: oracle
oracle: setup ## ask PyTorch and NumPy for the values and gradients of all operations (needs Python with torch and h5py)
	go test ./tensor -run TestOracle -count 1 -args -oracle-inputs $(CURDIR)/tensor/testdata/inputs.h5
	$${H5DNN_PYTHON:-python3} scripts/oracle/oracle.py tensor/testdata/inputs.h5 tensor/testdata/oracle.h5
	rm tensor/testdata/inputs.h5

.PHONY: ptx
ptx: ## compile the GPU kernels to PTX (needs clang 19)
	@go run ./scripts/ptx
	@go run ./scripts/layouts

.PHONY: ptxas
ptxas: ## check the PTX with NVIDIA's assembler (PTXAS=path)
	@sh scripts/ptxas.sh

.PHONY: cuda-headers
cuda-headers: ## compare our CUDA declarations with NVIDIA's headers (HEADERS=folders LIBCUDA=file)
	@HEADERS="$(HEADERS)" LIBCUDA="$(LIBCUDA)" sh scripts/headers.sh

.PHONY: nvrtc
nvrtc: setup ## compile the GPU kernels with NVRTC, if it is installed
	go test ./cuda -run TestNVRTCCompilesAllKernels -count 1 -v -nvrtc

.PHONY: big
big: setup ## test all types and layouts, and more than 2^31 elements, in the interpreter, and 100,000 arrays (minutes, 5 GiB)
	go test ./tensor -run TestDevicesAgree -count 1 -timeout 60m -whole
	go test ./cuda -run TestMoreThan2GiElements -count 1 -v -timeout 60m -big
	go test ./cmd/h5dnn -run TestManyArrays -count 1 -many-arrays 100000

.PHONY: conformance
conformance: build ## compare with h5py on the files in CORPUS
	@test -f $(CORPUS)/golden.jsonl || { echo "conformance: skipped, no $(CORPUS)/golden.jsonl"; exit 0; }; \
	go test ./cmd/h5dnn -run TestConformance -count 1 -v -corpus "$(abspath $(CORPUS))"

.PHONY: check-h5py
check-h5py: ## run h5py's own tests with reading by h5dnn, and write bench/H5PY.md (needs Python with h5py and pytest)
	@$(or $(PYTHON),python3) -B scripts/h5py/reading.py --output bench/H5PY.md

.PHONY: check-remote
check-remote: build ## read files from nginx and an S3 server, 20 ms away where that is permitted (PYTHON=interpreter with moto)
	@$(or $(PYTHON),python3) -B scripts/remote/check.py

.PHONY: format
format:
	@unformatted=$$(gofmt -l .); test -z "$$unformatted" || { echo "gofmt would change: $$unformatted"; exit 1; }

.PHONY: lint
lint: setup format ## gofmt, go vet, comments and phrases, staticcheck, go mod tidy; C with -Wall -Wextra -Werror
	go vet ./...
	go run ./scripts/lint ./...
	sh scripts/lint_c.sh
	go run $(STATICCHECK) -checks inherit,-ST1005,ST1020,ST1021,ST1022 ./... # messages may begin with names such as B-tree
	go mod tidy -diff

.PHONY: api
api: setup ## print changes in the exported names since BASE, by default the latest tag
	@BASE="$(BASE)" sh scripts/api.sh

.PHONY: size
size: ## print lines of Go without tests by package, and what changed since BASE, by default the latest commit
	@BASE="$(BASE)" sh scripts/size.sh

SEED ?= 1
N    ?= 20
.PHONY: wording
wording: ## count clumsy lines by folder; print N random comments and exported names, chosen by SEED
	@go run ./scripts/wording -seed $(SEED) -n $(N)

.PHONY: clean
clean: ## remove build results
	rm -rf bin bench/out
