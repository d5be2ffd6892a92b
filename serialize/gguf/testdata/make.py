"""Writes the files of this folder with the gguf package of llama.cpp, and attacks by hand.

    python3 make.py         # needs gguf and NumPy
"""
import json, os, struct
import gguf, numpy as np
from gguf import GGMLQuantizationType as Type

here = os.path.dirname(os.path.abspath(__file__))
path = lambda *names: os.path.join(here, *names)
expected = {}
r = np.random.default_rng(1)

for file, order in [("types.gguf", gguf.GGUFEndian.LITTLE), ("big.gguf", gguf.GGUFEndian.BIG)]:
    w = gguf.GGUFWriter(path(file), "llama", endianess=order)
    w.add_uint32("a.uint32", 2**32 - 1); w.add_int8("a.int8", -5); w.add_float32("a.float32", 0.1); w.add_bool("a.bool", True)
    w.add_string("a.text", "größe"); w.add_array("a.tokens", ["<s>", "a\"b", "ü"]); w.add_array("a.scores", [0.5, -1.0]); w.add_uint64("a.uint64", 2**64 - 1)
    w.add_float64("a.float64", 1e300); w.add_uint16("a.uint16", 65535)
    def add(name, x, typ=None):
        if typ is None:
            w.add_tensor(name, x)
            y = x
        else:
            q = gguf.quants.quantize(x, typ)
            w.add_tensor(name, q, raw_dtype=typ)
            y = gguf.quants.dequantize(q, typ)
        expected.setdefault(file, {})[name] = {"shape": list(x.shape), "values": [float(v) for v in y.astype(np.float64).reshape(-1)]}
    x = r.standard_normal((3, 64)).astype(np.float32)
    add("token_embd.weight", x)
    add("half", x.astype(np.float16))
    add("integers", np.arange(6, dtype=np.int32).reshape(1, 2, 3))
    if order == gguf.GGUFEndian.LITTLE:  # the package does not swap the bytes of these
        add("bfloat16", x, Type.BF16)
        add("q8_0", x, Type.Q8_0)
        add("q4_0", x, Type.Q4_0)
        w.add_tensor("iq1_s", np.zeros((1, 50), np.uint8), raw_dtype=Type.IQ1_S)
    w.write_header_to_file(); w.write_kv_data_to_file(); w.write_tensors_to_file(); w.close()
# Random blocks of every quantized type that is read, and what the package makes of them.
halves = {"Q4_0": [0], "Q4_1": [0, 2], "Q5_0": [0], "Q5_1": [0, 2], "Q8_0": [0], "Q2_K": [80, 82], "Q3_K": [108], "Q4_K": [0, 2], "Q5_K": [0, 2],
          "Q6_K": [208], "IQ4_NL": [0], "IQ4_XS": [0], "MXFP4": []}
w = gguf.GGUFWriter(path("quantized.gguf"), "llama")
for name, at in halves.items():
    typ = Type[name]
    length, size = gguf.GGML_QUANT_SIZES[typ]
    q = r.integers(0, 256, (3, 512 // length, size), dtype=np.uint8)
    for k in at:
        q[..., k + 1] &= 0xBF  # finite
    q = q.reshape(3, -1)
    w.add_tensor(name, q, raw_dtype=typ)
    w.add_tensor(name + ".want", gguf.quants.dequantize(q, typ))
w.write_header_to_file(); w.write_kv_data_to_file(); w.write_tensors_to_file(); w.close()
json.dump(expected, open(path("expected.json"), "w"), indent=0)

text = lambda s: struct.pack("<Q", len(s)) + s
def attack(name, tensors=b"", n=0, values=b"", pairs=0, data=b"", version=3):
    os.makedirs(path("attacks"), exist_ok=True)
    open(path("attacks", name + ".gguf"), "wb").write(b"GGUF" + struct.pack("<IQQ", version, n, pairs) + values + tensors + data)
def tensor(name=b"w", shape=(4,), typ=0, offset=0):
    return text(name) + struct.pack("<I", len(shape)) + b"".join(struct.pack("<Q", s) for s in shape) + struct.pack("<IQ", typ, offset)
pad = bytes(256)
attack("many_tensors", n=1 << 40, data=pad)
attack("many_values", pairs=1 << 60, data=pad)
attack("long_name", struct.pack("<Q", 1 << 62) + b"w", 1, data=pad)
attack("beyond_file", tensor(shape=(1000,)), 1, data=pad)
attack("offset_beyond_file", tensor(offset=1 << 40), 1, data=pad)
attack("offset_overflows", tensor(offset=(1 << 64) - 32), 1, data=pad)
attack("offset_unaligned", tensor(offset=4), 1, data=pad)
attack("huge_shape", tensor(shape=(1 << 40, 1 << 40)), 1, data=pad)
attack("negative_size", tensor(shape=((1 << 64) - 1,)), 1, data=pad)
attack("many_axes", tensor(shape=(1,) * 100), 1, data=pad)
attack("row_of_half_a_block", tensor(shape=(16, 2), typ=8), 1, data=pad)
attack("same_elements", tensor(name=b"v") + tensor(), 2, data=pad)
attack("overlap", tensor(name=b"v", shape=(16,)) + tensor(offset=32), 2, data=pad)
attack("name_twice", tensor() + tensor(offset=32) + tensor(name=b"other", offset=64), 3, data=pad)
attack("unknown_type", tensor(typ=999), 1, data=pad)
attack("unknown_value", values=text(b"k") + struct.pack("<I", 77), pairs=1, data=pad)
attack("value_twice", values=(text(b"k") + struct.pack("<IB", 0, 1)) * 2, pairs=2, data=pad)
attack("nested_arrays", values=text(b"k") + struct.pack("<I", 9) + struct.pack("<IQ", 9, 1) * 8, pairs=1, data=pad)
attack("long_array", values=text(b"k") + struct.pack("<IIQ", 9, 0, 1 << 60), pairs=1, data=pad)
attack("alignment", values=text(b"general.alignment") + struct.pack("<II", 4, 3), pairs=1, data=pad)
attack("alignment_0", values=text(b"general.alignment") + struct.pack("<II", 4, 0), pairs=1, data=pad)
attack("version_1", version=1)
attack("truncated", tensor()[:-3], 1)
