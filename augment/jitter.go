package augment

// JitterOptions are the settings of a Jitter.
type JitterOptions struct {
	Std float64 `json:"std"` // standard deviation
	P   float64 `json:"p"`   // probability; 1 if absent
}

// Jitter adds normal numbers to signals.
type Jitter struct {
	only
	chance
	JitterOptions
}

// NewJitter returns a jitter.
func NewJitter(o JitterOptions) *Jitter {
	orDefault(&o.P, 1)
	return newJitter(o)
}

func newJitter(o JitterOptions) *Jitter {
	checkPositive("jitter", "std", o.Std >= 0, o.Std)
	checkProbability("jitter", o.P)
	return &Jitter{only(Signal), chance(o.P), o}
}

// Apply adds noise to a sample.
func (a *Jitter) Apply(to, from Sample, r *Random) error {
	return eachChannel(to, from, func(_ int, dst, _ signal) {
		addNormal(dst.f32, r, a.Std, 0, 0)
		addNormal(dst.f64, r, a.Std, 0, 0)
	})
}

var _ = Register("jitter", newJitter, JitterOptions{P: 1})
