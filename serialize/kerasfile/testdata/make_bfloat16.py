"""Writes bfloat16.h5: a layer in bfloat16 as Keras 3.15 writes it to an .h5, without the type's name."""

import os

os.environ["KERAS_BACKEND"] = "torch"

import keras

model = keras.Sequential([keras.Input((2,)), keras.layers.Dense(3, dtype="bfloat16", name="d")])
model.layers[0].bias.assign([1, -3, float("inf")])
model.save(os.path.join(os.path.dirname(__file__), "bfloat16.h5"))
