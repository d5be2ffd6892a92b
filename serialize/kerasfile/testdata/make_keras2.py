"""Files of Keras 2: run with tensorflow-cpu 2.15.1."""
import os

os.environ["TF_CPP_MIN_LOG_LEVEL"] = "3"
from tensorflow import keras
import models

for make in models.models(keras):
    m, inputs = models.trained(keras, make)
    name = "keras2_" + m.name
    models.store(m, inputs, name + ".npz")
    m.save(name + ".h5")
    if m.name in ("cnn", "graph", "recurrent", "transformer", "cells"):
        m.save(name + ".keras")
        if m.name in ("cnn", "graph"):
            m.save_weights(name + ".weights.h5")
    if m.name in ("cnn", "graph"):
        m.save_weights(name + "_only.h5")
