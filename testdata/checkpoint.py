"""Writes checkpoint.safetensors, a small model with tied weights and the state of its
optimizer, cut.h5dn, the first half of a file in the native format, and cut.safetensors, which
lacks its last two bytes.

    python3 checkpoint.py        # needs safetensors and NumPy
"""
import importlib.util, os, struct, sys
import numpy as np
from safetensors.numpy import save, save_file

here = os.path.dirname(os.path.abspath(__file__))
path = lambda *names: os.path.join(here, *names)
r = np.random.default_rng(1)
f32 = lambda *shape: r.standard_normal(shape).astype(np.float32)
save_file({
    "model.embedding.weight": f32(10, 4), "model.fc.weight": f32(3, 4), "model.fc.bias": f32(3), "model.steps": np.array(7),
    "optimizer.state.0.exp_avg": f32(10, 4), "optimizer.state.1.exp_avg": f32(3, 4),
}, path("checkpoint.safetensors"), {"format": "np", "model.head.weight": "model.embedding.weight"})

spec = importlib.util.spec_from_file_location("native", path("..", "serialize", "native", "testdata", "native.py"))
sys.argv = ["native.py", "none", "none"]
native = importlib.util.module_from_spec(spec)
spec.loader.exec_module(native)
whole = native.encode({"epoch": "3"}, [("float32", struct.pack("<6f", *range(6))), ("float32", struct.pack("<3f", *range(3)))],
                      {"weight": {"storage": 0, "shape": [2, 3]}, "bias": {"storage": 1, "shape": [3]}})
with open(path("cut.h5dn"), "wb") as f:
    f.write(whole[:4096 + 64 + 4])
with open(path("cut.safetensors"), "wb") as f:
    f.write(save({"weight": np.arange(6, dtype="f4").reshape(2, 3), "bias": np.arange(3, dtype="f2")})[:-2])
