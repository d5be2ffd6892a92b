package main

import (
	"context"
	"encoding/json"
	"errors"
	"path/filepath"
	"testing"

	"github.com/h5dnn/h5dnn/dataset/datafiles"
	"github.com/h5dnn/h5dnn/dtype"
	"github.com/h5dnn/h5dnn/internal/pythontest"
	"github.com/h5dnn/h5dnn/storage"
	"github.com/h5dnn/h5dnn/storage/hdf5/hdf5write"
)

// TestCoordinatesSelectWhatXarrayDoes compares selections by coordinates of a file that xarray wrote,
// and of one with dimension scales of h5py, with its sel. Ranges of coordinates that descend have
// their ends in that order there, and in any order here.
func TestCoordinatesSelectWhatXarrayDoes(t *testing.T) {
	folder := t.TempDir()
	script := `
import sys, json, h5py, numpy as np, pandas as pd, xarray as xr
folder = sys.argv[1]
rng = np.random.default_rng(7)
times = pd.date_range("1999-11-20 03:00", periods=400, freq="31h")
ds = xr.Dataset(
    {"t2m": (("time", "lat", "lon"), rng.standard_normal((400, 7, 5)).astype("f4")),
     "level": (("station", "height"), rng.integers(0, 99, (4, 6)))},
    coords={"time": times, "lat": np.linspace(90, -90, 7), "lon": np.arange(5) * 72.5,
            "station": ["graz", "linz", "oslo", "wien"], "height": np.array([2, 10, 50, 100, 200, 500])})
encodings = {"days": "days since 1900-01-01", "hours": "hours since 2000-01-01 12:00:00", "ns": "nanoseconds since 1970-01-01", "f4": "days since 1999-01-01"}
for name, units in encodings.items():
    dtype = "f8" if name in ("days", "f4") else "i8"
    ds.to_netcdf(folder + "/" + name + ".nc", encoding={"time": {"units": units, "dtype": dtype}})
with h5py.File(folder + "/scales.h5", "w") as f:
    x = f.create_dataset("t2m", data=ds.t2m.values, chunks=(50, 3, 5), compression="gzip")
    for k, name in enumerate(["lat", "lon"]):
        f["axes/" + name] = ds[name].values
        f["axes/" + name].make_scale(name)
        x.dims[k + 1].attach_scale(f["axes/" + name])
    x.dims[0].label = "step"
queries = []
def ask(variable, text, **sel):
    y = ds[variable].sel(**sel)
    queries.append(["/%s[%s]" % (variable, text), list(y.shape), [float(v) for v in y.values.ravel()]])
ask("t2m", "time=2000", time="2000")
ask("t2m", "time=2000-02:2000-03, lat=60:0, lon=72.5:", time=slice("2000-02", "2000-03"), lat=slice(60, 0), lon=slice(72.5, None))
ask("t2m", "time=2000-02-03", time="2000-02-03")
ask("t2m", "time=:1999-11", time=slice(None, "1999-11"))
ask("t2m", "time='2000-01-01 07:00':2000-01-04", time=slice("2000-01-01 07:00", "2000-01-04"))
ask("t2m", "time=2000-03::3", time=slice("2000-03", None, 3))
ask("level", "height=10:100, station=linz", height=slice(10, 100), station="linz")
ask("level", "height=10:100:2, station=h:p", height=slice(10, 100, 2), station=slice("h", "p"))
for lat, lon in rng.uniform(-95, 95, (40, 2)):
    y = ds["t2m"].sel(lat=lat, lon=abs(lon), method="nearest")[:3]
    queries.append(["/t2m[lat=%r, lon=%r]" % (float(lat), float(abs(lon))), [400], [float(v) for v in ds["t2m"].sel(lat=lat, lon=abs(lon), method="nearest").values]])
print(json.dumps(queries))
`
	var queries [][]any
	out := pythontest.Run(t, []string{"xarray", "h5py", "netCDF4"}, script, folder)
	if err := json.Unmarshal([]byte(out), &queries); err != nil {
		t.Fatal(err)
	}
	for k, q := range queries {
		names := []string{"days.nc", "hours.nc", "ns.nc"}
		if k >= 8 {
			names = []string{"f4.nc", "scales.h5"}
		}
		for _, name := range names {
			compareSelection(t, filepath.Join(folder, name), q)
		}
	}
}

// compareSelection compares what a query selects of a file with its shape and elements.
func compareSelection(t *testing.T, name string, query []any) {
	t.Helper()
	file, err := open(context.Background(), name)
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	data, err := datafiles.Find(file, query[0].(string))
	if err != nil {
		t.Errorf("%s%v: %v", filepath.Base(name), query[0], err)
		return
	}
	elems, err := storage.Read[float64](data.Array)
	if err != nil {
		t.Fatal(err)
	}
	want, _ := json.Marshal(query[1:])
	got, _ := json.Marshal([]any{data.Array.Shape, elems})
	if string(got) != string(want) {
		t.Errorf("%s%v:\n%.200s\nwant\n%.200s", filepath.Base(name), query[0], got, want)
	}
}

// TestCoordinatesThatWereNeverWrittenTakeTheBudget has coordinates of 512 GiB in a file of some KiB.
func TestCoordinatesThatWereNeverWrittenTakeTheBudget(t *testing.T) {
	name := filepath.Join(t.TempDir(), "x.h5")
	w, err := hdf5write.Create(name, hdf5write.CreateOptions{NoSync: true})
	if err != nil {
		t.Fatal(err)
	}
	defer w.Abort()
	d, err := w.CreateDataset("/time", dtype.Int64, []int{1 << 36}, hdf5write.Layout{Chunks: []int{1 << 20}})
	if err != nil {
		t.Fatal(err)
	}
	if err := errors.Join(d.Close(), w.SetAttr("/time", "CLASS", "DIMENSION_SCALE"), w.Close()); err != nil {
		t.Fatal(err)
	}
	file, err := open(t.Context(), name)
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	var beyond *storage.BudgetError
	if _, err := datafiles.Find(file, "/time[time=3]"); !errors.As(err, &beyond) {
		t.Errorf("the error is %v", err)
	}
}
