"""Makes climate.nc, a NetCDF-4 file with packed variables and named dimensions, and climate.npz,
what xarray reads from it. Needs netCDF4 and xarray: python3 make_climate.py climate.nc climate.npz
"""
import sys

import netCDF4
import numpy as np
import xarray

with netCDF4.Dataset(sys.argv[1], "w") as f:
    f.title = "a small climate"
    f.createDimension("time", None)
    for name, n in {"lat": 3, "lon": 2, "station": 2, "length": 4}.items():
        f.createDimension(name, n)
    time = f.createVariable("time", "i4", ("time",))
    time.units, time.calendar = "days since 2000-01-01", "standard"
    time[:] = range(4)
    f.createVariable("lat", "f4", ("lat",))[:] = [-45, 0, 45]
    f.createVariable("lon", "f4", ("lon",))[:] = [0, 180]
    grid = np.arange(24).reshape(4, 3, 2)

    def packed(name, kind, dims, values, fill=None, group=f, chunks=None, **attrs):
        v = group.createVariable(name, kind, dims, fill_value=fill, chunksizes=chunks, zlib=chunks is not None)
        v.set_auto_maskandscale(False)
        v.setncatts(attrs)
        v[:] = values
        return v

    t = np.where(grid % 7 == 3, -32767, grid * 100).astype("i2")
    packed("temperature", "i2", ("time", "lat", "lon"), t, -32767, chunks=(2, 3, 2), scale_factor=0.01, add_offset=273.15, units="K")
    packed("single", "i2", ("time", "lat", "lon"), t, -32767, scale_factor=np.float32(0.01), add_offset=np.float32(273.15))
    packed("wide", "i4", ("time", "lat", "lon"), grid, scale_factor=np.float32(0.1), add_offset=np.float32(-1))
    packed("scaled", "i2", ("lat", "lon"), [[1, 2], [3, 4], [5, 6]], scale_factor=np.float32(0.1))
    packed("shifted", "f4", ("lat", "lon"), [[1, 2], [3, -999], [5, 6]], np.float32(-999), add_offset=np.float32(0.3))
    packed("bytes", "i1", ("lat", "lon"), np.array([[1, -1], [-128, 127], [-2, 0]], "i1"), np.int8(-2), _Unsigned="true", scale_factor=np.float32(0.5))
    packed("unsigned", "i1", ("lat", "lon"), np.array([[1, -1], [-128, 127], [-2, 0]], "i1"), _Unsigned="true")
    packed("rain", "f4", ("time", "lat", "lon"), np.where(grid == 5, -9999, grid), np.float32(-9999), missing_value=np.float32(7))
    packed("count", "i4", ("time",), [1, 2, -1, 4], missing_value=np.int32(-1))
    packed("small", "i2", ("time",), [1, 2, -1, 4], -1)
    packed("plain", "f8", ("time",), [1, 2, np.nan, 4], np.nan)
    packed("big", ">i2", ("time",), [100, 200, -1, 400], -1, scale_factor=2.0)
    packed("mask", "i1", ("time",), [1, 0, 0, 1], dtype="bool")
    packed("scalar", "i2", (), 5, scale_factor=0.5)
    name = f.createVariable("name", "S1", ("station", "length"))
    name[:] = netCDF4.stringtochar(np.array(["Oslo", "Rom"], "S4"))
    f.createVariable("label", str, ("station",))[:] = np.array(["über", "b"], object)
    g = f.createGroup("model")
    g.createDimension("level", 2)
    packed("pressure", "i2", ("time", "level"), grid[:, :2, 0], group=g, scale_factor=0.5)
    # A variable called as a dimension whose coordinate it is not.
    packed("station", "i4", ("time",), [7, 8, 9, 10])

want = {}
for group in ["/", "model"]:
    with xarray.open_dataset(sys.argv[1], group=group, decode_times=False) as d:
        for name, v in d.variables.items():
            if v.dtype.kind in "fiub":
                want[(group + "/" + name).strip("/")] = v.values
np.savez(sys.argv[2], **want)
