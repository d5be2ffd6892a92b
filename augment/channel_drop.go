package augment

// ChannelDropOptions are the settings of a ChannelDrop.
type ChannelDropOptions struct {
	P    float64 `json:"p"`              // probability for each channel; 0.1 if absent
	Fill float64 `json:"fill,omitempty"` // what its elements become
}

// ChannelDrop overwrites channels of signals.
type ChannelDrop struct {
	only
	ChannelDropOptions
}

// NewChannelDrop returns a channel drop.
func NewChannelDrop(o ChannelDropOptions) *ChannelDrop {
	orDefault(&o.P, 0.1)
	return newChannelDrop(o)
}

func newChannelDrop(o ChannelDropOptions) *ChannelDrop {
	checkProbability("channel_drop", o.P)
	return &ChannelDrop{only(Signal), o}
}

// Apply overwrites channels of a sample.
func (a *ChannelDrop) Apply(to, from Sample, r *Random) error {
	return eachChannel(to, from, func(_ int, dst, _ signal) {
		if r.Bool(a.P) {
			for i := range dst.len() {
				dst.set(i, a.Fill)
			}
		}
	})
}

var _ = Register("channel_drop", newChannelDrop, ChannelDropOptions{P: 0.1})
