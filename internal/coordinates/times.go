package coordinates

import (
	"fmt"
	"math"
	"math/big"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/h5dnn/h5dnn/views"
)

// Times are numbers of a unit since a date, of a calendar:
// https://cfconventions.org/cf-conventions/cf-conventions.html#time-coordinate

// units are the units of time with a fixed length, by the names that UDUNITS and xarray know.
var units = map[string]time.Duration{}

func init() {
	for names, unit := range map[string]time.Duration{
		"days day d": 24 * time.Hour, "hours hour hrs hr h": time.Hour, "minutes minute mins min": time.Minute,
		"seconds second secs sec s": time.Second, "milliseconds millisecond msecs msec ms": time.Millisecond,
		"microseconds microsecond us": time.Microsecond, "nanoseconds nanosecond ns": time.Nanosecond,
	} {
		for name := range strings.FieldsSeq(names) {
			units[name] = unit
		}
	}
}

// findTimes returns the times from the start of a period to the end of it, or of another.
func (a Axis) findTimes(r views.CoordinateRange) ([]int, error) {
	c, err := newClock(a.Units, a.Calendar)
	if err != nil {
		return nil, err
	}
	if r.Single {
		r.Stop = r.Start
	}
	first, err := c.period(r.Start)
	if err != nil {
		return nil, err
	}
	last, err := c.period(r.Stop)
	if err != nil {
		return nil, err
	}
	if r.Start != "" && r.Stop != "" && first[0].Cmp(last[0]) > 0 {
		first, last = last, first
	}
	lo, hi := number{math.Inf(-1), math.MinInt64, math.MinInt64}, number{math.Inf(1), math.MaxInt64, math.MaxInt64}
	if r.Start != "" {
		lo = c.since(first[0])
	}
	if r.Stop != "" { // the end is not of the period
		hi = c.since(last[1])
		hi.float, hi.floor = math.Nextafter(a.round(hi.float), math.Inf(-1)), max(hi.ceil, math.MinInt64+1)-1
	}
	var found []int
	if a.Ints != nil {
		found = where(a.Ints, lo.ceil, hi.floor)
	} else {
		found = where(a.Floats, a.round(lo.float), hi.float)
	}
	if r.Single && len(found) == 0 {
		return nil, fmt.Errorf("no time is in %s: %w", r.Start, views.ErrShape)
	}
	return found, nil
}

// A clock counts units since a date.
type clock struct {
	unit   time.Duration
	origin *big.Int // nanoseconds since 1970
	julian bool     // dates before 1582-10-15 are of the Julian calendar
}

// date matches dates and times of any precision, with one for a zone at most.
var date = regexp.MustCompile(`^(\d{1,4})(?:-(\d{1,2})(?:-(\d{1,2})(?:[T ]+(\d{1,2})(?::(\d{1,2})(?::(\d{1,2})(\.\d*)?)?)?)?)?)?\s*(Z|UTC|GMT|[+-]\d{1,2}(?::?\d{2})?)?$`)

func newClock(text, calendar string) (c clock, err error) {
	switch strings.ToLower(calendar) {
	case "", "standard", "gregorian":
		c.julian = true
	case "proleptic_gregorian":
	default:
		return c, fmt.Errorf("times of calendar %q are not found by date; select them by position: %w", calendar, views.ErrShape)
	}
	unit, origin, _ := strings.Cut(text, " since ")
	c.unit = units[strings.ToLower(strings.TrimSpace(unit))]
	if c.unit == 0 {
		return c, fmt.Errorf("times in %q are not found by date, only in days and shorter units; select them by position: %w", text, views.ErrShape)
	}
	if origin = strings.TrimSpace(origin); strings.Count(origin, "-") == 0 {
		return c, fmt.Errorf("units %q have no date to count from: %w", text, views.ErrShape)
	}
	p, err := c.period(origin)
	c.origin = p[0]
	return c, err
}

