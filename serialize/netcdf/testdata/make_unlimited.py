"""Writes unlimited.nc with netCDF4: variables of one unlimited dimension that are written to different
lengths, of which libnetcdf shows each as long as the longest.

    python3 make_unlimited.py
"""
import os

import netCDF4
import numpy as np

here = os.path.dirname(os.path.abspath(__file__))
with netCDF4.Dataset(os.path.join(here, "unlimited.nc"), "w") as f:
    f.createDimension("time", None)
    f.createDimension("x", 2)
    f.createDimension("late", None)
    f.createVariable("long", "i4", ("time",))[:] = np.arange(5)
    f.createVariable("short", "i2", ("time", "x"))[:] = [[1, 2], [3, 4]]
    f.createVariable("big", ">f4", ("time",), fill_value=np.float32(-1))[:] = [1, 2, 3]
    f.createVariable("plain", "f8", ("time",), fill_value=False)[:] = [1, 2]
    f.createVariable("unwritten", "i1", ("x", "time"))
    f.createVariable("across", "i4", ("x", "late"))[:] = [[1], [2]]
    f.createVariable("wide", "i4", ("late",))[:] = [1, 2, 3]
with netCDF4.Dataset(os.path.join(here, "unlimited.nc")) as f:
    f.set_auto_maskandscale(False)
    for name, v in f.variables.items():
        print(name, v.dtype, v.shape, v[:].ravel().tolist())
