"""Writes rnn.keras, a model of layers that h5dnn does not run, and rnn.npz with inputs and the
predictions of Keras.

    KERAS_BACKEND=torch python3 make_rnn.py
"""
import os

import keras
import numpy as np

here = os.path.dirname(os.path.abspath(__file__))
L, random = keras.layers, np.random.default_rng(1)
model = keras.Sequential([
    L.Input((5, 3)),
    L.SimpleRNN(4, activation="relu", return_sequences=True, name="forward"),
    L.SimpleRNN(3, go_backwards=True, use_bias=False, return_sequences=True, name="backward"),
    L.Bidirectional(L.SimpleRNN(2), name="both"),
])
model.set_weights([random.normal(size=w.shape).astype("f4") / 2 for w in model.get_weights()])
x = random.normal(size=(6, 5, 3)).astype("f4")
model.save(os.path.join(here, "rnn.keras"))
np.savez(os.path.join(here, "rnn.npz"), x0=x, y0=model.predict(x, verbose=0))
