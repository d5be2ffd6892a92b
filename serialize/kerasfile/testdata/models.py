"""Models for the files of make_keras3.py and make_keras2.py, and what is stored of each:
the file in several formats and NAME.npz with inputs x0, …, outputs y0, … and the weights
w/LAYER/VARIABLE as the framework has them."""
import re
import numpy as np


def models(keras):
    L = keras.layers
    keras.utils.set_random_seed(1)

    def cnn():
        m = keras.Sequential([
            keras.Input((8, 6, 3)),
            L.Conv2D(4, 3, padding="same", activation="relu"),
            L.BatchNormalization(),
            L.MaxPooling2D(),
            L.Flatten(),
            L.Dropout(0.5),
            L.Dense(5, activation="softmax"),
        ], name="cnn")
        m.compile("adam", "sparse_categorical_crossentropy")
        return m, np.arange(16) % 5

    def mlp():
        m = keras.Sequential([
            keras.Input((7,)), L.Dense(6, use_bias=False), L.BatchNormalization(scale=False), L.Activation("relu"),
            L.Dense(5, activation="tanh"), L.LayerNormalization(), L.Dense(4, activation="gelu"), L.Dense(3, activation="sigmoid"),
        ], name="mlp")
        m.compile(keras.optimizers.SGD(0.01, momentum=0.9), "mse")
        return m, np.random.rand(16, 3)

    def graph():
        a, b = keras.Input((8, 8, 2), name="image"), keras.Input((3,), name="features")
        x = L.Conv2D(4, 3, strides=2, activation="silu", name="stem")(a)
        y = L.Conv2D(4, 1, name="shortcut")(x)
        x = L.DepthwiseConv2D(3, padding="same", depth_multiplier=1, name="depthwise")(x)
        x = L.Add(name="sum")([x, y])
        x = L.ReLU()(x)
        x = L.GlobalAveragePooling2D()(x)
        inner = keras.Sequential([keras.Input((3,)), L.Dense(4, name="d1"), L.Dense(3, activation="tanh", name="d2")], name="inner")
        f = inner(inner(b))
        z = L.Concatenate()([x, f])
        m = keras.Model([a, b], [L.Dense(2, name="first")(z), L.Dense(1, activation="sigmoid", name="second")(z)], name="graph")
        m.compile("adam", "mse")
        return m, [np.random.rand(16, 2), np.random.rand(16, 1)]

    def recurrent():
        i = keras.Input((6, 4))
        x = L.Bidirectional(L.LSTM(3, return_sequences=True))(i)
        x = L.LayerNormalization()(x)
        x = L.GRU(5, return_sequences=True)(x)
        x = L.SimpleRNN(4)(x)
        m = keras.Model(i, L.Dense(2)(x), name="recurrent")
        m.compile(keras.optimizers.SGD(0.01, momentum=0.9), "mse")
        return m, np.random.rand(16, 2)

    def transformer():
        i = keras.Input((5,), dtype="int32")
        x = L.Embedding(11, 6, name="tokens")(i)
        y = L.MultiHeadAttention(2, 3, name="attention")(x, x)
        x = L.LayerNormalization(epsilon=1e-6)(L.Add()([x, y]))
        y = L.Dense(6, name="down")(L.Dense(12, activation="gelu", name="up")(x))
        x = L.LayerNormalization(epsilon=1e-6)(L.Add()([x, y]))
        m = keras.Model(i, L.Dense(3)(L.GlobalAveragePooling1D()(x)), name="transformer")
        m.compile("adam", "mse")
        return m, np.random.rand(16, 3)

    def volumes():
        m = keras.Sequential([
            keras.Input((5, 6, 7, 2)),
            L.Conv3D(3, 2, activation="elu"), L.AveragePooling3D(2), L.Conv3DTranspose(2, 2, strides=2),
            L.Flatten(), L.Dense(3),
        ], name="volumes")
        m.compile("adam", "mse")
        return m, np.random.rand(16, 3)

    def signals():
        m = keras.Sequential([
            keras.Input((12, 3)),
            L.ZeroPadding1D(1), L.Conv1D(4, 3, dilation_rate=2, activation="relu"), L.BatchNormalization(), L.LeakyReLU(),
            L.SeparableConv1D(5, 3), L.MaxPooling1D(2), L.Conv1DTranspose(3, 3), L.GlobalMaxPooling1D(), L.Dense(2),
        ], name="signals")
        m.compile("adam", "mse")
        return m, np.random.rand(16, 2)

    def cells():
        i = keras.Input((4, 5), name="steps")
        step = keras.Sequential([keras.Input((5,)), L.Dense(4), L.BatchNormalization(), L.Dense(3, activation="tanh")], name="step")
        x = L.TimeDistributed(step, name="each")(i)
        x = L.RNN(L.StackedRNNCells([L.GRUCell(3), L.GRUCell(3)]), return_sequences=True, name="stacked")(x)
        x = L.Bidirectional(L.RNN(L.SimpleRNNCell(2), return_sequences=True), name="both")(x)
        if hasattr(L, "GroupQueryAttention"):
            x = L.GroupQueryAttention(2, 4, 2, name="attention")(x, x)
        m = keras.Model(i, L.RNN(L.LSTMCell(3), name="one")(x), name="cells")
        m.compile(keras.optimizers.SGD(0.01, momentum=0.9), "mse")
        return m, np.random.rand(16, 3)

    return [cnn, mlp, graph, recurrent, transformer, volumes, signals, cells]


def trained(keras, make):
    m, target = make()
    rng = np.random.default_rng(2)
    inputs = []
    for i in m.inputs:
        shape = (16,) + tuple(i.shape[1:])
        whole = "int" in (i.dtype if isinstance(i.dtype, str) else i.dtype.name)
        inputs.append(rng.integers(0, 11, shape).astype("int32") if whole else rng.standard_normal(shape).astype("float32"))
    m.fit(inputs if len(inputs) > 1 else inputs[0], target, epochs=2, batch_size=8, verbose=0)
    return m, [x[:4] for x in inputs]


def store(m, inputs, name):
    outputs = m.predict(inputs if len(inputs) > 1 else inputs[0], verbose=0)
    arrays = {f"x{i}": x for i, x in enumerate(inputs)}
    arrays |= {f"y{i}": y for i, y in enumerate(outputs if isinstance(outputs, list) else [outputs])}
    for layer, path in leaves(m, ""):
        for v in layer.weights:
            if "seed_generator" in getattr(v, "path", v.name):
                continue
            arrays["w/" + path + variable(layer, getattr(v, "path", v.name))] = np.array(v)
    np.savez(name, **arrays)


def leaves(m, prefix):
    for layer in m.layers:
        if hasattr(layer, "layers"):
            yield from leaves(layer, prefix + layer.name + "/")
        else:
            yield layer, prefix + layer.name + "/"


def variable(layer, path):
    """The name of a variable within its layer: forward/kernel, query/bias."""
    parts = path.split(":")[0].split("/")
    if layer.name in parts[:-1]:
        parts = parts[parts.index(layer.name) + 1:]
    parts = parts[parts[0] == "step":]  # the model within, which Keras 3 names
    parts = parts[parts.index("stacked_rnn_cells") + 1:] if "stacked_rnn_cells" in parts else [p for p in parts[:-1] if not re.fullmatch(r"\w+_cell(_\d+)?", p)] + parts[-1:]
    name = "/".join(re.sub(r"^(forward|backward)_.*", r"\1", p) for p in parts)
    return name.replace("depthwise_kernel", "kernel") if type(layer).__name__.startswith("DepthwiseConv") else name
