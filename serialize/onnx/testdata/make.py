"""Writes the files of this folder with the onnx package, attacks too.

    python3 make.py         # needs onnx
"""
import json, os
import numpy as np, onnx
from onnx import TensorProto as T, helper, numpy_helper

here = os.path.dirname(os.path.abspath(__file__))
path = lambda *names: os.path.join(here, *names)
expected = {}


def model(initializers, nodes=()):
    x = helper.make_tensor_value_info("x", T.FLOAT, [1])
    nodes = list(nodes) + [helper.make_node("Identity", ["x"], ["y"])]
    graph = helper.make_graph(nodes, "main", [x], [helper.make_tensor_value_info("y", T.FLOAT, [1])], initializer=initializers)
    m = helper.make_model(graph, producer_name="make.py", producer_version="1", opset_imports=[helper.make_opsetid("", 21), helper.make_opsetid("ai.onnx.ml", 3)])
    helper.set_model_props(m, {"author": "größe"})
    return m


names = {"FLOAT": "float32", "UINT8": "uint8", "INT8": "int8", "UINT16": "uint16", "INT16": "int16", "INT32": "int32", "INT64": "int64", "BOOL": "bool",
         "FLOAT16": "float16", "DOUBLE": "float64", "UINT32": "uint32", "UINT64": "uint64", "COMPLEX64": "complex64", "COMPLEX128": "complex128",
         "BFLOAT16": "bfloat16", "FLOAT8E4M3FN": "float8_e4m3fn", "FLOAT8E5M2": "float8_e5m2"}
typed, raw = [], []
for onnx_name, name in names.items():
    values = [0, 1] if name == "bool" else [0, 1, 2, 3, -1, -2] if not name.startswith(("u", "b")) else [0, 1, 2, 3, 4, 5]
    if name == "bfloat16": values = [0, 1, 2, 3, -1, -2]
    typ = getattr(T, onnx_name)
    shape = [len(values)] if name == "bool" else [2, 3]
    t = helper.make_tensor(name, typ, shape, values)
    typed.append(t)
    raw.append(numpy_helper.from_array(numpy_helper.to_array(t), name))
    expected[name] = {"shape": shape, "values": [float(v) for v in values]}
typed += [helper.make_tensor("scalar", T.FLOAT, [], [2.5]), helper.make_tensor("empty", T.FLOAT, [0, 3], []), helper.make_tensor("text", T.STRING, [2, 1], [b"a", "größe".encode()]),
          helper.make_tensor("int4", T.INT4, [2], [1, 2])]
constant = helper.make_node("Constant", [], ["constant_output"], value=numpy_helper.from_array(np.arange(3, dtype=np.int64), "inner"))
onnx.save(model(typed, [constant]), path("typed.onnx"))
onnx.save(model(raw), path("raw.onnx"))
for f in ["external.onnx", "weights.data"]:
    if os.path.exists(path(f)): os.remove(path(f))
onnx.save(model(raw), path("external.onnx"), save_as_external_data=True, location="weights.data", size_threshold=0)
json.dump(expected, open(path("expected.json"), "w"), indent=0)

os.makedirs(path("attacks"), exist_ok=True)
def attack(file, **fields):
    t = onnx.TensorProto(name="w", data_type=T.FLOAT, dims=[2], raw_data=bytes(8))
    for key, value in fields.items():
        if key == "external":
            t.ClearField("raw_data"); t.data_location = T.EXTERNAL
            for k, v in value.items(): t.external_data.add(key=k, value=v)
        elif isinstance(value, list):
            t.ClearField(key); getattr(t, key).extend(value)
        elif value is None:
            t.ClearField(key)
        else:
            setattr(t, key, value)
    open(path("attacks", file + ".onnx"), "wb").write(model([t]).SerializeToString())
numbers = [helper.make_node("Constant", [], ["floats"], value_floats=[0.5, -1.0]), helper.make_node("Constant", [], ["float"], value_float=2.5),
           helper.make_node("Constant", [], ["ints"], value_ints=[-1, 2, 300]), helper.make_node("Constant", [], ["int"], value_int=-7)]
def branch(value):
    return helper.make_graph([helper.make_node("Constant", [], ["c"], value_int=value)], "branch", [], [], initializer=[numpy_helper.from_array(np.full(2, value, np.float32), "w")])
