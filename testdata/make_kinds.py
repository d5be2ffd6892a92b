"""Writes kinds/*: small files as programs of several fields write them, for h5dnn init.

python make_kinds.py; needs h5py, anndata, pandas with tables, scipy and netCDF4.
"""
import json
import os

import anndata
import h5py
import netCDF4
import numpy as np
import pandas as pd

folder = os.path.join(os.path.dirname(os.path.abspath(__file__)), "kinds")
os.makedirs(folder, exist_ok=True)
rng = np.random.default_rng(7)
text = h5py.string_dtype()


def create(name):
    return h5py.File(os.path.join(folder, name), "w", libver="latest")


def waves(n, channels, samples, period):
    """n signals of channels whose frequency depends on period, one for each."""
    t = np.arange(samples)
    phase = rng.uniform(0, 6, (n, channels, 1))
    return np.sin(t / np.asarray(period).reshape(-1, 1, 1) + phase) + 0.05 * rng.standard_normal((n, channels, samples))


def store(f, path, data, **attrs):
    d = f.create_dataset(path, data=data, **({"compression": 9, "shuffle": True} if np.ndim(data) > 1 else {}))
    d.attrs.update(attrs)
    return d


# Cells by genes, as scanpy writes them: barcodes, a cell type, a donor, a batch, a count.
n = 60
kinds = np.array(["B cell", "NK cell", "T cell"])[np.arange(n) * 7 % 3]
counts = rng.poisson(1 + 4 * (np.arange(12) % 3 == (np.arange(n) * 7 % 3)[:, None])).astype(np.float32)
obs = pd.DataFrame({
    "n_counts": counts.sum(1), "donor": pd.Categorical([f"D{k % 5}" for k in range(n)]),
    "cell_type": pd.Categorical(kinds), "batch": pd.Categorical(["b1"] * 30 + ["b2"] * 30),
}, index=[f"AAAC{k:04d}-1" for k in range(n)])
anndata.AnnData(counts, obs=obs, var=pd.DataFrame(index=[f"gene{k}" for k in range(12)])).write_h5ad(os.path.join(folder, "cells.h5ad"))

# An ECG of 12 leads, samples first, with patients and stratified folds, as PTB-XL's.
with create("ecg.h5") as f:
    label = np.arange(60) % 3
    store(f, "ecg", np.round(50 * waves(60, 3, 100, 3 + 2 * label).transpose(0, 2, 1)).astype(np.int16), units="uV", sampling_rate=100)
    store(f, "patient_id", np.repeat(np.arange(30) * 17 + 5, 2))
    store(f, "strat_fold", np.repeat(np.arange(30) % 10 + 1, 2).astype(np.uint8))
    store(f, "diagnosis", np.array(["AFIB", "MI", "NORM"], "S")[label])

# Epochs of an EEG, as MNE's arrays: channels first, events with a code, names of events.
with create("eeg.h5") as f:
    code = np.where(np.arange(48) % 2, 2, 1)
    store(f, "epochs/data", (np.round(20 * waves(48, 4, 64, 2 + 3 * code)) * 1e-6).astype(np.float32))
    store(f, "epochs/events", np.stack([np.cumsum(rng.integers(300, 400, 48)), np.zeros(48, int), code], 1))
    f["epochs/ch_names"] = np.array(["Fz", "Cz", "Pz", "Oz"], object)
    f["epochs"].attrs.update({"sfreq": 250.0, "event_id": json.dumps({"left": 1, "right": 2})})

# Demonstrations of robomimic with a mask of validation.
with create("robot.hdf5") as f:
    f.create_group("data").attrs["env_args"] = json.dumps({"env_name": "Lift"})
    for k in range(8):
        g, n = f.create_group(f"data/demo_{k}"), 6 + k
        g.attrs["num_samples"] = n
        object_, arm = rng.standard_normal((n, 4)).astype(np.float32), rng.standard_normal((n, 3)).astype(np.float32)
        g["obs/object"], g["obs/robot0_eef_pos"] = object_, arm
        g["next_obs/object"], g["next_obs/robot0_eef_pos"] = object_, arm
        g["actions"] = (object_[:, :3] - arm).astype(np.float32)
        g["rewards"], g["dones"] = np.zeros(n), (np.arange(n) == n - 1).astype(np.int64)
    names = [f"demo_{k}" for k in range(8)]
    f["mask/train"], f["mask/valid"] = np.array(names[:6], "S"), np.array(names[6:], "S")

