"""Makes frozen.keras, a model of Keras 3 with frozen layers, and frozen.npz: its samples, and the losses of four epochs
of SGD. Run it with KERAS_BACKEND=torch."""

import keras
import numpy as np

L = keras.layers

keras.utils.set_random_seed(1)
base = keras.Sequential([L.Input((6, 4)), L.Conv1D(3, 3, name="conv"), L.BatchNormalization(name="norm")], name="base")
base.trainable = False
i = L.Input((4, 3))
inner = keras.Model(i, L.Dense(4, name="second")(L.Dense(5, activation="tanh", name="first")(i)), name="inner")
inner.get_layer("first").trainable = False
each, both = L.TimeDistributed(L.Dense(3), name="each"), L.Bidirectional(L.LSTM(2, return_sequences=True), name="both")
cells = L.RNN([L.LSTMCell(2), L.LSTMCell(3)], name="cells")
x = L.Input((6, 4), name="x")
h = L.BatchNormalization(scale=False, name="unscaled")(both(each(inner(base(x)))))
y = L.Dense(2, name="head")(L.LayerNormalization(center=False, name="uncentered")(cells(h)))
model = keras.Model(x, y)
each.layer.trainable = both.forward_layer.trainable = cells.cell.cells[0].trainable = False
model.compile(keras.optimizers.SGD(0.05), "mse")
samples, targets = np.random.normal(size=(3, 6, 4)).astype("f4"), np.random.normal(size=(3, 2)).astype("f4")
model.train_on_batch(samples, targets)
model.save("frozen.keras")

model = keras.models.load_model("frozen.keras")
losses = model.fit(samples, targets, batch_size=3, epochs=4, shuffle=False, verbose=0).history["loss"]
np.savez("frozen.npz", x=samples, y=targets, losses=np.array(losses, "f4"))
print(losses, [v.path for v in model.trainable_variables])
