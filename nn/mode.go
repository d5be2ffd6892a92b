package nn

// A ModeSetter is a module that behaves differently in training and in
// evaluation, such as dropout and batch normalization.
type ModeSetter interface {
	Module
	SetTraining(training bool)
}

// Train puts every module inside model into training mode. Modules start in it.
func Train(model any) { SetTraining(model, true) }

// Eval puts every module inside model into evaluation mode.
func Eval(model any) { SetTraining(model, false) }

// SetTraining puts every module inside model into training or evaluation mode.
func SetTraining(model any, training bool) {
	for _, m := range Modules(model) {
		if t, ok := m.(ModeSetter); ok {
			t.SetTraining(training)
		}
	}
}

// Mode implements ModeSetter for the modules that embed it. The zero Mode is training.
type Mode struct{ evaluating bool }

// Training reports whether the module is in training mode.
func (m *Mode) Training() bool { return !m.evaluating }

// SetTraining puts the module into training or evaluation mode.
func (m *Mode) SetTraining(training bool) { m.evaluating = !training }
