package coordinates

import (
	"encoding/json"
	"fmt"
	"math"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/h5dnn/h5dnn/internal/pythontest"
	"github.com/h5dnn/h5dnn/views"
)

// rangeFrom reads NAME=… of an index expression.
func rangeFrom(text string) views.CoordinateRange {
	r := views.CoordinateRange{Name: "x", Step: 1}
	start, stop, isRange := strings.Cut(text, ":")
	r.Start, r.Stop, r.Single = start, stop, !isRange
	return r
}

func days(units, calendar string, values ...float64) Axis {
	return Axis{Floats: values, Units: units, Calendar: calendar}
}

// TestFind has coordinates of each kind, and ranges of them.
func TestFind(t *testing.T) {
	down := Axis{Floats: []float64{90, 60, 30, 0, -30, -60, -90}}
	odd := Axis{Ints: []int64{5, 1, 3, 1 << 60, 1<<60 + 1}}
	texts := Axis{Texts: []string{"oslo", "rom", "wien"}}
	single := Axis{Floats: []float64{float64(float32(0.1)), float64(float32(0.2)), math.NaN()}, Single: true}
	months := days("days since 2000-01-01", "", 0, 31, 60, 90.5, 121, 366)
	hours := Axis{Ints: []int64{0, 6, 12, 18, 24}, Units: "hours since 1999-12-31 18:00:00", Calendar: "proleptic_gregorian"}
	for _, c := range []struct {
		a    Axis
		r    string
		want []int
	}{
		{down, "40:60", []int{1}}, {down, "60:0", []int{1, 2, 3}}, {down, "30:", []int{0, 1, 2}}, {down, ":-60", []int{5, 6}}, {down, ":", []int{0, 1, 2, 3, 4, 5, 6}},
		{down, "52.5", []int{1}}, {down, "45", []int{2}}, {down, "104", []int{0}}, {down, "7:8", nil},
		{odd, "1:4", []int{1, 2}}, {odd, "2.5:3.5", []int{2}}, {odd, "1152921504606846977", []int{4}}, {odd, "1152921504606846977:", []int{4}}, {odd, "4", []int{2}}, {odd, "1e3:1e300", []int{3, 4}},
		{texts, "rom", []int{1}}, {texts, "p:", []int{1, 2}}, {texts, "rom:oslo", []int{0, 1}}, {texts, ":p", []int{0}},
		{single, "0.1:0.2", []int{0, 1}}, {single, "0.2", []int{1}},
		{months, "2000", []int{0, 1, 2, 3, 4}}, {months, "2000-03-31", []int{3}}, {months, "2000-02:2000-03", []int{1, 2, 3}}, {months, ":2000-01", []int{0}}, {months, "2001:", []int{5}}, {months, "2001:2000-05", []int{4, 5}},
		{hours, "2000-01-01T00", []int{1}}, {hours, "2000-01-01", []int{1, 2, 3, 4}}, {hours, "1999", []int{0}}, {hours, "2000-01-01 06", []int{2}},
		// From the Gregorian calendar's first day on, and the Julian one's last.
		{days("days since 1582-10-15", "standard", -1, 0, 1), "1582-10-04", []int{0}},
		{days("days since 1582-10-15", "gregorian", -1, 0, 1), "1582-10-15", []int{1}},
		{days("days since 1582-10-15", "proleptic_gregorian", -1, 0, 1), "1582-10-14", []int{0}},
		// cftime.date2num(datetime(2000, 1, 1), "days since 0001-01-01") is 730121 in standard, 730119 in proleptic_gregorian.
		{days("days since 1-1-1 00:00:0.0", "standard", 730119, 730121), "2000-01-01", []int{1}},
		{days("days since 0001-01-01", "proleptic_gregorian", 730119, 730121), "2000-01-01", []int{0}},
		{days("seconds since 1970-01-01 00:00:00 +02:00", "", 0, 7200), "1970-01-01 00", []int{1}},
		{days("days since 1900-02-28", "standard", 0, 1, 2), "1900-03-01", []int{1}},
		{days("nanoseconds since 1970-01-01", "", 0, 1e18), "9999:", nil},
	} {
		got, isSingle, err := c.a.Find(rangeFrom(c.r))
		if err != nil || !slices.Equal(got, c.want) || isSingle && len(got) != 1 {
			t.Errorf("%s of %+v: %v, %v; want %v", c.r, c.a, got, err, c.want)
		}
	}
}

