"""Writes checkpoints of TensorFlow of one model, its description and its weights in a file of Keras.

    python3 make_tf.py      # needs TensorFlow 2.15
"""
import os

import numpy as np
import tensorflow as tf
from tensorflow import keras

here = os.path.dirname(os.path.abspath(__file__))
path = lambda name: os.path.join(here, "tf", name)
os.makedirs(path(""), exist_ok=True)
layers = keras.layers
inner = keras.Sequential([keras.Input((4,)), layers.Dense(4), layers.Dropout(0.1), layers.LayerNormalization()], name="inner")
i = keras.Input((5, 3), name="i")
x = layers.Bidirectional(layers.GRU(2), name="both")(i)
d = layers.Dense(4, name="shared")
x = layers.Add()([d(d(x)), inner(x)])
m = keras.Model(i, layers.Dense(1, name="out")(layers.BatchNormalization(name="norm")(x)))
m.compile("adam", "mse")
m.fit(np.random.RandomState(0).rand(4, 5, 3), np.ones((4, 1)), verbose=0)
m.save_weights(path("weights"), save_format="tf")
tf.train.Checkpoint(model=m).write(path("checkpoint"))
m.save_weights(path("weights.h5"))
open(path("config.json"), "w").write(m.to_json())
os.remove(path("checkpoint")) if os.path.isfile(path("checkpoint")) else None
