"""Files of Keras 3: run with KERAS_BACKEND=torch and keras 3.15.1, h5py 3.16."""
import os

os.environ.setdefault("KERAS_BACKEND", "torch")
import keras
import models

for make in models.models(keras):
    m, inputs = models.trained(keras, make)
    name = "keras3_" + m.name
    models.store(m, inputs, name + ".npz")
    m.save(name + ".keras")
    if m.name in ("cnn", "graph", "recurrent", "transformer", "cells"):
        m.save(name + ".h5")
    if m.name in ("cnn", "graph", "recurrent", "transformer"):
        m.save_weights(name + ".weights.h5")
    if m.name == "graph":
        m.save_weights(name + ".weights.json", max_shard_size=5e-7)
