"""Writes the files of this folder with PyTorch, and what they hold to expected.json.

    python3 make.py         # torch 2.15; older ones lack some of the types
"""
import argparse, collections, io, json, os, pickle, struct, warnings, zipfile
import numpy as np, torch
warnings.filterwarnings("ignore")
here = os.path.dirname(os.path.abspath(__file__))
path = lambda *names: os.path.join(here, *names)
expected = {}


def bits(t):
    t = t.detach().resolve_conj().resolve_neg().reshape(-1).clone()
    return bytes(t.as_strided((t.numel(),), (1,)).view(torch.uint8).numpy()).hex() if t.numel() else ""


def save(name, value, tensors, meta=None, **options):
    """tensors are the names and tensors that a reader of the file should list."""
    torch.save(value, path(name), **options)
    storages = {}
    expected[name] = {"meta": meta or {}, "tensors": [{
        "name": n, "type": str(t.dtype).replace("torch.", ""), "shape": list(t.shape), "stride": list(t.stride()), "bits": bits(t),
        "storage": storages.setdefault(t.untyped_storage().data_ptr() or id(t), len(storages)),
    } for n, t in tensors.items()]}


types = [torch.bool, torch.uint8, torch.uint16, torch.uint32, torch.uint64, torch.int8, torch.int16, torch.int32, torch.int64,
         torch.float16, torch.bfloat16, torch.float32, torch.float64, torch.complex64, torch.complex128, torch.float8_e4m3fn, torch.float8_e5m2]
all_types = {str(t).replace("torch.", ""): torch.arange(6).reshape(2, 3).to(t) for t in types}
save("types.pt", all_types, all_types)

base = torch.arange(24.0).reshape(2, 3, 4)
views = {
    "whole": base, "transposed": base.transpose(0, 2), "slice": base[:, 1], "step": base[0, :, ::2], "offset": base[1, 2, 1:],
    "expanded": torch.arange(3.0).expand(4, 3), "channels_last": torch.arange(24.0).reshape(1, 2, 3, 4).to(memory_format=torch.channels_last),
    "scalar": torch.tensor(2.5), "integer": torch.tensor(7), "empty": torch.zeros(0, 3), "empty2": torch.zeros(3, 0, 2),
    "größe.weight": torch.ones(2), "a/b": torch.full((1,), 3.0), "conj": torch.tensor([1 + 2j, -3j]).conj(), "neg": torch.tensor([1 + 2j]).conj().imag,
    "parameter": torch.nn.Parameter(torch.tensor([1.0, -1.0])),
}
save("views.pt", views, views)
save("views_legacy.pt", views, views, _use_new_zipfile_serialization=False)
legacy_types = {k: v for k, v in all_types.items()}
save("types_legacy.pt", legacy_types, legacy_types, _use_new_zipfile_serialization=False)

save("bare.pt", base, {"bare": base})
nested = {"list": [torch.ones(2), (torch.zeros(1), {"deep": torch.tensor(1)})], 3: torch.tensor([3]), "storage": torch.tensor([1.0, 2.0]).untyped_storage(),
          "x": {"epoch": 3, "lr": 0.1, "name": "größe", "flag": True, "none": None, "betas": (0.9, 0.999), "big": 2 ** 70, "size": torch.Size([1, 2]),
                "dtype": torch.float16, "device": torch.device("cpu"), "names": ["a", "b"], "bytes": b"\xff\x00", "complex": 1 + 2j}}
save("nested.pt", nested, {"list/0": nested["list"][0], "list/1/0": nested["list"][1][0], "list/1/1/deep": nested["list"][1][1]["deep"], "3": nested[3],
                           "storage": torch.tensor([1.0, 2.0]).view(torch.uint8)},
     {"x/epoch": "3", "x/lr": "0.1", "x/name": "größe", "x/flag": "true", "x/none": "null", "x/betas": "[0.9, 0.999]", "x/big": str(2 ** 70), "x/size": "[1, 2]",
      "x/dtype": "torch.float16", "x/device": "cpu", "x/names": '["a", "b"]', "x/complex": "(1+2i)"})

array = np.arange(6, dtype=">f4").reshape(2, 3)
numpy = {"scalar": np.float64(1.5), "int": np.int64(-3), "array": array, "fortran": np.asfortranarray(np.arange(6).reshape(2, 3)), "bool": np.bool_(True),
         "w": torch.ones(1), "args": argparse.Namespace(lr=0.5, tensor=torch.full((2,), 9.0))}
save("numpy.pt", numpy, {"array": torch.arange(6.0).reshape(2, 3), "fortran": torch.arange(6).reshape(2, 3).T.contiguous().T,
                         "w": numpy["w"], "args/tensor": numpy["args"].tensor},
     {"scalar": "1.5", "int": "-3", "bool": "true", "args/lr": "0.5", "args/class": "argparse.Namespace", "torch.opaque": "argparse.Namespace"})

torch.manual_seed(1)
model = torch.nn.Sequential(torch.nn.Linear(3, 2), torch.nn.BatchNorm1d(2), torch.nn.Linear(2, 1))
state = model.state_dict()
save("state.pth", state, state)
tied = torch.nn.ModuleDict({"embedding": torch.nn.Embedding(4, 2), "head": torch.nn.Linear(2, 4, bias=False)})
tied["head"].weight = tied["embedding"].weight
save("tied.pt", tied.state_dict(), tied.state_dict())

