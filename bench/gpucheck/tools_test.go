package main

import (
	"encoding/csv"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"
)

// fakeTools are programs with the options and the output of NVIDIA's, by their names. The test's own
// program is one of them if it is called by that name.
var fakeTools = map[string]func(args []string) (status int){"compute-sanitizer": fakeSanitizer, "ncu": fakeNCU}

// useFakeTools puts the fakes on the path; trouble is how they fail, or "".
func useFakeTools(t *testing.T, trouble string) {
	t.Helper()
	folder := t.TempDir()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	for name := range fakeTools {
		if err := os.Symlink(self, filepath.Join(folder, name)); err != nil {
			t.Fatal(err)
		}
	}
	t.Setenv("PATH", folder+":"+os.Getenv("PATH"))
	t.Setenv("GPUCHECK_TEST_TROUBLE", trouble)
}

// target splits the arguments of a tool into its options, which have a value unless they are among
// flags, and the command to run. An unknown option ends the program, as it does the tools.
func target(args, valued, flags []string) (options map[string]string, command []string) {
	options = map[string]string{}
	for len(args) > 0 && strings.HasPrefix(args[0], "-") {
		switch {
		case slices.Contains(flags, args[0]):
			options[args[0]], args = "yes", args[1:]
		case slices.Contains(valued, args[0]) && len(args) > 1:
			options[args[0]], args = args[1], args[2:]
		default:
			fmt.Printf("unrecognised option '%s'. Use --help for further details.\n", args[0])
			os.Exit(1)
		}
	}
	return options, args
}

// runTarget runs a command and returns its status.
func runTarget(command []string) int {
	c := exec.Command(command[0], command[1:]...)
	c.Stdout, c.Stderr = os.Stdout, os.Stderr
	if err := c.Run(); err != nil && c.ProcessState == nil {
		fmt.Println(err)
		return 1
	}
	return c.ProcessState.ExitCode()
}

// fakeSanitizer prints what compute-sanitizer's memcheck does of a program that ends with a fault:
// see "Understanding Memcheck Errors" in NVIDIA's documentation of Compute Sanitizer.
func fakeSanitizer(args []string) int {
	options, command := target(args, []string{"--tool", "--print-limit", "--launch-timeout", "--kernel-name", "--log-file"}, []string{"--print-level"})
	if options["--tool"] != "memcheck" {
		fmt.Println("no tool", options["--tool"])
		return 1
	}
	fmt.Println("========= COMPUTE-SANITIZER")
	switch os.Getenv("GPUCHECK_TEST_TROUBLE") {
	case "injection":
		fmt.Println("========= Error: Unable to find injection library libsanitizer-collection.so")
		return 1
	case "internal":
		fmt.Println("========= Internal Sanitizer Error: The Sanitizer encountered an error while initializing the device")
		fmt.Println("========= ERROR SUMMARY: 0 errors")
		return 0
	case "calls":
		status := runTarget(command)
		fmt.Print("========= Program hit CUDA_ERROR_NOT_SUPPORTED (error 801) due to \"operation not supported\" on CUDA API call to cuMemPoolCreate.\n" +
			"=========     Saved host backtrace up to driver entry point at error\n" +
			"=========\n========= Target application returned an error\n========= ERROR SUMMARY: 1 error\n")
		return status
	}
	status := runTarget(command)
	if status != faultStatus {
		fmt.Println("========= ERROR SUMMARY: 0 errors")
		return status
	}
	fmt.Print(`========= Invalid __global__ write of size 4 bytes
=========     at sum_columns_f32+0x160
=========     by thread (0,0,0) in block (0,0,0)
=========     Address 0x7f1fd6c00000 is out of bounds
=========     and is 1 bytes after the nearest allocation at 0x7f1fd6bff000 of size 4096 bytes
=========     Saved host backtrace up to driver entry point at kernel launch time
=========         Host Frame: h5_launch [0x2d3b1c] in test
=========
========= Program hit CUDA_ERROR_LAUNCH_FAILED (error 719) due to "unspecified launch failure" on CUDA API call to cuStreamSynchronize.
=========     Saved host backtrace up to driver entry point at error
=========
========= Target application returned an error
========= ERROR SUMMARY: 2 errors
`)
	return status
}

// fakeNCU writes what ncu writes of kernels with --csv --page raw: see "Command Line Options" in the
// documentation of Nsight Compute CLI.
func fakeNCU(args []string) int {
	options, command := target(args, []string{"--page", "--set", "--launch-count", "-c", "--kernel-name", "-k", "--log-file"}, []string{"--csv"})
	log, err := os.Create(options["--log-file"])
	if err != nil || options["--page"] != "raw" || options["--csv"] == "" || !slices.Contains([]string{"basic", "detailed", "full"}, options["--set"]) {
		fmt.Println("wrong options", options, err)
		return 1
	}
	defer log.Close()
	fmt.Fprintf(log, "==PROF== Connected to process 4711 (%s)\n", command[0])
	status := runTarget(command)
	if os.Getenv("GPUCHECK_TEST_TROUBLE") == "permission" {
		fmt.Fprintln(log, "==ERROR== ERR_NVGPUCTRPERM - The user does not have permission to access NVIDIA GPU Performance Counters on the target device 0. For instructions on enabling permissions and to get more information see https://developer.nvidia.com/ERR_NVGPUCTRPERM")
		fmt.Fprintln(log, "==PROF== Disconnected from process 4711\n==WARNING== No kernels were profiled.")
		return status
	}
	pattern, ok := strings.CutPrefix(options["--kernel-name"], "regex:")
	if !ok {
		fmt.Println("no regex:")
		return 1
	}
	launched := regexp.MustCompile(pattern)
	table := csv.NewWriter(log)
	table.Write([]string{"ID", "Process ID", "Process Name", "Host Name", "Kernel Name", "Context", "Stream", "Block Size", "Grid Size", "Device", "CC", "gpu__compute_memory_throughput.avg.pct_of_peak_sustained_elapsed",
		"gpu__time_duration.sum", "launch__registers_per_thread", "sm__throughput.avg.pct_of_peak_sustained_elapsed", "sm__warps_active.avg.pct_of_peak_sustained_active"})
	table.Write([]string{"", "", "", "", "", "", "", "", "", "", "", "%", "us", "register/thread", "%", "%"})
	for i, name := range []string{"conv_tf32", "product_tf32", "sgd_f32", "fill_1"} {
		if launched.MatchString(name) {
			fmt.Fprintf(log, "==PROF== Profiling \"%s\" - %d: 0%%....50%%....100%% - 8 passes\n", name, i)
			table.Write([]string{fmt.Sprint(i), "4711", "bench", "127.0.0.1", name, "1", "7", "(128, 1, 1)", "(1,024, 1, 1)", "0", "9.0", "41.27", "1,058.30", "96", "63.05", "37.20"})
		}
	}
	table.Flush()
	fmt.Fprintln(log, "==PROF== Disconnected from process 4711")
	return status
}

