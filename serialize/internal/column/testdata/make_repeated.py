"""Writes repeated.feather, repeated.arrows and repeated.parquet: tables of which two columns and a member of a struct have one
name, and a column without values.

    python3 make_repeated.py     # needs pyarrow
"""
import os
import pyarrow as pa, pyarrow.feather as feather, pyarrow.parquet as pq

path = lambda name: os.path.join(os.path.dirname(os.path.abspath(__file__)), name)
arrays = [pa.array([1, 2, 3]), pa.array([1.5, None, 3]), pa.array(["a", "b", None]), pa.array([{"y": 7}, {"y": 8}, {"y": 9}]), pa.nulls(3), pa.array([b"\xff\x00b", b"", None])]
table = pa.Table.from_arrays(arrays, names=["x", "x", "x.y", "x", "none", "bytes"])
feather.write_feather(table, path("repeated.feather"), compression="uncompressed")
with pa.ipc.new_stream(path("repeated.arrows"), table.schema) as w:
    w.write_table(table, 2)
pq.write_table(table, path("repeated.parquet"))
