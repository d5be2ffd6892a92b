"""Writes the files of this folder with pyarrow.

    python3 make.py         # needs pyarrow
"""
import json, os
import numpy as np, pyarrow as pa, pyarrow.feather as feather

here = os.path.dirname(os.path.abspath(__file__))
path = lambda *names: os.path.join(here, *names)
n = 40
columns = {t: pa.array((np.arange(n) * 7 % 23).astype(t)) for t in ["uint8", "uint16", "uint32", "uint64", "int8", "int16", "int32", "int64", "float16", "float32", "float64"]}
columns["bool"] = pa.array([i % 3 == 0 for i in range(n)])
columns["größe"] = pa.array([["a", "größe", ""][i % 3] for i in range(n)])
columns["large"] = pa.array([str(i) for i in range(n)], pa.large_string())
columns["gaps"] = pa.array([None if i % 4 == 0 else i / 2 for i in range(n)], pa.float64())
columns["half gaps"] = pa.array([None if i % 4 == 0 else np.float16(i / 2) for i in range(n)], pa.float16())
columns["text gaps"] = pa.array([None if i % 5 == 0 else str(i) for i in range(n)])
columns["words"] = pa.array([None if i % 7 == 0 else "word %d" % (i % 3) for i in range(n)]).dictionary_encode()
columns["codes"] = pa.DictionaryArray.from_arrays(pa.array([i % 3 for i in range(n)], pa.uint8()), pa.array([5, -6, 7], pa.int16()))
expected = {name: [None if v is None else float(v) if not isinstance(v, str) else v for v in column.to_pylist()] for name, column in columns.items()}
json.dump(expected, open(path("expected.json"), "w"), indent=0, ensure_ascii=False)
table = pa.table(columns).replace_schema_metadata({"author": "größe"})


def write(name, table, new=pa.ipc.new_file, rows=17, **options):
    with new(path(name), table.schema, options=pa.ipc.IpcWriteOptions(**options)) as w:
        w.write_table(table, max_chunksize=rows)


write("one.arrow", table, rows=n)
write("batches.arrow", table)
write("lz4.arrow", table, compression="lz4")
write("stream.arrows", table, pa.ipc.new_stream)
write("legacy.arrow", table, use_legacy_format=True, metadata_version=pa.ipc.MetadataVersion.V4)
feather.write_feather(table, path("zstd.feather"), compression="zstd", chunksize=17)
parts = [pa.array(["a", "b"]), pa.array(["a", "b", "c"]), pa.array(["x"])]
batches = [pa.record_batch({"words": pa.DictionaryArray.from_arrays(pa.array([len(p) - 1, 0], pa.int8()), p)}) for p in parts]
with pa.ipc.new_stream(path("deltas.arrows"), batches[0].schema, options=pa.ipc.IpcWriteOptions(emit_dictionary_deltas=True)) as w:
    for batch in batches:
        w.write_batch(batch)
k = 2
odd = pa.table({"null": pa.nulls(k), "list": pa.array([[1, 2], [3]]), "struct": pa.array([{"a": 1, "b": "x"}, {"a": 3, "b": "y"}]),
                "decimal": pa.array([1, 2]).cast(pa.decimal128(30, 2)), "time": pa.array([1, 2], pa.timestamp("us")), "date": pa.array([1, 2], pa.date32()),
                "binary": pa.array([b"x", b"y"]), "fixed": pa.array([b"x", b"y"], pa.binary(1)), "fixed list": pa.array([[1, 2], [3, 4]], pa.list_(pa.int8(), 2)),
                "views": pa.array(["a string of more than twelve bytes", "b"], pa.string_view()), "map": pa.array([[("a", 1)], []], pa.map_(pa.string(), pa.int8())),
                "sparse": pa.UnionArray.from_sparse(pa.array([0, 1], pa.int8()), [pa.array([1, 2]), pa.array(["a", "b"])]),
                "dense": pa.UnionArray.from_dense(pa.array([0, 1], pa.int8()), pa.array([0, 0], pa.int32()), [pa.array([1]), pa.array(["b"])]),
                "runs": pa.RunEndEncodedArray.from_arrays(pa.array([2], pa.int32()), pa.array([7])), "list view": pa.array([[1], [2]], pa.list_view(pa.int8())),
                "dictionary of binary": pa.array([b"x", b"y"]).dictionary_encode(), "integer gaps": pa.array([1, None]), "x": pa.array([1, 2])})
write("odd.arrow", odd)
times = {"date32": pa.array([1, None, -3], pa.date32()), "s": pa.array([1, None, -3], pa.timestamp("s")), "ms": pa.array([1, None, -3], pa.timestamp("ms", "Europe/Paris")),
         "us": pa.array([1, None, -3], pa.timestamp("us")), "ns": pa.array([1, None, -3], pa.timestamp("ns")), "time s": pa.array([1, None, 3], pa.time32("s")),
         "time ms": pa.array([1, None, 3], pa.time32("ms")), "time us": pa.array([1, None, 3], pa.time64("us")), "time ns": pa.array([1, None, 3], pa.time64("ns")),
         "words": pa.array(["a string of more than twelve bytes", None, "größe"]).dictionary_encode()}
times |= {"date64": pa.array([86400000, None, 0], pa.date64()), "duration": pa.array([1, None, -3], pa.duration("us")), "seconds": pa.array([1, None, -3], pa.duration("s")),
          "views": pa.array(["a string of more than twelve bytes", None, "größe"], pa.string_view()), "coded times": pa.array([5, None, 5], pa.timestamp("ms")).dictionary_encode()}
write("times.arrow", pa.table(times))
write("times_zstd.arrow", pa.table(times), compression="zstd", rows=2)

# Files in long are no seeds of FuzzOpen. Element i of their columns is a formula of i, so that TestLongCompressedColumns needs no file of
# what to expect; every seventh is missing in those with gaps.
def long(n):
    i = np.arange(n)
    gap = i % 7 == 3
    words = np.array(["word %d is longer than twelve bytes, so that views refer to it" % k for k in range(10)], object)[i % 10]
    columns = {"number": pa.array(i % 10), "number gaps": pa.array(i % 10, mask=gap), "small gaps": pa.array((i % 10).astype(np.int8), mask=gap), "bool": pa.array(i % 3 == 0),
               "bool gaps": pa.array(i % 3 == 0, mask=gap), "day": pa.array((i % 10).astype(np.int32), pa.date32()), "code gaps": pa.array(words, mask=gap).dictionary_encode()}
    texts = {"text": pa.array(words), "text gaps": pa.array(words, mask=gap), "views": pa.array(words).cast(pa.string_view())}
    return columns, texts


write("long/lz4.arrow", pa.table(long(150_000)[0]), rows=150_000, compression="lz4")
write("long/zstd.arrow", pa.table(long(35_000)[0] | long(35_000)[1]), rows=35_000, compression="zstd")
n = 16 << 20
write("long/zeros.arrow", pa.table({"x": pa.array(np.zeros(n)), "y": pa.array(np.ones(n))}), rows=n, compression="zstd")
