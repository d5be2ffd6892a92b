"""Trains with JAX, whose arrays share the memory of batches, and goes on in the middle of an epoch.

    python3 python/examples/jax_digits.py
"""
import os
import sys

here = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.dirname(here))  # not needed where h5dnn is installed

import jax
import jax.numpy as jnp

import h5dnn

DIGITS = os.path.join(here, "..", "..", "testdata", "digits.h5")


def batches(part, **settings):
    loader = h5dnn.Loader(DIGITS, {"x": part + "/images", "y": part + "/labels"}, **settings)
    loader.transform = lambda b: {name: jnp.from_dlpack(array) for name, array in b.items()}
    return loader


def scores(weights, x):
    return x.reshape(len(x), -1) / 16 @ weights


@jax.jit
def step(weights, x, y):
    loss = lambda w: -jax.nn.log_softmax(scores(w, x))[jnp.arange(len(y)), y].mean()  # noqa: E731
    return weights - 0.5 * jax.grad(loss)(weights)


weights, data = jnp.zeros((64, 10)), batches("train", batch_size=64, seed=1, drop_last=True)  # of one shape, so that step is compiled once
for _ in range(10):
    for batch in data:
        weights = step(weights, batch["x"], batch["y"])
for batch in data:
    weights = step(weights, batch["x"], batch["y"])
    if data.state_dict()["consumed"] == 640:
        break
again = batches("train", batch_size=64, seed=1, drop_last=True)
again.load_state_dict(data.state_dict())
for batch in again:
    weights = step(weights, batch["x"], batch["y"])

(test,) = batches("test", batch_size=360, shuffle=False)
accuracy = (scores(weights, test["x"]).argmax(1) == test["y"]).mean()
print(f"accuracy {accuracy:.2f}")
assert accuracy > 0.9