func TestFindRefuses(t *testing.T) {
	down := Axis{Floats: []float64{90, 60, 30}}
	for _, c := range []struct {
		a       Axis
		r, want string
	}{
		{down, "106", "x=106: the coordinates are 30 to 90, and the nearest is 16 away: wrong shape"},
		{down, "a:3", `x=a:3: "a" is no number, as the coordinates are: wrong shape`},
		{down, "nan", `x=nan: "nan" is no number, as the coordinates are: wrong shape`},
		{Axis{}, "3", "x=3: there are no coordinates: wrong shape"},
		{Axis{Ints: []int64{7}}, "8", "x=8: the coordinates are 7 to 7, and the nearest is 1 away: wrong shape"},
		{Axis{Texts: []string{"a", "a"}}, "a", `x=a: 2 coordinates are "a"; want one: wrong shape`},
		{days("days since 1900-01-01", "noleap", 0), "1900", `x=1900: times of calendar "noleap" are not found by date; select them by position: wrong shape`},
		{days("months since 1900-01-01", "", 0), "1900", `x=1900: times in "months since 1900-01-01" are not found by date, only in days and shorter units; select them by position: wrong shape`},
		{days("days since launch", "", 0), "1900", `x=1900: units "days since launch" have no date to count from: wrong shape`},
		{days("days since 1900-01-01", "", 0), "1901", `x=1901: no time is in 1901: wrong shape`},
		{days("days since 1900-01-01", "", 0), "1900-02-29", `x=1900-02-29: "1900-02-29" is no date of the calendar: wrong shape`},
		{days("days since 1900-01-01", "", 0), "1582-10-10", `x=1582-10-10: "1582-10-10" is no date of the calendar: wrong shape`},
		{days("days since 1900-01-01", "", 0), "20010301", `x=20010301: "20010301" is no date; want one such as 2001, 2001-03, 2001-03-15 or '2001-03-15 12:00': wrong shape`},
	} {
		if _, _, err := c.a.Find(rangeFrom(c.r)); err == nil || err.Error() != c.want {
			t.Errorf("%v\nwant %s", err, c.want)
		}
	}
}

// TestTimesAreThoseOfCftime compares the days of dates in each calendar with the library that
// xarray reads times with.
func TestTimesAreThoseOfCftime(t *testing.T) {
	script := `
import cftime, json, random
random.seed(5)
rows = []
for calendar in ["standard", "proleptic_gregorian"]:
    for unit in ["days", "hours", "seconds"]:
        for since in ["0001-01-01", "1582-10-01", "1858-11-17 12:00:00", "1900-01-01 00:00:0.0", "2000-2-29"]:
            for k in range(40):
                y, m, d = random.randint(1, 2500), random.randint(1, 12), random.randint(1, 28)
                if calendar == "standard" and (y, m) == (1582, 10): continue
                at = cftime.date2num(cftime.datetime(y, m, d, calendar=calendar), unit + " since " + since, calendar=calendar)
                rows.append([unit + " since " + since, calendar, "%04d-%02d-%02d" % (y, m, d), float(at)])
print(json.dumps(rows))
`
	var rows [][]any
	if err := json.Unmarshal([]byte(pythontest.Run(t, []string{"cftime"}, script)), &rows); err != nil {
		t.Fatal(err)
	}
	for _, row := range rows {
		at := row[3].(float64)
		unit := map[byte]float64{'d': 1, 'h': 24, 's': 86400}[row[0].(string)[0]]
		a := days(row[0].(string), row[1].(string), at-unit, at, at+unit/2, at+unit)
		if got, _, err := a.Find(rangeFrom(row[2].(string))); err != nil || !reflect.DeepEqual(got, []int{1, 2}) {
			t.Errorf("%v: %v, %v", row, got, err)
		}
	}
}

func ExampleAxis_Find() {
	latitudes := Axis{Floats: []float64{60, 50, 40, 30}}
	between, _, _ := latitudes.Find(views.CoordinateRange{Name: "lat", Start: "35", Stop: "50", Step: 1})
	nearest, _, _ := latitudes.Find(views.CoordinateRange{Name: "lat", Start: "52.5", Single: true})
	fmt.Println(between, nearest)
	// Output: [1 2] [1]
}
