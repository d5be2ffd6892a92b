"""Writes episodes.h5: data as robots, sensors and tables leave it.

data/demo_N  episodes of different lengths, as robomimic has them: actions = obs/pose @ [[1, 0], [0, 2], [1, -1]]
mask         which episodes are for training, which to validate on
ragged       row k is k % 7 numbers, k + 100 * i the i-th: of variable length, and as values and offsets; kind = k % 7 > 3
csr          a sparse matrix, and the same dense
table        x and y, with a mask, a list, a fold and a word for each row
"""

import h5py
import numpy as np

with h5py.File("episodes.h5", "w", libver="earliest", track_order=False) as f:
    weights = np.array([[1, 0], [0, 2], [1, -1]], "f4")
    random = np.random.default_rng(1)
    for n in range(12):
        demo = f.create_group(f"data/demo_{n}")
        steps = 5 + 3 * (n % 4)
        pose = random.standard_normal((steps, 3)).astype("f4")
        pose[:, 0] = n + np.arange(steps) / 100  # which says where a row comes from
        demo["obs/pose"], demo["actions"] = pose, pose @ weights
        demo["dones"] = (np.arange(steps) == steps - 1).astype("u1")
        demo.attrs["num_samples"], demo.attrs["split"] = steps, "valid" if n in (3, 10) else "train"
    f["mask/train"] = np.array([f"demo_{n}" for n in range(12) if n not in (2, 11)], "S")
    f["mask/valid"] = np.array(["demo_2", "demo_11"], "S")

    rows = [np.array([k + 100 * i for i in range(k % 7)], "i4") for k in range(50)]
    vlen = f.create_dataset("ragged/rows", (50,), h5py.vlen_dtype("i4"), chunks=(8,))
    for k, row in enumerate(rows):
        vlen[k] = row
    f.create_dataset("ragged/values", data=np.concatenate(rows), chunks=(16,), compression="gzip")
    f["ragged/offsets"] = np.cumsum([0] + [len(row) for row in rows])
    f["ragged/kind"] = np.array([k % 7 > 3 for k in range(50)], "u1")

    dense = np.where(random.random((20, 9)) < 0.3, random.integers(1, 100, (20, 9)), 0).astype("f4")
    f["csr/dense"], f["csr/data"] = dense, dense[dense != 0]
    f["csr/indices"] = np.nonzero(dense)[1].astype("i4")
    f["csr/indptr"] = np.cumsum([0] + [np.count_nonzero(row) for row in dense]).astype("i4")

    k = np.arange(60)
    f["table/x"], f["table/y"] = np.stack([k, k % 2 * 50], 1).astype("f4"), (k % 2).astype("u1")
    f["table/good"], f["table/fold"] = k % 5 != 0, (k % 6).astype("u1")
    f["table/chosen"] = np.array([58, 3, 4, 20, 31])
    f["table/split"] = np.array(["val" if i % 10 == 7 else "train" for i in k], "S")
    f["table/x"].attrs["val_rows"] = np.array([0, 1, 59])
