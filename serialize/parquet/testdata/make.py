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
