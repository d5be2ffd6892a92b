package hdf5

import (
	"encoding/binary"
	"fmt"
	"math"
	"regexp"
	"strconv"
)

// A numpyTime is a datetime64 or timedelta64 of NumPy, which h5py stores as an opaque type
// of 8 bytes with a tag such as
//
//	NUMPY:<M8[25s]
//	      |||  |+-- unit
//	      |||  +--- units per step
//	      ||+------ 8 bytes
//	      |+------- M: steps since 1970, m: steps
//	      +-------- byte order
type numpyTime struct {
	order string // < or >
	delta bool   // a timedelta64
	steps int64  // units
	unit  string
}

var timeTag = regexp.MustCompile(`^NUMPY:([<>])([Mm])8\[([1-9]\d{0,8})?(Y|M|W|D|h|m|s|ms|us|ns|ps|fs|as)\]$`)

// parseNumpyTime parses the tag of an opaque type. It returns nil for other tags.
func parseNumpyTime(tag string, size int) *numpyTime {
	m := timeTag.FindStringSubmatch(tag)
	if m == nil || size != 8 {
		return nil
	}
	n := &numpyTime{order: m[1], delta: m[2] == "m", steps: 1, unit: m[4]}
	if m[3] != "" {
		n.steps, _ = strconv.ParseInt(m[3], 10, 64) // of nine digits at most
	}
	return n
}

// IsTime reports whether elements are a datetime64 or timedelta64 of NumPy.
func (t *Type) IsTime() bool { return t.time != nil }

// String returns str(dtype) of NumPy: datetime64[s], >M8[25s].
func (n *numpyTime) String() string {
	switch {
	case n.order == ">":
		return n.code()
	case n.delta:
		return "timedelta64" + n.unitSuffix()
	default:
		return "datetime64" + n.unitSuffix()
	}
}

// code returns the name of the type within structured types: <M8[s].
func (n *numpyTime) code() string {
	if n.delta {
		return n.order + "m8" + n.unitSuffix()
	}
	return n.order + "M8" + n.unitSuffix()
}

func (n *numpyTime) unitSuffix() string {
	if n.steps == 1 {
		return "[" + n.unit + "]"
	}
	return fmt.Sprintf("[%d%s]", n.steps, n.unit)
}

// value returns an element: the steps of a timedelta64 as int64, a datetime64 in ISO 8601
// down to its unit, or NaT.
func (n *numpyTime) value(b []byte) any {
	x := int64(binary.LittleEndian.Uint64(b))
	if n.order == ">" {
		x = int64(binary.BigEndian.Uint64(b))
	}
	switch {
	case x == math.MinInt64:
		return "NaT"
	case n.delta:
		return x
	default:
		return n.date(x * n.steps)
	}
}

// clockUnits are the units shorter than a day: the number of hours, minutes or seconds of
// a day, and the number of decimal digits of a fraction.
var clockUnits = map[string]struct{ perDay, digits int64 }{
	"h": {24, 0}, "m": {24 * 60, 0}, "s": {86400, 0}, "ms": {86400, 3}, "us": {86400, 6}, "ns": {86400, 9},
	"ps": {86400, 12}, "fs": {86400, 15}, "as": {86400, 18},
}

// date formats the time that is x units after 1970.
func (n *numpyTime) date(x int64) string {
	switch n.unit {
	case "Y":
		return fmt.Sprintf("%04d", 1970+x)
	case "M":
		years, month := floorDiv(x, 12)
		return fmt.Sprintf("%04d-%02d", 1970+years, month+1)
	case "W":
		return formatDay(7 * x)
	case "D":
		return formatDay(x)
	}
	u := clockUnits[n.unit]
	whole, fraction := floorDiv(x, int64(math.Pow10(int(u.digits))))
	days, rest := floorDiv(whole, u.perDay)
	switch n.unit {
	case "h":
		return fmt.Sprintf("%sT%02d", formatDay(days), rest)
	case "m":
		return fmt.Sprintf("%sT%02d:%02d", formatDay(days), rest/60, rest%60)
	case "s":
		return fmt.Sprintf("%sT%02d:%02d:%02d", formatDay(days), rest/3600, rest/60%60, rest%60)
	}
	return fmt.Sprintf("%sT%02d:%02d:%02d.%0*d", formatDay(days), rest/3600, rest/60%60, rest%60, u.digits, fraction)
}

// floorDiv rounds the quotient down, so that the remainder is not negative.
func floorDiv(x, by int64) (quotient, rest int64) {
	quotient, rest = x/by, x%by
	if rest < 0 {
		quotient, rest = quotient-1, rest+by
	}
	return quotient, rest
}

// formatDay formats the date that is a number of days after 1970-01-01. It counts in eras
// of 400 years that begin in March (Howard Hinnant, chrono-Compatible Low-Level Date
// Algorithms, civil_from_days).
func formatDay(days int64) string {
	era, inEra := floorDiv(days+719468, 146097)
	year := (inEra - inEra/1460 + inEra/36524 - inEra/146096) / 365
	inYear := inEra - (365*year + year/4 - year/100)
	march := (5*inYear + 2) / 153 // months since
	date := inYear - (153*march+2)/5 + 1
	year += 400 * era
	if march >= 10 {
		year++
	}
	return fmt.Sprintf("%04d-%02d-%02d", year, (march+2)%12+1, date)
}
