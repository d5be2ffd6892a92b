"""Trains a Keras model with the torch backend. Keras takes tuples, which transform makes of batches.

    KERAS_BACKEND=torch python3 python/examples/keras_digits.py
"""
import os
import sys

here = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.dirname(here))  # not needed where h5dnn is installed
os.environ.setdefault("KERAS_BACKEND", "torch")

import keras

import h5dnn
from h5dnn.torch import DataLoader

DIGITS = os.path.join(here, "..", "..", "testdata", "digits.h5")


def batches(part, **settings):
    return DataLoader(h5dnn.Loader(DIGITS, {"x": part + "/images", "y": part + "/labels"}, to="torch", transform=lambda b: (b["x"], b["y"]), **settings))


keras.utils.set_random_seed(0)
model = keras.Sequential([keras.layers.Input((8, 8)), keras.layers.Flatten(), keras.layers.Rescaling(1 / 16),
                          keras.layers.Dense(64, "relu"), keras.layers.Dense(10)])
model.compile("adam", keras.losses.SparseCategoricalCrossentropy(from_logits=True), metrics=["accuracy"])
model.fit(batches("train", seed=1), epochs=15, verbose=0)
_, accuracy = model.evaluate(batches("test", shuffle=False), verbose=0)
print(f"accuracy {accuracy:.2f}")
assert accuracy > 0.9
