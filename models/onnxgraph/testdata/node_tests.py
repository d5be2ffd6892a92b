"""Writes ONNX's own tests of operators to a folder: NAME.onnx, and NAME.npz with the inputs in_0, … and the outputs out_0, ….

    python node_tests.py FOLDER
"""
import sys
import warnings

import numpy as np
import onnx

warnings.filterwarnings("ignore")
from onnx.backend.test.case.node import collect_testcases  # noqa: E402
import onnx.backend.test.case.node as node_cases  # noqa: E402

folder = sys.argv[1]
try:
    cases = collect_testcases(None)
except TypeError:
    cases = collect_testcases()
for case in cases:
    if case.model is None or not case.data_sets:
        continue
    inputs, outputs = case.data_sets[0]
    arrays = {f"in_{i}": x for i, x in enumerate(inputs)} | {f"out_{i}": x for i, x in enumerate(outputs)}
    if not all(isinstance(x, np.ndarray) and x.dtype.kind in "fiub" and x.dtype.itemsize <= 8 and x.dtype.isbuiltin for x in arrays.values()):
        continue
    onnx.save(case.model, f"{folder}/{case.name}.onnx")
    np.savez(f"{folder}/{case.name}.npz", **arrays)
    print(case.name)