optimizer = torch.optim.Adam(model.parameters(), lr=0.01)
model(torch.ones(4, 3)).sum().backward()
optimizer.step()
state = model.state_dict()
slots = {f"optimizer_state_dict/state/{i}/{k}": v for i, s in optimizer.state_dict()["state"].items() for k, v in s.items()}
save("checkpoint.pt", {"epoch": 5, "model_state_dict": state, "optimizer_state_dict": optimizer.state_dict(), "loss": 0.25}, {**state, **slots},
     {"epoch": "5", "loss": "0.25", "torch.unwrapped": "model_state_dict", "torch.optimizer": "optimizer_state_dict",
      "optimizer_state_dict/param_groups/0/lr": "0.01", "optimizer_state_dict/param_groups/0/betas": "[0.9, 0.999]",
      "optimizer_state_dict/param_groups/0/params": "[0, 1, 2, 3, 4, 5]"})
# torch.load reads archives that were packed again with compression, as zip -r does.
with zipfile.ZipFile(path("checkpoint.pt")) as old, zipfile.ZipFile(path("compressed.pt"), "w", zipfile.ZIP_DEFLATED) as new:
    for name in ["checkpoint/", "checkpoint/data/"] + old.namelist():
        new.writestr(name, b"" if name.endswith("/") else old.read(name))
assert torch.load(path("compressed.pt"))["epoch"] == 5
expected["compressed.pt"] = expected["checkpoint.pt"]
ddp = {"state_dict": {"module._orig_mod." + k: v for k, v in state.items()}, "pytorch-lightning_version": "2.1.0", "global_step": 7}
save("lightning.ckpt", ddp, state, {"torch.unwrapped": "state_dict", "torch.prefix": "module._orig_mod.", "pytorch-lightning_version": "2.1.0", "global_step": "7"})
save("module.pt", {"model": model, "epoch": 1}, {**{k: v for k, v in sorted(state.items(), key=lambda kv: (kv[0].split(".")[0], "running" in kv[0] or "num" in kv[0]))}},
     {"torch.unwrapped": "model", "epoch": "1"})
class Transient(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.register_buffer("kept", torch.ones(2))
        self.register_buffer("mask", torch.zeros(3), persistent=False)
transient = torch.nn.ModuleDict({"a": Transient()})
save("buffers.pt", transient, transient.state_dict())
torch.jit.script(torch.nn.Linear(2, 1)).save(path("script.pt"))
odd = {"w": torch.ones(2), "q": torch.quantize_per_tensor(torch.ones(2, 3), 0.1, 0, torch.qint8), "s": torch.eye(2).to_sparse(), "m": torch.zeros(4, device="meta"),
       "c": torch.zeros(2, dtype=torch.complex32), "f": torch.zeros(2).to(torch.float8_e5m2fnuz)}
torch.save(odd, path("odd.pt"))
odd = {"w": torch.ones(2), "csr": torch.eye(2, 3).to_sparse_csr(), "text": np.array(["a", "bc"]), "masked": np.ma.masked_array([1.0, 2.0], [0, 1])}
torch.save(odd, path("odd2.pt"))
torch.save({"w": torch.ones(2), "bits": torch.zeros(4, dtype=torch.uint8).view(torch.bits8), "e8m0": torch.zeros(3, dtype=torch.float8_e8m0fnu)}, path("odd3.pt"))

# Names of which several arrays have one, and keys that are sets.
collisions = {"a": {"b": torch.ones(1)}, "a/b": torch.zeros(2), "x": {1: torch.ones(3), "1": torch.ones(4)}, frozenset([1]): torch.ones(5)}
torch.save(collisions, path("collisions.pt"))
record = np.rec.array([(1, 2.0)], dtype=[("a", "i4"), ("b", "f4")])
torch.save({"w": torch.ones(2), "record": record}, path("odd4.pt"))

for protocol in (3, 4, 5):
    save(f"legacy{protocol}.pt", views, views, _use_new_zipfile_serialization=False, pickle_protocol=protocol)
fortran = np.asfortranarray(np.arange(6).reshape(2, 3))
save("numpy5.pt", {"array": np.arange(6.0, dtype=">f4").reshape(2, 3), "fortran": fortran, "bytes": b"\xff\x00'a"},
     {"array": torch.arange(6.0).reshape(2, 3), "fortran": torch.arange(6).reshape(2, 3).T.contiguous().T}, {"bytes": r"b'\xff\x00\'a'"}, pickle_protocol=5)
rng = torch.arange(8, dtype=torch.uint8)
outside = {"model": {"a": torch.ones(2), "b/c": torch.zeros(1)}, "rng": rng, "loss": torch.tensor(0.5), "epoch": 3}
save("outside.pt", outside, {**outside["model"], "rng": rng, "loss": outside["loss"]},
     {"torch.unwrapped": "model", "torch.outside": '["rng","loss"]', "epoch": "3"})
names = {"/a": torch.ones(1), "a": torch.ones(2), "a/": torch.ones(3), "b": torch.ones(4), "b/c": torch.ones(5), "": torch.ones(6)}
save("names.pt", names, names)
torch.export.save(torch.export.export(torch.nn.Linear(2, 1), (torch.ones(1, 2),)), path("export.pt2"))
json.dump(expected, open(path("expected.json"), "w"), indent=0, ensure_ascii=False)
