package kerasfile

import (
	"strings"
	"testing"
)

// TestSettingsOfOptimizersStayFloats writes a momentum of 0.0, which Keras 3 refuses as 0.
func TestSettingsOfOptimizersStayFloats(t *testing.T) {
	text := compileConfig(`{"loss": "mse", "optimizer_config": {"class_name": "SGD", "config": {"learning_rate": 1.0, "momentum": 0.0, "ema_overwrite_frequency": 2}}}`)
	for _, want := range []string{`"learning_rate":1.0`, `"momentum":0.0`, `"ema_overwrite_frequency":2,`} {
		if !strings.Contains(string(text), want) {
			t.Errorf("%s lacks %s", text, want)
		}
	}
}
