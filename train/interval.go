package train

import (
	"encoding/json"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"
)

// An Interval is how often something is done during training. At most one of its
// fields is set. The zero Interval means after every epoch. As text: 10m (a
// duration), 500steps or epoch.
type Interval struct {
	Time  time.Duration
	Steps int
}

var errInterval = errors.New("want a duration such as 10m, a number of steps such as 500steps, or epoch")

// ParseInterval reads an Interval from text; "" is the zero Interval.
func ParseInterval(text string) (Interval, error) {
	text = strings.TrimSpace(text)
	if text == "" || text == "epoch" {
		return Interval{}, nil
	}
	if number, ok := strings.CutSuffix(strings.TrimSuffix(text, "s"), "step"); ok {
		n, err := strconv.Atoi(strings.TrimSpace(number))
		if err != nil || n < 1 {
			return Interval{}, fmt.Errorf("%q: %w", text, errInterval)
		}
		return Interval{Steps: n}, nil
	}
	d, err := time.ParseDuration(text)
	if err != nil || d <= 0 {
		return Interval{}, fmt.Errorf("%q: %w", text, errInterval)
	}
	return Interval{Time: d}, nil
}

func (i Interval) String() string {
	switch {
	case i.Steps > 0:
		return fmt.Sprintf("%dsteps", i.Steps)
	case i.Time > 0:
		return i.Time.String()
	}
	return "epoch"
}

// UnmarshalJSON reads the text of an Interval.
func (i *Interval) UnmarshalJSON(text []byte) (err error) {
	var written string
	if json.Unmarshal(text, &written) != nil {
		return errInterval
	}
	*i, err = ParseInterval(written)
	return err
}

// MarshalJSON writes what UnmarshalJSON reads.
func (i Interval) MarshalJSON() ([]byte, error) { return json.Marshal(i.String()) }
