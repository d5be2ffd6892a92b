"""Writes rnn.keras, rms.keras and sequences.keras, or sequences2.h5 with Keras 2, and inputs and the
predictions of Keras, rnn.npz and rms.npz.

    KERAS_BACKEND=torch python3 make_sequences.py
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


KERAS3 = keras.__version__ >= "3"
KERAS3 and write("rnn", (5, 3),
      L.SimpleRNN(4, activation="relu", return_sequences=True, name="forward"),
      L.SimpleRNN(3, go_backwards=True, use_bias=False, return_sequences=True, name="backward"),
      L.Bidirectional(L.SimpleRNN(2), name="both"))
KERAS3 and write("rms", (3, 4), L.Dense(5), L.RMSNormalization(epsilon=1e-3), L.Flatten(), L.Dense(2))


def sequences(name):
    """One model of masks, states, merged directions, cells and layers of each step."""
    i = L.Input((5, 3))
    masked = L.Masking()(i)
    both = L.Bidirectional(L.LSTM(2, return_sequences=True), merge_mode="mul")(masked)
    gru = L.GRU(3, reset_after=False, recurrent_activation="hard_sigmoid")(both)
    y, *state = L.LSTM(2, return_state=True, activation="relu")(masked)
    decoded = L.LSTM(2, return_sequences=True)(L.RepeatVector(3)(y), initial_state=state)
    each = L.TimeDistributed(keras.Sequential([L.Input((2,)), L.Dense(3), L.Dense(2, activation="tanh")]))(decoded)
    cells = L.RNN([L.GRUCell(2), L.SimpleRNNCell(3)], go_backwards=True)(i)
    model = keras.Model(i, L.Concatenate()([gru, L.Flatten()(each), cells]))
    model.set_weights([random.normal(size=w.shape).astype("f4") / 2 for w in model.get_weights()])
    x = random.normal(size=(6, 5, 3)).astype("f4")
    x[1:3, 3:] = 0
    model.save(os.path.join(here, name))
    np.savez(os.path.join(here, os.path.splitext(name)[0] + ".npz"), x0=x, y0=model.predict(x, verbose=0))


if not KERAS3:
    sequences("sequences2.h5")
else:
    sequences("sequences.keras")