// period returns the start of a period and its end, in nanoseconds since 1970; nothing for "".
func (c clock) period(text string) (p [2]*big.Int, err error) {
	if text == "" {
		return p, nil
	}
	found := date.FindStringSubmatch(text)
	if found == nil {
		return p, fmt.Errorf("%q is no date; want one such as 2001, 2001-03, 2001-03-15 or '2001-03-15 12:00': %w", text, views.ErrShape)
	}
	n := [6]int{1, 1, 1} // year to second
	given := 0
	for k := range n {
		if found[k+1] != "" {
			n[k], _ = strconv.Atoi(found[k+1])
			given = k
		}
	}
	day, ok := c.day(n[0], n[1], n[2])
	if !ok || n[3] > 23 || n[4] > 59 || n[5] > 59 {
		return p, fmt.Errorf("%q is no date of the calendar: %w", text, views.ErrShape)
	}
	end := day + 1
	switch given {
	case 0:
		end, _ = c.day(n[0]+1, 1, 1)
	case 1:
		end, _ = c.day(n[0]+n[1]/12, n[1]%12+1, 1)
	}
	at := time.Duration(n[3])*time.Hour + time.Duration(n[4])*time.Minute + time.Duration(n[5])*time.Second
	length := []time.Duration{0, 0, 0, time.Hour, time.Minute, time.Second}[given]
	if fraction := found[7]; len(fraction) > 1 {
		nanos, _ := strconv.Atoi((fraction[1:] + "000000000")[:9])
		at, length = at+time.Duration(nanos), time.Duration(math.Pow10(max(0, 10-len(fraction))))
	}
	at -= offset(found[8])
	if p[0], p[1] = instant(day, at), instant(end, 0); length > 0 {
		p[1] = instant(day, at+length)
	} else if at != 0 {
		p[1] = instant(end, at)
	}
	return p, nil
}

// instant returns a time of a day since 1970, in nanoseconds.
func instant(day int, at time.Duration) *big.Int {
	ns := big.NewInt(int64(24 * time.Hour))
	return ns.Mul(ns, big.NewInt(int64(day))).Add(ns, big.NewInt(int64(at)))
}

// offset returns how much a zone is ahead of UTC.
func offset(zone string) time.Duration {
	if zone == "" || zone[0] != '+' && zone[0] != '-' {
		return 0
	}
	digits := strings.ReplaceAll(zone[1:], ":", "")
	hours, minutes := digits, "0"
	if len(digits) > 2 {
		hours, minutes = digits[:len(digits)-2], digits[len(digits)-2:]
	}
	h, _ := strconv.Atoi(hours)
	m, _ := strconv.Atoi(minutes)
	if d := time.Duration(h)*time.Hour + time.Duration(m)*time.Minute; zone[0] == '+' {
		return d
	} else {
		return -d
	}
}

// day returns the days from 1970-01-01 to a date.
func (c clock) day(year, month, day int) (int, bool) {
	const january1970 = 2440588 // its Julian day number
	gregorian := time.Date(year, time.Month(month), day, 0, 0, 0, 0, time.UTC)
	date := []int{year, month, day}
	if !c.julian || slices.Compare(date, []int{1582, 10, 15}) >= 0 {
		return int(gregorian.Unix() / 86400), gregorian.Month() == time.Month(month) && gregorian.Day() == day
	}
	// The number of days before a month that is counted from March on: Explanatory Supplement to
	// the Astronomical Almanac, section 15.11.
	before := (14 - month) / 12
	y, m := year+4800-before, month+12*before-3
	number := day + (153*m+2)/5 + 365*y + y/4 - 32083
	length := 31 - (month-1)%7%2
	if month == 2 {
		if length = 28; year%4 == 0 {
			length = 29
		}
	}
	valid := year >= 1 && month >= 1 && month <= 12 && day >= 1 && day <= length && slices.Compare(date, []int{1582, 10, 4}) <= 0
	return number - january1970, valid
}

// since returns the number of units from the clock's date to an instant.
func (c clock) since(at *big.Int) number {
	unit := big.NewInt(int64(c.unit))
	ns := new(big.Int).Sub(at, c.origin)
	float, _ := new(big.Rat).SetFrac(ns, unit).Float64()
	floor, rest := new(big.Int).DivMod(ns, unit, new(big.Int))
	if !floor.IsInt64() {
		return number{float, clamped(float), clamped(float)}
	}
	n := number{float: float, floor: floor.Int64(), ceil: floor.Int64()}
	if rest.Sign() > 0 {
		n.ceil++
	}
	return n
}
