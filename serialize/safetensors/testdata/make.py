"""Writes the files of this folder with the safetensors library, and attacks by hand.

    python3 make.py         # needs safetensors and torch
"""
import json, os, struct
import torch
from safetensors.torch import save_file, save_model

here = os.path.dirname(os.path.abspath(__file__))
path = lambda *names: os.path.join(here, *names)

types = {
    "bool": torch.bool, "uint8": torch.uint8, "int8": torch.int8, "int16": torch.int16, "uint16": torch.uint16,
    "float16": torch.float16, "bfloat16": torch.bfloat16, "int32": torch.int32, "uint32": torch.uint32,
    "float32": torch.float32, "float64": torch.float64, "int64": torch.int64, "uint64": torch.uint64,
    "float8_e4m3fn": torch.float8_e4m3fn, "float8_e5m2": torch.float8_e5m2, "complex64": torch.complex64,
}
tensors = {}
for name, dtype in types.items():
    tensors[name] = torch.arange(6).reshape(2, 3).to(dtype)
tensors["scalar"] = torch.tensor(2.5)
tensors["empty"] = torch.zeros(0, 3)
tensors["größe"] = torch.ones(2)
save_file(tensors, path("types.safetensors"), {"format": "pt"})


class Tied(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.embedding = torch.nn.Embedding(4, 2)
        self.head = torch.nn.Linear(2, 4, bias=False)
        self.embedding.weight.data = torch.arange(8.0).reshape(4, 2)
        self.head.weight = self.embedding.weight


save_model(Tied(), path("tied.safetensors"), {"format": "pt"})


def attack(name, header, data=b"", length=None):
    text = header if isinstance(header, bytes) else json.dumps(header).encode()
    os.makedirs(path("attacks"), exist_ok=True)
    with open(path("attacks", name + ".safetensors"), "wb") as f:
        f.write(struct.pack("<Q", len(text) if length is None else length) + text + data)


f32 = lambda shape, begin, end: {"dtype": "F32", "shape": shape, "data_offsets": [begin, end]}
attack("overlap", {"a": f32([2], 0, 8), "b": f32([2], 4, 12)}, bytes(12))
attack("same_bytes", {"a": f32([2], 0, 8), "b": f32([2], 0, 8)}, bytes(8))
attack("gap", {"a": f32([2], 0, 8), "b": f32([2], 12, 20)}, bytes(20))
attack("hole_at_start", {"a": f32([2], 4, 12)}, bytes(12))
attack("trailing_bytes", {"a": f32([2], 0, 8)}, bytes(12))
attack("truncated", {"a": f32([2], 0, 8)}, bytes(4))
attack("backwards", {"a": f32([0], 0, 0), "b": f32([2], 8, 0)}, bytes(8))
attack("size_differs", {"a": f32([3], 0, 8)}, bytes(8))
attack("huge_shape", {"a": f32([1 << 40, 1 << 40], 0, 8)}, bytes(8))
attack("overflowing_shape", {"a": f32([1 << 32, 1 << 32, 1 << 32], 0, 0)})
attack("negative_shape", {"a": f32([-1, -2], 0, 8)}, bytes(8))
attack("fraction_in_shape", b'{"a":{"dtype":"F32","shape":[2.0],"data_offsets":[0,8]}}', bytes(8))
attack("huge_offset", b'{"a":{"dtype":"F32","shape":[2],"data_offsets":[0,18446744073709551624]}}', bytes(8))
attack("three_offsets", b'{"a":{"dtype":"F32","shape":[2],"data_offsets":[0,8,8]}}', bytes(8))
attack("half_a_byte", {"a": {"dtype": "F4", "shape": [3], "data_offsets": [0, 2]}}, bytes(2))
attack("name_twice", b'{"a":{"dtype":"F32","shape":[2],"data_offsets":[0,8]},"a":{"dtype":"I32","shape":[2],"data_offsets":[0,8]}}', bytes(8))
attack("dtype_twice", b'{"a":{"dtype":"F32","dtype":"I32","shape":[2],"data_offsets":[0,8]}}', bytes(8))
attack("no_shape", b'{"a":{"dtype":"F32","data_offsets":[0,8]}}', bytes(8))
attack("metadata_number", b'{"__metadata__":{"a":1}}')
attack("metadata_nested", b'{"__metadata__":{"a":{"b":"c"}}}')
attack("not_utf8", b'{"\xff":{"dtype":"F32","shape":[2],"data_offsets":[0,8]}}', bytes(8))
attack("text_after_header", b'{} {}')
attack("deep", b'{"a":' + b"[" * 1000 + b"]" * 1000 + b"}")
attack("header_beyond_file", {}, length=1 << 20)
attack("header_of_exabytes", {}, length=1 << 62)
attack("header_of_negative_length", {}, length=(1 << 64) - 8)
attack("header_above_limit", {}, length=100_000_001)
attack("unknown_type", {"a": {"dtype": "F4", "shape": [4], "data_offsets": [0, 2]}}, bytes(2))
