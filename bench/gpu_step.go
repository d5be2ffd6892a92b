package main

import (
	"context"
	"errors"
	"fmt"
	"math"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/h5dnn/h5dnn/config"
	"github.com/h5dnn/h5dnn/cuda"
	"github.com/h5dnn/h5dnn/dtype"
	"github.com/h5dnn/h5dnn/kernels"
	"github.com/h5dnn/h5dnn/nn"
	"github.com/h5dnn/h5dnn/storage"
	"github.com/h5dnn/h5dnn/storage/hdf5"
	"github.com/h5dnn/h5dnn/train"
)

// errEnough ends a training after some steps.
var errEnough = errors.New("enough steps")

// exampleSteps trains the example CNN, with samples on the GPU, for the given number of steps, after calling
// prepare; eachStep is called after each.
func exampleSteps(in folders, steps int, prepare func(*train.Config), eachStep func(step int) error) (*train.Run, error) {
	step := 0
	return exampleCalling(in, prepare, train.CallbackFuncs{OnStepEnd: func(train.Progress) error {
		if step++; step == steps {
			return errEnough
		}
		return eachStep(step)
	}})
}

// exampleTogether trains it for the given number of steps, several in a graph perhaps, and returns how
// they were replayed; nil if that was not measured.
func exampleTogether(in folders, steps int) (*train.Run, *train.GraphChoice, error) {
	step, choice := 0, (*train.GraphChoice)(nil)
	r, err := exampleCalling(in, func(c *train.Config) { c.Graph = config.Yes }, train.CallbackFuncs{OnProgress: func(p train.Progress) error {
		choice = p.Plan.GraphChoice
		if step++; step == steps {
			return errEnough
		}
		return nil
	}})
	return r, choice, err
}

// exampleCalling trains it until the callback returns errEnough.
func exampleCalling(in folders, prepare func(*train.Config), callback train.Callback) (*train.Run, error) {
	f, err := hdf5.Open(gzipped(in))
	if err != nil {
		return nil, err
	}
	defer f.Close()
	r, data, err := exampleRun(f, in, "yes")
	if err != nil {
		return nil, err
	}
	prepare(&r.Config)
	err = r.Fit(context.Background(), data, train.Options{Callbacks: []train.Callback{callback}})
	if errors.Is(err, errEnough) {
		err = nil
	}
	return r, err
}

// profileStep writes the time of each kernel in steps of the example CNN, which are not captured, as CSV
// to a file, and prints it with what the libraries chose.
func profileStep(in folders, name string, steps int) error {
	d, err := openGPU(in)
	if err != nil {
		return err
	}
	gate, err := storage.Make(d, dtype.Uint8, in.sizes().loop)
	if err != nil {
		return err
	}
	ahead := func() error { // the GPU is busy while the host launches the next step
		return d.Run(kernels.Fill, &kernels.Call{Out: []storage.Array{gate}})
	}
	const warm = 2
	var p *cuda.Profile
	_, err = exampleSteps(in, warm+steps, func(c *train.Config) { c.Graph = config.No }, func(step int) error {
		if step == warm {
			p = d.ProfileTimes()
		}
		return errors.Join(d.Sync(), ahead())
	})
	if err != nil {
		return err
	}
	p.Stop()
	return errors.Join(writeStep(name, p.Rows(), steps), d.Sync(), printChoices(d))
}

// writeStep writes the launches of a profile of steps, the dearest first.
func writeStep(name string, rows []cuda.Row, steps int) error {
	rows = slices.DeleteFunc(rows, func(r cuda.Row) bool { return r.Activity != "launch" })
	slices.SortFunc(rows, func(a, b cuda.Row) int { return int(b.Time - a.Time) })
	var b strings.Builder
	fmt.Fprintln(&b, "by,kernel,launches a step,microseconds a step")
	var total time.Duration
	count := 0
	for _, r := range rows {
		by := "own"
		if r.Name == "cuDNN" || r.Name == "cuBLASLt" {
			by = "library"
		}
		if strings.HasPrefix(r.Name, "fill") && r.Time > 0 && r.Count == steps {
			by = "gate" // which keeps the GPU busy between steps
		} else {
			total += r.Time
			count += r.Count
		}
		fmt.Fprintf(&b, "%s,%s,%.3g,%.2f\n", by, r.Name, float64(r.Count)/float64(steps), r.Time.Seconds()*1e6/float64(steps))
	}
	fmt.Fprintf(&b, "all,,%.3g,%.2f\n", float64(count)/float64(steps), total.Seconds()*1e6/float64(steps))
	fmt.Print(b.String())
	return os.WriteFile(name, []byte(b.String()), 0o666)
}

