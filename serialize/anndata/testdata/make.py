"""Makes old07.h5ad and old06.h5ad, in the layouts of anndata 0.7 and 0.6, odd.h5ad, and what
anndata reads from them. Needs anndata, awkward and h5py: python3 make.py
"""
import os

import anndata
import awkward
import h5py
import numpy as np
import pandas as pd
import scipy.sparse as sparse

os.chdir(os.path.dirname(os.path.abspath(__file__)))
text = h5py.string_dtype()
X = sparse.random(4, 3, 0.5, format="csr", dtype="f4", random_state=1)


def names(prefix, n):
    return [f"{prefix}{i}" for i in range(n)]


with h5py.File("old07.h5ad", "w") as f:
    g = f.create_group("X")
    g.attrs.update({"encoding-type": "csr_matrix", "encoding-version": "0.1.0", "shape": X.shape})
    for part in ["data", "indices", "indptr"]:
        g[part] = getattr(X, part)
    obs, var = f.create_group("obs"), f.create_group("var")
    for g, index, columns in [(obs, "index", ["n", "kind", "dose"]), (var, "_index", [])]:
        g.attrs.update({"encoding-type": "dataframe", "encoding-version": "0.1.0", "_index": index})
        g.attrs["column-order"] = np.array(columns, dtype=text) if columns else np.array([], "f8")
    obs["index"] = np.array(names("cell", 4), dtype=text)
    var["_index"] = np.array(names("gene", 3), dtype=text)
    obs["n"] = np.arange(4)
    for column, codes, categories in [("kind", [0, 1, -1, 0], np.array(["B", "T"], dtype=text)), ("dose", [0, 1, 1, 0], np.array([5, 10]))]:
        obs[column] = np.array(codes, "i1")
        obs["__categories/" + column] = categories
        obs["__categories/" + column].attrs["ordered"] = False
        obs[column].attrs["categories"] = obs["__categories/" + column].ref
    f.create_group("uns")
with h5py.File("old06.h5ad", "w") as f:
    g = f.create_group("X")
    g.attrs.update({"h5sparse_format": "csr", "h5sparse_shape": X.shape})
    for part in ["data", "indices", "indptr"]:
        g[part] = getattr(X, part)
    f["obs"] = np.array([(n.encode(), i) for i, n in enumerate(names("cell", 4))], dtype=[("index", "S5"), ("n", "i8")])
    f["var"] = np.array([(n.encode(),) for n in names("gene", 3)], dtype=[("index", "S5")])
    f.create_group("uns")

twice = sparse.csr_matrix((np.array([1, 2, 4, 0.5], "f4"), np.array([1, 0, 1, 2]), np.array([0, 3, 4, 4, 4])), shape=(4, 3))
obs = pd.DataFrame({"gaps": pd.Categorical([7, None, 9, 7]), "wide": pd.array([2**60, 1, 2, None], dtype="Int64")}, index=names("cell", 4))
a = anndata.AnnData(twice, obs=obs, var=pd.DataFrame(index=names("gene", 3)), layers={
    "columns": sparse.csc_matrix((np.array([3, 250], "u1"), np.array([1, 1]), np.array([0, 2, 2, 2])), shape=(4, 3)),
    "bools": sparse.csr_matrix((np.array([True, True]), np.array([1, 1]), np.array([0, 2, 2, 2, 2])), shape=(4, 3))})
a.obsm["ragged"] = awkward.Array([[1], [2, 3], [], [4]])
a.write_h5ad("odd.h5ad")
want = {"old07": (anndata.read_h5ad("old07.h5ad"), ["X", "obs/n", "obs/dose"]), "old06": (anndata.read_h5ad("old06.h5ad"), ["X"]),
        "odd": (anndata.read_h5ad("odd.h5ad"), ["X", "obs/gaps", "layers/columns", "layers/bools"])}
arrays = {}
for file, (read, paths) in want.items():
    for path in paths:
        group, _, name = path.partition("/")
        value = read.X if path == "X" else read.obs[name].astype(float if name == "gaps" else int).to_numpy() if group == "obs" else read.layers[name]
        arrays[file + "/" + path] = value.toarray() if sparse.issparse(value) else value
assert list(read.obs["gaps"].isna()) == [False, True, False, False]
np.savez("expected.npz", **arrays)
