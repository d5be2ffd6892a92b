package train_test

import (
	"flag"
	"fmt"
	"os"
	"strings"
	"testing"

	"github.com/h5dnn/h5dnn/train"
)

var rewriteTable = flag.Bool("rewrite", false, "write the callbacks in docs/training.md anew")

const callbacksPage = `
## Callbacks

` + "`callbacks: [early_stopping, {limit: {minutes: 30}}]`" + ` in a configuration, or ` + "`Callbacks`" + ` in the options of ` + "`Run.Fit`" + ` and ` + "`train.Fit`" + `. [configuration.md](configuration.md#callbacks)
has their settings. The tests of package train write this table: what callbacks take part in besides the beginning and the end of training and of epochs (progress: numbers of steps, which costs
nothing on GPUs; model: the model after each step; gradients of updates), whether they have state in the run file, and whether they change the run at its end. Each of them is described by its
settings, gives the same bits after interruptions as without, and on 1, 2 and 4 processes.

| callback | steps | gradients | state | end |
|---|---|---|---|---|
`

const callbackGuide = `
A callback of your own is a type with the methods of ` + "`train.Callback`" + `; it embeds ` + "`train.OnlyProgress`" + ` (or ` + "`train.CallbackFuncs`" + `, if StepEnd looks at the model) for those it does not need.

- ` + "`train.RegisterCallback(\"name\", New, Options{})`" + ` gives it a name in configurations; the type embeds its ` + "`Options`" + `.
- ` + "`Name()`, `State()` and `Load()`" + ` keep its state in the run file under ` + "`callbacks/NAME/`" + `, so that a run that is resumed goes on exactly.
- ` + "`return train.Stop(\"reason\")`" + ` from RunBegin, StepEnd or EpochEnd completes the run, ` + "`train.Pause`" + ` saves it for later. Decide by numbers of Progress and Epoch, which all processes have alike;
  ` + "`Plan.Training.Pause`" + ` may be called by one process alone, such as by its clock.
- ` + "`Finish(*train.Training)`" + ` changes the run at its end, before it is saved for the last time.
- ` + "`Gradients(*train.Step)`" + ` makes it a hook: it sees the gradients of all batches and shards of an update, and ` + "`Step.Unscaled`" + ` divides them by the loss scale.
- ` + "`Epoch.Numbers[\"name\"] = x`" + ` in EpochEnd puts a number into the history. Files are written where ` + "`Plan.Training.Writes()`" + `.
`

// TestCallbacksTable holds the section on callbacks in docs/training.md to the registry.
func TestCallbacksTable(t *testing.T) {
	page := callbacksPage
	for _, r := range train.Registrations() {
		if strings.HasPrefix(r.Name, "outside") {
			continue
		}
		made, err := train.CallbackFromConfig(r.Name)
		if err != nil {
			t.Fatal(err)
		}
		steps := "model"
		if _, ok := made.(interface{ StepsByProgress() bool }); ok {
			steps = "progress"
		}
		_, gradients := made.(train.Hook)
		_, state := made.(train.Resumable)
		_, end := made.(train.Finisher)
		page += fmt.Sprintf("| %s | %s | %s | %s | %s |\n", r.Name, steps, tick(gradients), tick(state), tick(end))
	}
	page += callbackGuide
	const file = "../docs/training.md"
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	before, have, _ := strings.Cut(string(text), callbacksPage[:14])
	if *rewriteTable {
		have = page[14:]
		if err := os.WriteFile(file, []byte(before+page), 0o666); err != nil {
			t.Fatal(err)
		}
	}
	if have != page[14:] {
		t.Error("the callbacks of docs/training.md are not those that are registered; run make golden")
	}
}

func tick(yes bool) string {
	if yes {
		return "✓"
	}
	return "·"
}
