package nn

// A Trained module behaves differently in training and in use, as dropout and
// batch normalisation do.
type Trained interface {
	Module
	SetTraining(training bool)
}

// SetTraining tells every module inside model whether it is being trained.
// Modules start out in training.
func SetTraining(model any, training bool) {
	for _, m := range Modules(model) {
		if t, ok := m.(Trained); ok {
			t.SetTraining(training)
		}
	}
}

// A Mode is whether a module is in training. The zero Mode is.
type Mode struct{ evaluating bool }

// Training reports whether the module is being trained.
func (m *Mode) Training() bool { return !m.evaluating }

// SetTraining says whether the module is being trained.
func (m *Mode) SetTraining(training bool) { m.evaluating = !training }