# Weather on a grid over time, packed, as the Copernicus store sends it.
with netCDF4.Dataset(os.path.join(folder, "weather.nc"), "w") as f:
    for name, values, unit in (("time", np.arange(0, 480, 6), "hours since 2020-01-01"), ("latitude", np.linspace(60, 50, 8), "degrees_north"), ("longitude", np.linspace(0, 20, 10), "degrees_east")):
        f.createDimension(name, None if name == "time" else len(values))
        v = f.createVariable(name, "f4", (name,))
        v.units, v[:] = unit, values
    t = f.createVariable("t2m", "i2", ("time", "latitude", "longitude"), fill_value=-32767, zlib=True)
    t.scale_factor, t.add_offset, t.units, t.long_name = 0.01, 280.0, "K", "2 metre temperature"
    t[:] = 280 + 8 * np.sin(np.arange(80) / 4)[:, None, None] + rng.standard_normal((8, 10)) + 0.3 * rng.standard_normal((80, 1, 1))

# Diffraction patterns with phases, as NeXus: NXdata with a signal and its axes.
with create("diffraction.nxs") as f:
    phase = np.arange(50) % 2
    angle = np.linspace(10, 60, 120)
    peaks = np.exp(-((angle - np.array([25, 40])[phase][:, None]) ** 2) / 4)
    entry = f.create_group("entry")
    entry.attrs["NX_class"], f.attrs["default"] = "NXentry", "entry"
    data = entry.create_group("data")
    data.attrs.update({"NX_class": "NXdata", "signal": "intensity", "axes": ["sample", "two_theta"]})
    store(data, "intensity", rng.poisson(5 + 200 * peaks).astype(np.int32), units="counts")
    store(data, "intensity_errors", np.sqrt(5 + 200 * peaks).astype(np.float32))
    data["sample"], data["two_theta"] = np.arange(50), angle
    sample = entry.create_group("sample")
    sample.attrs["NX_class"] = "NXsample"
    sample.create_dataset("phase", data=np.array(["anatase", "rutile"], object)[phase], dtype=text)

