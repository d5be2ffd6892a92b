package keras

import (
	"math"
	"strings"
	"testing"
)

// TestMomentumProductOfNadam in three steps, by hand.
func TestMomentumProductOfNadam(t *testing.T) {
	want := 1.0
	for _, power := range []float64{0.96, 0.96 * 0.96, 0.96 * 0.96 * 0.96} {
		want *= 0.8 * (1 - power/2)
	}
	if got := (&Optimizer{Config: map[string]any{"beta_1": 0.8}}).momentumProduct(3); math.Abs(got-want) > 1e-12 {
		t.Errorf("%v; want %v", got, want)
	}
}

// TestSettingsThatKeras3LacksAreNamed, but for those that change no result.
func TestSettingsThatKeras3LacksAreNamed(t *testing.T) {
	training := `{"optimizer_config": {"class_name": "Nadam", "config": {"learning_rate": 0.1, "decay": 0.004, "jit_compile": true, "is_legacy_optimizer": false}}}`
	if got := OptimizerIn(training).DifferencesInKeras3(); len(got) != 1 || !strings.Contains(got[0], "decay") {
		t.Errorf("%q; want the decay", got)
	}
	training = `{"optimizer_config": {"class_name": "Adam", "config": {"learning_rate": 0.1, "decay": 0.0, "wobble": 2}}}`
	if got := OptimizerIn(training).DifferencesInKeras3(); len(got) != 1 || !strings.Contains(got[0], "wobble") {
		t.Errorf("%q; want wobble", got)
	}
}
