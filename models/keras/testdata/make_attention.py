"""Writes attention.keras, of the layers of attention with their arguments, and its inputs and the predictions of Keras, attention.npz.

    KERAS_BACKEND=torch python3 make_attention.py
"""
import os

import keras
import numpy as np

here = os.path.dirname(os.path.abspath(__file__))
L, random = keras.layers, np.random.default_rng(4)
q, v, k = keras.Input((5, 6), name="q"), keras.Input((4, 3), name="v"), keras.Input((4, 7), name="k")
mask, steps, rows = keras.Input((5, 4), dtype="bool", name="mask"), keras.Input((4,), dtype="bool", name="steps"), keras.Input((5,), dtype="bool", name="rows")
cross = L.MultiHeadAttention(2, 3, value_dim=4, name="cross")(q, v, attention_mask=mask)
keyed = L.MultiHeadAttention(3, 2, output_shape=8, use_bias=False, dropout=0.2, name="keyed")(q, value=v, key=k, value_mask=steps)
own = L.MultiHeadAttention(2, 3, name="own")
causal = own(own(cross, cross, use_causal_mask=True), cross, use_causal_mask=True)
gated = L.MultiHeadAttention(2, 2, use_gate=True, name="gated")(causal, causal)
grouped = L.GroupQueryAttention(3, 4, 2, name="grouped")(gated, cross, use_causal_mask=True)
gates = L.GroupQueryAttention(2, 4, 1, use_gate=True, use_bias=False, name="gates")(grouped, causal, value_mask=rows)
dot = L.Attention(use_scale=True, name="dot")([gates, cross], use_causal_mask=True)
plain = L.Attention(name="plain")([dot, gated])
concat = L.Attention(score_mode="concat", use_scale=True, name="concat")([dot, cross])
additive = L.AdditiveAttention(name="additive")([dot, gated, cross])
bare = L.AdditiveAttention(use_scale=False, name="bare")([dot, gated], use_causal_mask=True)
x = L.LayerNormalization(name="norm")(L.Concatenate()([plain, concat, additive, bare]))
x = L.Dense(7, activation="gelu", name="up")(x)
model = keras.Model([q, v, k, mask, steps, rows], [L.Dense(3, name="out")(x), keyed])
for layer in model.layers:
    layer.set_weights([random.normal(size=w.shape).astype("f4") / 2 for w in layer.get_weights()])
inputs = [random.normal(size=(6, *i.shape[1:])).astype("f4") for i in (q, v, k)] + [random.random((6, 5, 4)) < 0.7, random.random((6, 4)) < 0.7, random.random((6, 5)) < 0.7]
inputs[3][..., 0] = inputs[4][..., 1] = inputs[5][..., 2] = True  # each query takes a key
model.save(os.path.join(here, "attention.keras"))
predicted = model.predict(inputs, verbose=0)
np.savez(os.path.join(here, "attention.npz"), **{f"x{i}": x for i, x in enumerate(inputs)}, **{f"y{i}": y for i, y in enumerate(predicted)})
