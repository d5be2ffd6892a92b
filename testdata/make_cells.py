"""Makes cells.h5ad, a file of AnnData with each of its encodings, and cells.npz, what anndata
reads from it. Needs anndata and scipy: python3 make_cells.py cells.h5ad cells.npz
"""
import sys

import anndata
import numpy as np
import pandas as pd
import scipy.sparse as sparse

X = sparse.random(6, 5, 0.4, format="csr", dtype="f4", random_state=1)
rng = np.random.default_rng(0)
obs = pd.DataFrame(
    {
        "cell type": pd.Categorical(["B", "T", "B", None, "NK", "T"]),
        "n": [1, 2, 3, 4, 5, 6],
        "score": [0.1, 0.2, 0.3, 0.4, 0.5, 0.6],
        "flag": [True, False, True, True, False, True],
        "name": ["a", "b", "ü", "d", "e", ""],
        "nullable": pd.array([1, None, 3, 4, 5, 6], dtype="Int64"),
        "whole": pd.array([1, 2, 3, 4, 5, 6], dtype="Int32"),
        "maybe": pd.array([True, None, False, True, True, True], dtype="boolean"),
        "batch": pd.Categorical([10, 20, 10, 20, 10, 20]),
        "dose": pd.Categorical([0.5, 0.5, None, 1.5, 1.5, 0.5]),
    },
    index=[f"cell{i}" for i in range(6)],
)
cells = anndata.AnnData(
    X,
    obs=obs,
    var=pd.DataFrame({"gene": list("vwxyz")}, index=[f"g{i}" for i in range(5)]),
    layers={"columns": sparse.csc_matrix(X), "dense": X.toarray().astype("f8"), "empty": sparse.csr_matrix((6, 5), dtype="i4")},
    obsm={"X_pca": rng.random((6, 2))},
    obsp={"distances": sparse.random(6, 6, 0.3, format="csc", random_state=2)},
    uns={"method": "umap", "params": {"k": 15, "names": np.array(["p", "q"])}},
)
cells.write_h5ad(sys.argv[1])

read = anndata.read_h5ad(sys.argv[1])
want = {
    "X": read.X.toarray(),
    "layers/columns": read.layers["columns"].toarray(),
    "layers/dense": read.layers["dense"],
    "layers/empty": read.layers["empty"].toarray(),
    "obsm/X_pca": read.obsm["X_pca"],
    "obsp/distances": read.obsp["distances"].toarray(),
    "uns/params/k": read.uns["params"]["k"],
}
for name in ["n", "score", "flag", "whole"]:
    want["obs/" + name] = read.obs[name].to_numpy()
for name in ["nullable", "maybe"]:
    want["obs/" + name] = read.obs[name].to_numpy("f8", na_value=np.nan)
for name in ["batch", "dose"]:
    want["obs/" + name] = np.asarray(read.obs[name])
np.savez(sys.argv[2], **want)