// newToolCheck returns a check of a folder whose programs are scripts.
func newToolCheck(t *testing.T, program, script string) (c *check, out string) {
	t.Helper()
	out = t.TempDir()
	c, err := newCheck(out, "", "cuda:0", true, time.Minute)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(c.scratch) })
	c.here, c.report.echo = t.TempDir(), nil
	name := c.program(program)
	if err := os.MkdirAll(filepath.Dir(name), 0o777); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(name, []byte("#!/bin/sh\n"+script), 0o777); err != nil {
		t.Fatal(err)
	}
	return c, out
}

// TestFaultsAreSanitized: what compute-sanitizer says about the trial that faulted is in the report,
// as is that it cannot run.
func TestFaultsAreSanitized(t *testing.T) {
	for trouble, want := range map[string]string{
		"":          "compute-sanitizer tells more in failed.log: Invalid __global__ write of size 4 bytes",
		"calls":     `compute-sanitizer tells more in failed.log: Program hit CUDA_ERROR_NOT_SUPPORTED (error 801) due to "operation not supported" on CUDA API call to cuMemPoolCreate.`,
		"injection": "compute-sanitizer does not work here: Error: Unable to find injection library libsanitizer-collection.so",
		"internal":  "compute-sanitizer does not work here: Internal Sanitizer Error: The Sanitizer encountered an error while initializing the device",
		"well":      "compute-sanitizer found nothing.",
	} {
		t.Run(trouble, func(t *testing.T) {
			useFakeTools(t, trouble)
			status := faultStatus
			if trouble == "well" {
				status = 0
			}
			c, out := newToolCheck(t, "tests/cuda/test", fmt.Sprintf("echo \"ran $4\"; exit %d\n", status))
			c.sanitize(group{pack: "cuda", run: "^TestAll$"}, c.program("tests/cuda"), "TestSum/wide")
			if report := read(t, out, "RESULTS.md"); !strings.Contains(report, want+"\n") {
				t.Errorf("want %q in\n%s", want, report)
			}
			log := read(t, out, "failed.log")
			if ran := strings.Contains(log, "ran"); ran == (trouble == "injection" || trouble == "internal") {
				t.Errorf("the log is\n%s", log)
			}
			if trouble == "well" != strings.Contains(log, "TestAll") {
				t.Errorf("the whole group runs if one trial shows nothing, and else not:\n%s", log)
			}
		})
	}
}

// TestCountersAreShown: those of the dearest kernels that ncu has counted, or why it has not.
func TestCountersAreShown(t *testing.T) {
	for trouble, want := range map[string]string{
		"":           "Kernel Name; gpu__time_duration.sum; sm__throughput.avg.pct_of_peak_sustained_elapsed; gpu__compute_memory_throughput.avg.pct_of_peak_sustained_elapsed; sm__warps_active.avg.pct_of_peak_sustained_active; launch__registers_per_thread\nunit; us; %; %; %; register/thread\nconv_tf32; 1,058.30; 63.05; 41.27; 37.20; 96\nsgd_f32; ",
		"permission": "ncu counted nothing: ==ERROR== ERR_NVGPUCTRPERM - The user does not have permission",
	} {
		t.Run(trouble, func(t *testing.T) {
			useFakeTools(t, trouble)
			c, out := newToolCheck(t, "bench", "echo \"steps\"\n")
			table := filepath.Join(t.TempDir(), "step.csv")
			if err := os.WriteFile(table, []byte("by,kernel,launches a step,microseconds a step\nlibrary,cuDNN,6,50\nown,conv_tf32,1,40\nown,sgd_f32,1,9\nall,,8,99\n"), 0o666); err != nil {
				t.Fatal(err)
			}
			c.counters(table)
			report := read(t, out, "RESULTS.md")
			if !strings.Contains(report, want) || strings.Contains(report, "product_tf32") {
				t.Errorf("want %q in\n%s", want, report)
			}
			if !strings.Contains(read(t, out, "ncu.csv"), "==PROF== Connected") {
				t.Error("ncu.csv is not what ncu wrote")
			}
		})
	}
	t.Run("missing", func(t *testing.T) {
		t.Setenv("PATH", t.TempDir())
		c, out := newToolCheck(t, "bench", "")
		if cudaTool("ncu") != "" {
			t.Skip("there is an ncu")
		}
		c.counters("")
		if report := read(t, out, "RESULTS.md"); !strings.Contains(report, "not done: ") || len(c.wrong) > 0 {
			t.Errorf("wrong %q, in\n%s", c.wrong, report)
		}
	})
}