// printChoices prints what libraries do about each problem.
func printChoices(d *cuda.Device) error {
	for _, c := range d.LibraryChoices() {
		if c.Declined != "" {
			fmt.Printf("%s leaves to own kernels: %s: %s\n", c.Library, c.Problem, c.Declined)
		} else {
			fmt.Printf("%s: %s: %s, %d bytes of workspace\n", c.Library, c.Problem, c.Algorithm, c.Workspace)
		}
	}
	for _, text := range d.Fallbacks() {
		fmt.Println("without:", text)
	}
	return nil
}

// describeTraining prints how long the first steps take, the graph, and whether captured and
// eager steps give the same bits, on the GPU and nearly the same on the CPU.
func describeTraining(in folders) error {
	d, err := openGPU(in)
	if err != nil {
		return err
	}
	steps := 200
	if in.small {
		steps = 4
	}
	began := time.Now()
	var first, second time.Duration
	p := d.Profile()
	captured, err := exampleSteps(in, steps, func(c *train.Config) { c.Graph = config.Yes }, func(step int) error {
		if step > 2 {
			return nil
		}
		if err := d.Sync(); err != nil {
			return err
		}
		if step == 1 {
			first = time.Since(began)
		} else {
			second = time.Since(began) - first
		}
		return nil
	})
	if err != nil {
		return fmt.Errorf("captured steps: %w", err)
	}
	p.Stop()
	fmt.Printf("first step done %v after the start (goal: 2 s), the second %v later; %s\n", first.Round(time.Millisecond), second.Round(time.Microsecond), d.LoadSummary())
	for _, r := range p.Rows() {
		if r.Activity == "capture" {
			fmt.Printf("graph of a step: %s\n", r.Name)
		}
	}
	eager, err := exampleSteps(in, steps, func(c *train.Config) { c.Graph = config.No }, func(int) error { return nil })
	if err != nil {
		return fmt.Errorf("eager steps: %w", err)
	}
	if err := sameParams(fmt.Sprintf("%d steps, captured and not", steps), captured, eager); err != nil {
		return err
	}
	if err := compareChoice(in); err != nil {
		return err
	}
	return compareWithCPU(in)
}

// compareChoice measures how to replay steps, and compares the results with those of eager steps.
func compareChoice(in folders) error {
	steps := 400
	if in.small {
		steps = 40
	}
	together, choice, err := exampleTogether(in, steps)
	if err != nil {
		return fmt.Errorf("steps launched together: %w", err)
	}
	if choice == nil {
		return fmt.Errorf("after %d steps it is not measured how to replay them", steps)
	}
	fmt.Printf("replayed: %v\n", choice)
	eager, err := exampleSteps(in, steps, func(c *train.Config) { c.Graph = config.No }, func(int) error { return nil })
	if err != nil {
		return fmt.Errorf("eager steps: %w", err)
	}
	return sameParams(fmt.Sprintf("%d steps, launched together and eager", steps), together, eager)
}

// sameParams fails unless the parameters of two runs have the same bits.
func sameParams(about string, a, b *train.Run) error {
	different, err := differentParams(a, b)
	if err != nil {
		return err
	}
	fmt.Printf("%s: %d parameters have other bits\n", about, different)
	if different > 0 {
		return fmt.Errorf("%s: %d parameters have other bits", about, different)
	}
	return nil
}

// compareWithCPU trains for a few steps in float32 on the GPU and on the CPU, which draw the same
// numbers, and compares the losses.
func compareWithCPU(in folders) error {
	steps := 20
	if in.small {
		steps = 2
	}
	var losses [2]float64
	for i, device := range []string{in.device, "cpu"} {
		there := in
		there.device = device
		r, err := exampleSteps(there, steps, func(c *train.Config) { c.Precision = "" }, func(int) error { return nil })
		if err != nil {
			return fmt.Errorf("steps on %s: %w", device, err)
		}
		losses[i] = r.Position.Running.MeanLoss()
	}
	fmt.Printf("mean loss of the first steps: %.7g on the GPU, %.7g on the CPU\n", losses[0], losses[1])
	if apart := math.Abs(losses[0]/losses[1] - 1); !(apart < 1e-3) {
		return fmt.Errorf("the losses differ by %.2g of their size; want at most 0.001", apart)
	}
	return nil
}

// differentParams counts the parameters of two runs that have other bits.
func differentParams(a, b *train.Run) (count int, err error) {
	values := map[string][]float32{}
	for name, p := range nn.Parameters(a.Model) {
		if values[name], err = storage.Read[float32](p.Array()); err != nil {
			return 0, err
		}
	}
	for name, p := range nn.Parameters(b.Model) {
		got, err := storage.Read[float32](p.Array())
		if err != nil {
			return 0, err
		}
		if !slices.Equal(got, values[name]) {
			count++
		}
	}
	return count, nil
}
