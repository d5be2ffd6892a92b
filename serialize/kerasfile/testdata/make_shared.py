"""shared.keras: a Dense that is also within a TimeDistributed, where Keras stores its weights. Run
with KERAS_BACKEND=torch and keras 3.15.1."""
import os

os.environ.setdefault("KERAS_BACKEND", "torch")
import keras

L = keras.layers
keras.utils.set_random_seed(1)
dense = L.Dense(4, name="shared")
steps, one = keras.Input((5, 3)), keras.Input((3,))
each = L.TimeDistributed(dense, name="each")(steps)
keras.Model([steps, one], L.Add()([L.GlobalAveragePooling1D()(each), dense(one)])).save("shared.keras")
