"""Writes the files of this folder with pyarrow.

    python3 make.py         # needs pyarrow
"""
import decimal, json, os
import numpy as np, pyarrow as pa, pyarrow.parquet as pq

here = os.path.dirname(os.path.abspath(__file__))
path = lambda *names: os.path.join(here, *names)
n = 40
columns = {t: pa.array((np.arange(n) * 7 % 23).astype(t)) for t in ["uint8", "uint16", "uint32", "uint64", "int8", "int16", "int32", "int64", "float32", "float64"]}
columns["bool"] = pa.array([i % 3 == 0 for i in range(n)])
columns["größe"] = pa.array([["a", "größe", ""][i % 3] for i in range(n)])
columns["gaps"] = pa.array([None if i % 4 == 0 else i / 2 for i in range(n)], pa.float64())
columns["text gaps"] = pa.array([None if i % 5 == 0 else str(i) for i in range(n)])
expected = {name: [None if v is None else float(v) if not isinstance(v, str) else v for v in column.to_pylist()] for name, column in columns.items()}
json.dump(expected, open(path("expected.json"), "w"), indent=0, ensure_ascii=False)
table = pa.table(columns).replace_schema_metadata({"author": "größe"})
for codec in ["none", "snappy", "gzip", "zstd", "lz4"]:
    pq.write_table(table, path(codec + ".parquet"), compression=codec, row_group_size=17)
pq.write_table(table, path("plain.parquet"), use_dictionary=False, compression="none", data_page_version="2.0")
pq.write_table(table, path("version2.parquet"), data_page_version="2.0", compression="snappy")
odd = pa.table({"list": pa.array([[1, 2], [3]]), "struct": pa.array([{"a": 1, "b": 2.0}, {"a": 3, "b": 4.0}]), "x": pa.array([1, 2]),
                "integer gaps": pa.array([1, None]), "decimal": pa.array([1, 2]).cast(pa.decimal128(30, 2)), "time": pa.array([1, 2], pa.timestamp("us"))})
pq.write_table(odd, path("odd.parquet"))
times = {"date32": pa.array([1, None, -3], pa.date32()), "s": pa.array([1, None, -3], pa.timestamp("s")), "ms": pa.array([1, None, -3], pa.timestamp("ms", "Europe/Paris")),
         "us": pa.array([1, None, -3], pa.timestamp("us")), "ns": pa.array([1, None, -3], pa.timestamp("ns")), "time s": pa.array([1, None, 3], pa.time32("s")),
         "time ms": pa.array([1, None, 3], pa.time32("ms")), "time us": pa.array([1, None, 3], pa.time64("us")), "time ns": pa.array([1, None, 3], pa.time64("ns")),
         "words": pa.array(["a string of more than twelve bytes", None, "größe"]).dictionary_encode()}
pq.write_table(pa.table(times), path("times.parquet"))
pq.write_table(pa.table({"small decimal": pa.array([decimal.Decimal("1.25"), decimal.Decimal("2.50")], pa.decimal128(9, 2)), "x": pa.array([1, 2])}), path("decimal.parquet"), store_decimal_as_integer=True)
# Encodings of version 2, times of Spark, and missing integers of every type.
many = np.arange(200)
encoded = {"int32": pa.array((many * 7919 % 1000 - 500).astype(np.int32)), "int64": pa.array(many * many * many * 1000003 - 2**40), "int8": pa.array((many % 200 - 100).astype(np.int8)),
           "lengths": pa.array(["größe"[: i % 6] for i in many]), "prefixes": pa.array(["abc" * (i % 5) + str(i) for i in many]),
           "float32": pa.array((many / 7).astype(np.float32)), "float64": pa.array(many / 3), "split int32": pa.array(many.astype(np.int32)), "float16": pa.array((many / 8).astype(np.float16)),
           "gaps": pa.array([None if i % 3 == 0 else int(i) for i in many], pa.int32()), "bool gaps": pa.array([None if i % 3 == 0 else i % 2 == 0 for i in many])}
encodings = {"int32": "DELTA_BINARY_PACKED", "int64": "DELTA_BINARY_PACKED", "int8": "DELTA_BINARY_PACKED", "gaps": "DELTA_BINARY_PACKED", "lengths": "DELTA_LENGTH_BYTE_ARRAY", "prefixes": "DELTA_BYTE_ARRAY",
             "float32": "BYTE_STREAM_SPLIT", "float64": "BYTE_STREAM_SPLIT", "split int32": "BYTE_STREAM_SPLIT", "float16": "BYTE_STREAM_SPLIT"}
pq.write_table(pa.table(encoded), path("encodings.parquet"), use_dictionary=False, column_encoding=encodings, compression="zstd", row_group_size=150, data_page_size=400)
json.dump({name: [None if v is None else v if isinstance(v, str) else float(v) for v in column.to_pylist()] for name, column in encoded.items()}, open(path("encodings.json"), "w"), ensure_ascii=False)
pq.write_table(pa.table({"int96": pa.array([1, None, -10**18], pa.timestamp("ns"))}), path("int96.parquet"), use_deprecated_int96_timestamps=True)
pq.write_table(pa.table({"x": pa.array([1.5, 2.5])}), path("brotli.parquet"), compression="brotli")
