"""Writes duckdb.parquet and duckdb_deltas.parquet: decimals of 4, 8 and 16 bytes, some of which are
missing.

    python3 make_duckdb.py      # needs duckdb
"""
import os, duckdb

here = os.path.dirname(os.path.abspath(__file__))
rows = """(-0.25::decimal(9, 2), -0.25::decimal(18, 3), -1::decimal(38, 0)), (null, null, null),
    (12::decimal(9, 2), 123456789012345.678::decimal(18, 3), 12345678901234567890123456789012345678::decimal(38, 0)),
    (-0.25::decimal(9, 2), -0.25::decimal(18, 3), -1::decimal(38, 0))"""
for name, options in ("duckdb", ""), ("duckdb_deltas", ", parquet_version v2, dictionary_size_limit 1"):
    duckdb.execute("copy (select * from (values %s) t(dec9, dec18, dec38)) to '%s' (format parquet%s)" % (rows, os.path.join(here, name + ".parquet"), options))
