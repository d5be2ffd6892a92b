"""Writes tables with lists and structs, as Parquet and Arrow, and what they hold.

    python3 make_nested.py         # needs pyarrow
"""
import json, os
import pyarrow as pa, pyarrow.feather as feather, pyarrow.parquet as pq

here = os.path.dirname(os.path.abspath(__file__))
path = lambda *names: os.path.join(here, *names)
n = 50
rows = range(n)
gaps = lambda of, every: [None if i % every == 2 else of(i) for i in rows]
point = pa.struct([("x", pa.float64()), ("y", pa.int32()), ("inner", pa.struct([("z", pa.int64()), ("s", pa.string())]))])
table = pa.table({
    "fixed": pa.array([[i, i + 1, i + 2] for i in rows], pa.list_(pa.float32(), 3)),
    "fixed gaps": pa.array(gaps(lambda i: [i, None if i % 5 == 0 else i * 2], 4), pa.list_(pa.int32(), 2)),
    "even": pa.array([[i, -i] for i in rows], pa.list_(pa.int64())),
    "even gaps": pa.array(gaps(lambda i: [i, None if i % 7 == 0 else -i, 3], 5), pa.list_(pa.int64())),
    "ragged": pa.array([list(range(i % 4)) for i in rows], pa.list_(pa.uint8())),
    "ragged gaps": pa.array(gaps(lambda i: [None if j == 1 else j + 0.5 for j in range(i % 4)], 6), pa.large_list(pa.float64())),
    "words": pa.array([["w%d" % j for j in range(i % 3)] for i in rows], pa.list_(pa.string())),
    "point": pa.array(gaps(lambda i: {"x": i * 0.5, "y": None if i % 3 == 0 else i, "inner": None if i % 4 == 0 else {"z": i, "s": "t%d" % i}}, 5), point),
    "boxes": pa.array([[{"a": j, "b": "b%d" % i} for j in range(i % 3)] for i in rows], pa.list_(pa.struct([("a", pa.int32()), ("b", pa.string())]))),
    "map": pa.array([[("k%d" % j, j) for j in range(i % 3)] for i in rows], pa.map_(pa.string(), pa.int32())),
    "deep": pa.array([[[1, 2], [3]] for i in rows], pa.list_(pa.list_(pa.int32()))),
    "codes": pa.array([100 * (i % 5) for i in rows], pa.int32()).dictionary_encode(),
    "last": pa.array(rows, pa.int64()),
})




def arrays(name, values, typ):
    """The arrays that h5dnn reads a column as: (name, shape, elements)."""
    if pa.types.is_struct(typ):
        for field in typ:
            yield from arrays(name + "." + field.name, [None if v is None else v[field.name] for v in values], field.type)
    elif pa.types.is_map(typ):
        for k, part in enumerate(["key", "value"]):
            yield from arrays(name + "." + part, [[x[k] for x in v] for v in values], pa.list_([typ.key_type, typ.item_type][k]))
    elif pa.types.is_nested(typ) and pa.types.is_struct(typ.value_type):
        for field in typ.value_type:
            yield from arrays(name + "." + field.name, [[x[field.name] for x in v] for v in values], pa.list_(field.type))
    elif pa.types.is_nested(typ) and pa.types.is_nested(typ.value_type):
        return  # lists of lists are not read
    elif pa.types.is_nested(typ):
        lengths = {len(v) for v in values if v is not None}
        if len(lengths) == 1:
            length = lengths.pop()
            yield name, [n, length], [x for v in values for x in (v if v is not None else [None] * length)]
            return
        ends = [0]
        for v in values:
            ends.append(ends[-1] + len(v or []))
        yield name + "/values", [ends[-1]], [x for v in values for x in v or []]
        yield name + "/offsets", [n + 1], ends
        if None in values:
            yield name + "/missing", [n], [float(v is None) for v in values]
    else:
        yield name, [n], values


expected = {}
for field in table.schema:
    for name, shape, elements in arrays(field.name, table[field.name].to_pylist(), field.type):
        expected[name] = {"shape": shape, "values": [v if v is None or isinstance(v, str) else float(v) for v in elements]}
json.dump(expected, open(path("nested.json"), "w"), ensure_ascii=False)
pq.write_table(table, path("nested1.parquet"), row_group_size=17)
pq.write_table(table, path("nested2.parquet"), data_page_version="2.0", compression="zstd", data_page_size=32, use_dictionary=False)
# Fields that are null hide values that are not.
hidden = pa.FixedSizeListArray.from_arrays(pa.array([float(i) for i in range(2 * n)], pa.float32()), 2, mask=pa.array([i % 3 == 0 for i in rows]))
slices = pa.ListArray.from_arrays(pa.array([3 + 2 * i for i in range(n + 1)], pa.int32()), pa.array([float(i) for i in range(2 * n + 9)]), mask=pa.array([i % 4 == 0 for i in rows]))
masked = pa.table({"hidden": hidden, "slices": slices})
json.dump({name: {"shape": shape, "values": values} for field in masked.schema for name, shape, values in arrays(field.name, masked[field.name].to_pylist(), field.type)}, open(path("hidden.json"), "w"))
for name, t in [("nested", table), ("hidden", masked)]:
    feather.write_feather(t, path(name + ".feather"), compression="uncompressed", chunksize=n)
    feather.write_feather(t, path(name + "_zstd.feather"), compression="zstd", chunksize=13)
    with pa.ipc.new_stream(path(name + ".arrows"), t.schema) as w:
        w.write_table(t, 20)
