"""Writes bidirectional.h5 with Keras 3: the names of the optimizer's variables have that of the layer within."""

import os

os.environ.setdefault("KERAS_BACKEND", "torch")
import keras
import numpy

keras.utils.set_random_seed(1)
model = keras.Sequential([keras.Input((3, 2)), keras.layers.Bidirectional(keras.layers.GRU(2, name="g"), name="bi")])
model.compile("adam", keras.losses.MeanSquaredError())
model.train_on_batch(numpy.ones((1, 3, 2)), numpy.ones((1, 4)))
model.save(os.path.join(os.path.dirname(os.path.abspath(__file__)), "bidirectional.h5"))
