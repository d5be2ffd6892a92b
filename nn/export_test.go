package nn

import "github.com/h5dnn/h5dnn/spell"

// LayerName returns the name of m in configurations.
func LayerName(m Module) string { return kindOf(m) }

// LossNames lists the registered losses, LossSettings has the default settings of one.
func LossNames() []string            { return losses.names() }
func LossSettings(name string) any   { return losses.makers[spell.Plain(name)].defaults }
func MetricNames() []string          { return metrics.names() }
func MetricSettings(name string) any { return metrics.makers[spell.Plain(name)].defaults }
