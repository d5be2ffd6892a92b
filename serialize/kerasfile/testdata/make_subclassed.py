"""subclassed.keras: a trained model of a class of its own, whose layers the file does not list. Run
with KERAS_BACKEND=torch and keras 3.15.1."""
import os

os.environ.setdefault("KERAS_BACKEND", "torch")
import keras
import numpy as np


class Net(keras.Model):
    def __init__(self, **settings):
        super().__init__(**settings)
        self.stem = keras.layers.Dense(4, activation="relu")
        self.blocks = [keras.layers.Dense(4), keras.layers.Dense(2)]

    def call(self, x):
        x = self.stem(x)
        for block in self.blocks:
            x = block(x)
        return x


keras.utils.set_random_seed(1)
m = Net(name="net")
m.compile("adam", "mse")
m.fit(np.random.rand(8, 3), np.random.rand(8, 2), verbose=0)
m.save("subclassed.keras")