choice = helper.make_node("If", ["x"], ["z"], then_branch=branch(1), else_branch=branch(2))
named = helper.make_node("If", ["x"], ["z"], name="gate", then_branch=helper.make_graph([choice], "outer", [], []), else_branch=branch(3))
sparse = onnx.SparseTensorProto(values=numpy_helper.from_array(np.ones(2, np.float32), "sparse"), indices=numpy_helper.from_array(np.array([0, 4]), "i"), dims=[2, 3])
graphs = model([numpy_helper.from_array(np.ones(1, np.float32), "w")], numbers + [choice, named, named])
graphs.graph.sparse_initializer.append(sparse)
onnx.save(graphs, path("graphs.onnx"))
texts = [helper.make_node("Constant", [], ["text"], value_string="größe"), helper.make_node("Constant", [], ["texts"], value_strings=["a", "bc"])]
elsewhere = model([numpy_helper.from_array(np.ones(1, np.float32), "w")], texts)
ones = lambda value: numpy_helper.from_array(np.full(2, value, np.float32), "k")
elsewhere.functions.append(helper.make_function("my.domain", "Scale", ["x"], ["y"], [helper.make_node("Constant", [], ["k"], value=ones(2)), helper.make_node("Mul", ["x", "k"], ["y"])], [helper.make_opsetid("", 21)]))
info = elsewhere.training_info.add()
info.initialization.CopyFrom(helper.make_graph([], "initialization", [], [], [ones(3)]))
info.algorithm.CopyFrom(helper.make_graph([], "algorithm", [], [], [ones(4)]))
onnx.save(elsewhere, path("elsewhere.onnx"))
def varint(n): return bytes([n]) if n < 128 else bytes([n & 127 | 128]) + varint(n >> 7)
def message(number, b): return varint(number << 3 | 2) + varint(len(b)) + b
deep = b""
for _ in range(200):  # deeper than protobuf's own limit
    deep = message(1, message(4, b"If") + message(5, message(1, b"then_branch") + message(6, deep)))
open(path("attacks", "deep_graphs.onnx"), "wb").write(b"\x08\x0a" + message(7, deep))
attack("path_up", external={"location": "../../onnx.go", "length": "8"})
attack("absolute_path", external={"location": "/etc/passwd", "length": "8"})
attack("path_up_in_the_middle", external={"location": "a/../../typed.onnx"})
attack("symbolic_link", external={"location": "link", "length": "8"})
attack("folder_as_data", external={"location": "."})
attack("no_location", external={"length": "8"})
attack("missing_file", external={"location": "missing"})
attack("negative_offset", external={"location": "path_up.onnx", "offset": "-8"})
attack("offset_beyond_file", external={"location": "path_up.onnx", "offset": "9223372036854775800"})
attack("length_differs", external={"location": "path_up.onnx", "length": "4"})
def two(file, *places):
    list = []
    for name, offset in zip("vw", places):
        t = onnx.TensorProto(name=name, data_type=T.FLOAT, dims=[2], data_location=T.EXTERNAL)
        for k, v in {"location": "path_up.onnx", "offset": str(offset), "length": "8"}.items(): t.external_data.add(key=k, value=v)
        list.append(t)
    open(path(file + ".onnx"), "wb").write(model(list).SerializeToString())
two("attacks/overlap", 0, 4)
attack("huge_shape", dims=[1 << 40, 1 << 40])
attack("negative_size", dims=[-1, -2])
attack("many_axes", dims=[1] * 1000)
attack("raw_too_short", raw_data=bytes(4))
attack("raw_too_long", raw_data=bytes(12))
attack("many_elements", raw_data=None, dims=[1 << 40], float_data=[1.0])
attack("few_elements", raw_data=None, dims=[3], float_data=[1.0, 2, 3, 4])
attack("other_field", raw_data=None, int64_data=[1, 2])
attack("few_strings", raw_data=None, data_type=T.STRING, dims=[1 << 40], string_data=[b"a"])
attack("unknown_type", data_type=99)
attack("sub_byte_type", data_type=T.INT4)
good = model([numpy_helper.from_array(np.arange(2.0), "w")])
twice = model([numpy_helper.from_array(np.arange(2.0), "w")] * 2)
open(path("attacks", "name_twice.onnx"), "wb").write(twice.SerializeToString())
b = good.SerializeToString()
open(path("attacks", "truncated.onnx"), "wb").write(b[:-20])
open(path("attacks", "endless_integer.onnx"), "wb").write(b + b"\xff" * 20)
