package nn_test

import (
	"encoding/json"
	"flag"
	"fmt"
	"maps"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/h5dnn/h5dnn/nn"
)

var rewrite = flag.Bool("rewrite", false, "write docs/training.md anew")

const trainingPage = `# What training is made of

Every loss, metric, optimizer and schedule: the number of its settings that are compared with PyTorch's, torchmetrics' in the case of metrics (or, where these do
not have it, with the formula of the paper): the value and gradient of a loss, three batches of a metric, 20 steps of an optimizer, or 80 of
a schedule; whether the CPU and NVIDIA GPUs compute it; whether a configuration that
describes it builds it again; and whether it continues exactly from saved state. Optimizers read their hyperparameters from
device memory, so that captured steps are replayed, and take part in loss scaling. ✓ means yes. · means not applicable: schedules are computed on the host, and
most have no state, as losses. The tests of package nn write this table (` + "`make golden`" + `) and fail where it is not so. The GPU of these tests is an
interpreter of the code that ships.

| | | compared | CPU | GPU | configuration | resumed |
|---|---|---|---|---|---|---|
`

// comparedKinds are the kinds of registrations in the table: how many settings of each name the fixtures have, and the other columns.
// The tests of the fixtures try each setting in these ways.
var comparedKinds = map[string]struct {
	settings func(t *testing.T) []string // descriptions
	columns  func(r nn.Registration) []string
}{
	"loss": {
		func(t *testing.T) []string {
			return fixtureNames(t, "testdata/losses.npz", func(description string) string { return nn.LossName(lossFrom(t, description)) })
		},
		func(r nn.Registration) []string { return []string{"✓", "✓", "✓", "·"} },
	},
	"metric": {
		func(t *testing.T) []string {
			return fixtureNames(t, "testdata/metrics.npz", func(description string) string { return nn.MetricName(metricFrom(t, description)) })
		},
		func(r nn.Registration) []string { return []string{"✓", "✓", "✓", "✓"} },
	},
	"optimizer": {
		func(t *testing.T) []string { return fixtureOptimizers(openFile(t, "testdata/optimizers.npz")) },
		func(r nn.Registration) []string { return []string{"✓", "✓", "✓", "✓"} },
	},
	"schedule": {
		func(t *testing.T) []string {
			return append(fixtureKeys(t, "testdata/schedules.json"), fixtureKeys(t, "testdata/plateau.json")...)
		},
		func(r nn.Registration) []string {
			resumed := "·"
			if r.Name == "plateau" {
				resumed = "✓"
			}
			return []string{"·", "·", "✓", resumed}
		},
	},
}

// fixtureNames returns the names of the descriptions in a fixture, as descriptions.
func fixtureNames(t *testing.T, file string, name func(description string) string) (all []string) {
	t.Helper()
	for key := range openFile(t, file) {
		if description, ok := strings.CutSuffix(key, "/x"); ok {
			all = append(all, fmt.Sprintf("%q", name(description)))
		}
	}
	return all
}

func fixtureKeys(t *testing.T, file string) []string {
	t.Helper()
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	var values map[string]json.RawMessage
	if err := json.Unmarshal(text, &values); err != nil {
		t.Fatal(err)
	}
	return slices.Sorted(maps.Keys(values))
}

// named returns the name in a description.
func named(t *testing.T, description string) (name string) {
	t.Helper()
	if json.Unmarshal([]byte(description), &name) == nil {
		return name
	}
	var settings map[string]json.RawMessage
	if err := json.Unmarshal([]byte(description), &settings); err != nil {
		t.Fatal(err)
	}
	for name = range settings {
	}
	return name
}

// TestTrainingTable holds docs/training.md to the registries and the fixtures.
func TestTrainingTable(t *testing.T) {
	page := trainingPage
	count := map[string]map[string]int{}
	for _, kind := range slices.Sorted(maps.Keys(comparedKinds)) {
		count[kind] = map[string]int{}
		for _, description := range comparedKinds[kind].settings(t) {
			count[kind][named(t, description)]++
		}
	}
	for _, r := range nn.Registrations() {
		kind, ok := comparedKinds[r.Kind]
		if !ok || strings.HasPrefix(r.Name, "outside") {
			continue
		}
		n := count[r.Kind][r.Name]
		if n == 0 {
			t.Errorf("%s %s is in no fixture", r.Kind, r.Name)
		}
		page += fmt.Sprintf("| %s | %s | %d | %s |\n", r.Kind, r.Name, n, strings.Join(kind.columns(r), " | "))
	}
	const file, next = "../docs/training.md", "\n## " // other sections
	text, err := os.ReadFile(file)
	have, rest, _ := strings.Cut(string(text), next)
	if *rewrite {
		have = page
		if err := os.WriteFile(file, []byte(page+next+rest), 0o666); err != nil {
			t.Fatal(err)
		}
	}
	if err != nil || have != page {
		t.Errorf("docs/training.md is not what is registered and compared (%v); run make golden", err)
	}
}
