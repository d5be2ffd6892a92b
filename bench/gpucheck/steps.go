package main

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"time"
)

// keep writes the log of a process to one of the files, by whether anything failed.
func (c *check) keep(title string, e ending, failed []string) {
	to := c.passed
	if e.err != nil || len(failed) > 0 {
		to = c.failed
	}
	if len(failed) > 0 { // what the trials said, ahead of everything
		to.printf("\n######## %s: failed: %s\n%s\n", title, strings.Join(failed, ", "), strings.Join(saidBy(e.log, 500), "\n"))
	}
	c.log(to, title, e)
}

// saidBy returns what tests have logged or found wrong, up to the given number of lines.
func saidBy(log []byte, most int) (all []string) {
	for line := range strings.Lines(string(log)) {
		if strings.Contains(line, "_test.go:") && len(all) < most {
			all = append(all, strings.TrimRight(line, "\n"))
		}
	}
	return all
}

func (c *check) log(to *output, title string, e ending) {
	to.printf("\n######## %s (%v, %v)\n", title, e.took.Round(time.Millisecond), e.err)
	to.Write(e.log)
}

// A step is a program whose output belongs into the report.
type step struct {
	title   string
	command []string
	folder  string
	env     []string
	limit   time.Duration
	lines   int  // of output to show, from the end; the rest is in the logs
	may     bool // fail, because the machine may lack something
}

// step runs a program, shows what it says, and reports whether it succeeded.
func (c *check) step(s step) bool {
	c.report.printf("\n## %s\n\n", s.title)
	e := process{command: s.command, folder: s.folder, env: append(c.env(), s.env...), limit: c.limitOf(s.limit)}.run()
	c.keep(s.title, e, nil)
	if text := lastLines(string(e.log), s.lines); text != "" {
		c.report.printf("```\n%s\n```\n", text)
	}
	switch {
	case e.err == nil:
		c.report.printf("ok, %v\n", e.took.Round(100*time.Millisecond))
	case s.may:
		c.report.printf("not done: %v\n", e.err)
	default:
		c.report.printf("**failed**: %v, after %v\n", e.err, e.took.Round(100*time.Millisecond))
		c.wrong = append(c.wrong, fmt.Sprintf("%s: %v", s.title, e.err))
	}
	return e.err == nil
}

func lastLines(text string, n int) string {
	lines := strings.Split(strings.TrimRight(text, "\n"), "\n")
	return strings.Join(lines[max(0, len(lines)-n):], "\n")
}

func (c *check) program(name string) string { return filepath.Join(c.here, name) }

// starts reports whether the programs start here and find a GPU.
func (c *check) starts() error {
	if c.python != "" {
		e := process{command: []string{c.python, "-c", "import torch; print(torch.__version__, torch.version.cuda)"}, limit: time.Minute}.run()
		if e.err != nil {
			c.report.printf("\n**missing**: PyTorch to compare with (%s): %s\n", c.python, lastLines(string(e.log), 1))
			c.python = ""
		} else {
			c.report.printf("\nPyTorch %s", e.log)
		}
	}
	e := process{command: []string{c.program("h5dnn"), "devices", "--cuda"}, env: c.env(), limit: time.Minute}.run()
	c.keep("h5dnn devices", e, nil)
	c.report.printf("\n## Driver, libraries and what is done without\n\n```\n%s```\n", e.log)
	for line := range strings.Lines(string(e.log)) {
		if strings.HasPrefix(line, "    ") {
			c.wrong = append(c.wrong, "done without: "+strings.TrimSpace(line))
		}
	}
	switch {
	case e.err != nil:
		return errors.New("h5dnn does not start here: " + lastLines(string(e.log), 1))
	case !strings.Contains(string(e.log), c.device+" "):
		return errors.New("no GPU: " + lastLines(string(e.log), 5))
	}
	return nil
}

// correctness compares with the interpreter, references, the CPU and PyTorch.
func (c *check) correctness() {
	c.step(step{title: "The machine", command: []string{"sh", "-c", "nvidia-smi || true; free -g | head -2; df -h /dev/shm | tail -1"}, limit: 20 * time.Second, lines: 40, may: true})
	c.tests(group{title: "Every kernel, beside the interpreter: the same bits except where a GPU may choose them", pack: "cuda", run: "^TestGPUMatchesInterpreter$", args: []string{"-compare", "recorded"}, show: true, limit: 60 * time.Second})
	c.tests(group{title: "Loading of code: compiled by the driver, cached, shipped", pack: "cuda", run: "^TestLoadTimes$", args: []string{"-loads", filepath.Join(c.scratch, "loads")}, show: true, limit: 60 * time.Second})
	c.tests(group{title: "Kernels, streams, graphs, NVIDIA's libraries and NVRTC, beside references", pack: "cuda", run: "^Test", skip: "^(TestGPUMatchesInterpreter|TestLoadTimes)$", limit: 120 * time.Second})
	c.tests(group{title: "Every operation and its derivative, beside the CPU in float64", pack: "tensor", run: "^TestDevices|^TestCapture|^TestCustom|GPU", skip: "^TestDevicesComputeWhatIsListed$", limit: 60 * time.Second})
	c.tests(group{title: "Training: streamed, resident, recorded as graphs and not, resumed: the same bits", pack: "train", run: trainingTests, limit: 90 * time.Second})
	if c.python != "" && exists(c.program("capi")) {
		c.step(step{title: "Memory shared with PyTorch by DLPack, on the CPU and the GPU", folder: c.program("capi"), command: []string{c.python, "-B", "use.py", c.program("capi/libh5dnn.so"), c.program("data/digits.h5")}, limit: 60 * time.Second, lines: 20})
	}
}

// trainingTests are the tests of package train that run on GPUs and need no libhdf5.
const trainingTests = "GPU|Graph|Captur|EveryPipeline|Libraries|LowPrecision|LeNetLearns|ScaledRuns|Accumul|Overflow|PredictionsStream|Clipped|Standardized|ModelsOfTwo|MetricsHave|Averages"

// speed measures beside PyTorch.
func (c *check) speed() {
	bench := func(title string, limit time.Duration, may bool, args ...string) bool {
		command := append([]string{c.program("bench"), "-device", c.device, "-data", c.program("data"), "-made", c.scratch, "-threads", fmt.Sprint(runtime.NumCPU())}, args...)
		if c.small {
			command = append(command, "-small")
		}
		return c.step(step{title: title, command: command, limit: limit, lines: 60, may: may})
	}
	bench("Training the example CNN: first step, loss on the GPU and the CPU, graph", 60*time.Second, false, "-training")
	kernels := filepath.Join(c.outputs.folder, "step.csv")
	if c.outputs.count++; bench("Each kernel's time in the training step, and the algorithms of libraries", 60*time.Second, false, "-step", kernels) {
		c.counters(kernels)
	}
	table := filepath.Join(c.scratch, "table.md")
	bench("Beside PyTorch", 180*time.Second, false, "-suite", "gpu", "-python", c.python, "-seconds", "4", "-o", table)
	if text, err := os.ReadFile(table); err == nil {
		c.report.printf("\n%s\n", strings.Replace(string(text), "# ", "### ", 1))
	}
}
