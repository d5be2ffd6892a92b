"""Writes rnn.keras and rms.keras, and inputs and the
predictions of Keras, rnn.npz and rms.npz.

    KERAS_BACKEND=torch python3 make_lacking.py
"""
import os

import keras
import numpy as np

here = os.path.dirname(os.path.abspath(__file__))
L, random = keras.layers, np.random.default_rng(1)


def write(name, shape, *layers):
    model = keras.Sequential([L.Input(shape), *layers])
    model.set_weights([random.normal(size=w.shape).astype("f4") / 2 for w in model.get_weights()])
    x = random.normal(size=(6, *shape)).astype("f4")
    model.save(os.path.join(here, name + ".keras"))
    np.savez(os.path.join(here, name + ".npz"), x0=x, y0=model.predict(x, verbose=0))


write("rnn", (5, 3),
      L.SimpleRNN(4, activation="relu", return_sequences=True, name="forward"),
      L.SimpleRNN(3, go_backwards=True, use_bias=False, return_sequences=True, name="backward"),
      L.Bidirectional(L.SimpleRNN(2), name="both"))
write("rms", (3, 4), L.Dense(5), L.RMSNormalization(epsilon=1e-3), L.Flatten(), L.Dense(2))
