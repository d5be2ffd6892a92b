"""Loads files that h5dnn wrote and compares what their models predict with what the models
predicted that Keras saved: examine.py FIXTURES FOLDER prints FILE DIFFERENCE for each."""
import os
import sys

os.environ.setdefault("KERAS_BACKEND", "torch")
os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")
import keras
import numpy as np

fixtures, folder = sys.argv[1:]
for name in sorted(os.listdir(folder)):
    base = name.split(".")[0]
    stored = np.load(os.path.join(fixtures, base + ".npz"))
    path = os.path.join(folder, name)
    if name.endswith(".weights.h5"):
        m = keras.models.load_model(os.path.join(fixtures, base + ".keras"))
        for v in m.weights:
            v.assign(np.zeros(v.shape))
        m.load_weights(path)
    elif name.endswith(".only.h5"):
        m = keras.models.load_model(os.path.join(fixtures, base + (".keras" if os.path.exists(os.path.join(fixtures, base + ".keras")) else ".h5")))
        for v in m.weights:
            v.assign(np.zeros(v.shape))
        m.load_weights(path)
    else:
        try:
            m = keras.models.load_model(path)
        except ValueError as e:  # Keras 3 does not find the loss "mse" of .h5 files, its own ones included
            if "keras.metrics.mse" not in str(e):
                raise
            m = keras.models.load_model(path, compile=False)
    inputs = [stored[f"x{i}"] for i in range(len(m.inputs))]
    outputs = m.predict(inputs if len(inputs) > 1 else inputs[0], verbose=0)
    outputs = outputs if isinstance(outputs, list) else [outputs]
    worst = max(float(np.abs(y - stored[f"y{i}"]).max()) for i, y in enumerate(outputs))
    steps = -1
    if getattr(m, "optimizer", None) is not None:
        steps = int(np.array(m.optimizer.iterations))
    print(name, worst, steps)