# Images of patients with a fold for each, and a rare diagnosis.
with create("lesions.h5") as f:
    rare = (np.arange(72) // 3 % 8 == 0).astype(np.uint8)
    store(f, "images", (rng.integers(60, 64, (72, 16, 16, 3)) + 90 * rare[:, None, None, None]).astype(np.uint8))
    store(f, "image_id", np.array([f"ISIC_{k:07d}" for k in rng.permutation(72)], "S"))
    store(f, "patient", np.array([f"IP_{k // 3}" for k in range(72)], "S"))
    store(f, "age", rng.integers(20, 90, 72).astype(np.float32))
    store(f, "melanoma", rare)

# Events of a collider as a table of records with numbers of events, runs and weights.
events = np.zeros(80, [("event", "i8"), ("run", "i4"), ("weight", "f4"), ("jet_pt", "f4"), ("jet_eta", "f4"), ("met", "f4"), ("n_jets", "i4"), ("year", "i4"), ("is_signal", "i4")])
events["event"] = rng.permutation(100000)[:80]
events["run"], events["weight"], events["year"] = 358031 + np.arange(80) // 20, rng.uniform(0.5, 1.5, 80), 2018
events["is_signal"] = rng.integers(0, 2, 80)
for column, scale in (("jet_pt", 60), ("jet_eta", 2), ("met", 40)):
    events[column] = scale * (rng.standard_normal(80) + events["is_signal"])
events["n_jets"] = rng.poisson(3, 80)
with create("collider.h5") as f:
    f.create_dataset("events", data=events, compression=9)

# A table of pandas (PyTables), with a missing value.
houses = pd.DataFrame({"rooms": rng.integers(2, 9, 60).astype(float), "area": rng.uniform(40, 200, 60), "lat": rng.uniform(33, 42, 60)})
houses["price"] = 1000 * houses["area"] + 5000 * houses["rooms"]
houses.loc[7, "area"] = np.nan
houses.to_hdf(os.path.join(folder, "houses.h5"), key="houses", format="table", data_columns=True, index=False, complevel=9)

# Utterances: padded frames of features, their lengths, speakers and transcripts.
with create("speech.h5") as f:
    speaker = np.arange(40) % 4
    length = rng.integers(20, 30, 40)
    frames = np.round(8 * waves(40, 12, 30, 2 + speaker)).transpose(0, 2, 1)
    store(f, "features", (frames * (np.arange(30)[None, :, None] < length[:, None, None])).astype(np.float16))
    store(f, "lengths", length)
    f.create_dataset("speaker_id", data=np.array([103, 1034, 1040, 1069])[speaker])
    f.create_dataset("transcript", data=np.array([f"UTTERANCE NUMBER {k}" for k in range(40)], object), dtype=text)

# Cells and their masks.
with create("nuclei.h5") as f:
    centre = rng.integers(4, 12, (24, 2, 1, 1))
    y, x = np.mgrid[:16, :16]
    mask = ((x - centre[:, 0]) ** 2 + (y - centre[:, 1]) ** 2 < 12)
    store(f, "train/images", (60 + 120 * mask + rng.integers(0, 30, (24, 16, 16))).astype(np.uint8))
    store(f, "train/masks", (255 * mask).astype(np.uint8))
    store(f, "val/images", (60 + 120 * mask[:6] + rng.integers(0, 30, (6, 16, 16))).astype(np.uint8))
    store(f, "val/masks", (255 * mask[:6]).astype(np.uint8))

# Radiographs with fourteen findings, as ChestX-ray14's, and a column that names the split.
with create("chest.h5") as f:
    found = rng.integers(0, 4, (60, 14)) == 0
    store(f, "X", (rng.integers(0, 4, (60, 24, 24)) + 100 * found[:, :1, None]).astype(np.uint8))
    store(f, "findings", found.astype(np.uint8))
    store(f, "split", np.array(["train"] * 40 + ["val"] * 10 + ["test"] * 10, "S"))

# A recording of sensors over time, nothing else.
with create("turbine.h5") as f:
    t = np.arange(400)[:, None]
    store(f, "sensors", np.round(np.sin(t / np.array([5, 9, 14, 20])) + 0.1 * rng.standard_normal((400, 4)), 2).astype(np.float32))
    store(f, "time", np.arange(400) * 0.5, units="s")

# Texts as token numbers.
with create("tokens.h5") as f:
    store(f, "input_ids", rng.integers(0, 30000, (50, 24)).astype(np.int32))
    store(f, "attention_mask", np.ones((50, 24), np.int8))
    store(f, "labels", (np.arange(50) % 2).astype(np.int64))

# A stack of Imaris: levels of resolution, channels and slices, without targets.
with create("stack.ims") as f:
    f.attrs["ImarisDataSet"] = np.frombuffer(b"ImarisDataSet", "S1")
    f.create_group("DataSetInfo/Image").attrs["X"] = np.frombuffer(b"32", "S1")
    for level in range(2):
        for channel in range(2):
            store(f, f"DataSet/ResolutionLevel {level}/TimePoint 0/Channel {channel}/Data", rng.integers(0, 255, (6, 16 >> level, 16 >> level)).astype(np.uint8))
    store(f, "Thumbnail/Data", rng.integers(0, 255, (16, 64)).astype(np.uint8))

# Meshes and particles of a simulation, as openPMD's.
with create("plasma.h5") as f:
    f.attrs.update({"openPMD": "1.1.0", "basePath": "/data/%T/", "meshesPath": "fields/", "particlesPath": "particles/"})
    for step in (0, 100, 200):
        g = f.create_group(f"data/{step}")
        for axis in "xyz":
            g[f"fields/E/{axis}"] = rng.standard_normal((8, 8)).astype(np.float32)
            g[f"particles/electrons/momentum/{axis}"] = rng.standard_normal(20).astype(np.float32)
        g["particles/electrons/weighting"], g["particles/electrons/id"] = np.ones(20, np.float32), np.arange(20)

# A hyperspectral cube with the classes of its pixels, as the scenes of Indian Pines.
with create("pines.h5") as f:
    truth = np.repeat(np.repeat(np.arange(9).reshape(3, 3), 4, 0), 4, 1)
    store(f, "cube", (1000 + 100 * truth[..., None] + np.arange(20) * 10 + rng.integers(0, 20, (12, 12, 20))).astype(np.int16))
    store(f, "gt", truth.astype(np.uint8))

# Identifiers, a constant and row numbers only.
with create("rows.h5") as f:
    store(f, "id", rng.permutation(50) + 1000)
    store(f, "name", np.array([f"row {k}" for k in range(50)], "S"))
    store(f, "label", np.full(50, 3))
    store(f, "number", np.arange(50))

# MATLAB's habit: features and labels as float64, the labels as a column that counts from 1.
with create("matlab.h5") as f:
    label = np.arange(60) % 3
    store(f, "X", rng.standard_normal((60, 4)) + label[:, None])
    store(f, "Y", (label + 1.0)[:, None])

# Keras's habit.
label = {side: np.arange(n) % 4 for side, n in (("train", 64), ("test", 16))}
np.savez_compressed(os.path.join(folder, "mnist.npz"), **{k: v for side, y in label.items() for k, v in (
    (f"x_{side}", (50 * y[:, None, None] + rng.integers(0, 40, (len(y), 12, 12))).astype(np.uint8)), (f"y_{side}", y.astype(np.uint8)))})
