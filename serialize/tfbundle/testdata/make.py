"""Writes the files of this folder with TensorFlow.

    python3 make.py         # needs tensorflow
"""
import json, os
import numpy as np, tensorflow as tf

here = os.path.dirname(os.path.abspath(__file__))
path = lambda *names: os.path.join(here, *names)
types = ["float32", "float64", "float16", "bfloat16", "int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64", "bool", "complex64", "complex128"]
expected = {}


class Model(tf.Module):
    def __init__(self):
        for t in types:
            x = tf.cast(np.arange(6).reshape(2, 3) % (2 if t == "bool" else 6), t)
            setattr(self, t, tf.Variable(x))
            expected[t] = {"shape": [2, 3], "values": [float(i % (2 if t == "bool" else 6)) for i in range(6)]}
        self.scalar = tf.Variable(2.5)
        self.empty = tf.Variable(tf.zeros([0, 3]))
        self.text = tf.Variable(tf.constant([["a", "größe"]]))


tf.train.Checkpoint(model=Model()).write(path("types"))
json.dump(expected, open(path("expected.json"), "w"), indent=0)

# The checkpoints of TensorFlow 1, with names of variables.
with tf.Graph().as_default(), tf.compat.v1.Session() as s:
    w = tf.compat.v1.get_variable("dense/kernel", initializer=np.arange(6, dtype=np.float32).reshape(2, 3))
    big = tf.compat.v1.get_variable("dense/with_a_long_name_that_others_share", initializer=np.zeros(3, np.float32))
    more = [tf.compat.v1.get_variable(f"dense/with_a_long_name_{i:04}", initializer=np.full(1, i, np.int32)) for i in range(200)]
    s.run(tf.compat.v1.global_variables_initializer())
    tf.compat.v1.train.Saver().save(s, path("v1"), write_meta_graph=False)

# Variables in slices along their rows, and along their columns. Every element is different.
v1 = tf.compat.v1
arange = lambda shape, dtype=None, partition_info=None: tf.constant(0, dtype, shape)
with tf.Graph().as_default():
    rows = v1.get_variable("rows", [200, 2], tf.int32, initializer=arange, partitioner=v1.fixed_size_partitioner(3))
    columns = v1.get_variable("columns", [2, 3, 5], initializer=arange, partitioner=v1.fixed_size_partitioner(2, axis=2))
    with v1.Session() as session:
        session.run(v1.global_variables_initializer())
        for variable in (rows, columns):
            n = int(np.prod(variable.shape))
            whole = np.arange(n).reshape(variable.shape.as_list())
            for part in variable:
                info = part._save_slice_info
                part.load(whole[tuple(slice(a, a + k) for a, k in zip(info.var_offset, info.var_shape))].astype(part.dtype.as_numpy_dtype), session)
        v1.train.Saver().save(session, path("slices"), write_meta_graph=False, write_state=False)
if os.path.exists(path("checkpoint")): os.remove(path("checkpoint"))
