"""Small models of one or a few layers each, with random weights: zoo.py FOLDER writes NAME.EXT
and NAME.npz, with inputs x0, … and outputs y0, …, and prints the names. The extension is that
of the version of Keras: .keras, or .h5 for Keras 2."""
import os
import sys

os.environ.setdefault("KERAS_BACKEND", "torch")
os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")
import keras
import numpy as np

extension = ".h5" if keras.__version__.startswith("2.") else ".keras"
L = keras.layers
folder = sys.argv[1]
rng = np.random.default_rng(1)
zoo = {}


def sequential(name, shape, *layers):
    zoo[name] = lambda: keras.Sequential([keras.Input(shape)] + [l() for l in layers], name=name)


image = (7, 6, 3)
for strides in (1, 2, 3):
    for padding in ("same", "valid"):
        sequential(f"conv_{padding}_{strides}", image, lambda s=strides, p=padding: L.Conv2D(4, 3, strides=s, padding=p, activation="relu"))
        sequential(f"conv4_{padding}_{strides}", image, lambda s=strides, p=padding: L.Conv2D(4, (4, 2), strides=s, padding=p))
        sequential(f"depthwise_{padding}_{strides}", image, lambda s=strides, p=padding: L.DepthwiseConv2D(3, strides=s, padding=p, depth_multiplier=2))
        sequential(f"separable_{padding}_{strides}", image, lambda s=strides, p=padding: L.SeparableConv2D(5, 3, strides=s, padding=p, activation="tanh"))
        for kernel in (1, 2, 3, 4, 5):
            sequential(f"transposed{kernel}_{padding}_{strides}", image, lambda k=kernel, s=strides, p=padding: L.Conv2DTranspose(4, k, strides=s, padding=p))
        for pool in (2, 3):
            sequential(f"maxpool{pool}_{padding}_{strides}", image, lambda k=pool, s=strides, p=padding: L.MaxPooling2D(k, strides=s, padding=p))
            sequential(f"avgpool{pool}_{padding}_{strides}", image, lambda k=pool, s=strides, p=padding: L.AveragePooling2D(k, strides=s, padding=p))
sequential("dilated", image, lambda: L.Conv2D(4, 3, dilation_rate=2, padding="same"))
sequential("grouped", (7, 6, 4), lambda: L.Conv2D(6, 3, groups=2))
sequential("causal", (9, 3), lambda: L.Conv1D(4, 3, padding="causal", dilation_rate=2))
sequential("conv1_same", (9, 3), lambda: L.Conv1D(4, 4, strides=2, padding="same"), lambda: L.Flatten(), lambda: L.Dense(2))
sequential("transposed1", (5, 3), lambda: L.Conv1DTranspose(4, 4, strides=3, padding="same"))
sequential("transposed3", (3, 4, 3, 2), lambda: L.Conv3DTranspose(3, 3, strides=2, padding="same"))
sequential("conv3", (4, 5, 6, 2), lambda: L.Conv3D(3, 3, strides=2, padding="same"), lambda: L.BatchNormalization(), lambda: L.GlobalMaxPooling3D())
sequential("padded", image, lambda: L.ZeroPadding2D(((1, 2), (0, 3))), lambda: L.Cropping2D(((1, 0), (2, 1))), lambda: L.UpSampling2D((2, 3)))
sequential("padded1", (5, 2), lambda: L.ZeroPadding1D((2, 1)), lambda: L.Cropping1D(1), lambda: L.UpSampling1D(2))
sequential("flat_bn", image, lambda: L.Conv2D(4, 3), lambda: L.Flatten(), lambda: L.BatchNormalization(), lambda: L.Dense(3))
sequential("flat_ln", image, lambda: L.Conv2D(4, 3), lambda: L.Flatten(), lambda: L.LayerNormalization(), lambda: L.Dense(3))
sequential("flat_out", image, lambda: L.Conv2D(4, 3), lambda: L.Flatten())
sequential("flat_softmax", image, lambda: L.Conv2D(4, 3), lambda: L.Flatten(), lambda: L.Dropout(0.2), lambda: L.Softmax())
sequential("flat_input", image, lambda: L.Flatten(), lambda: L.Dense(3))
sequential("flat_sequence", (5, 4), lambda: L.Flatten(), lambda: L.Dense(3))
sequential("flat_reshape", image, lambda: L.Reshape((14, 9)), lambda: L.Conv1D(4, 3), lambda: L.Reshape((-1,)), lambda: L.Dense(3))
sequential("reshaped", (12,), lambda: L.Dense(24), lambda: L.Reshape((2, 3, 4)), lambda: L.Conv2D(3, 2), lambda: L.Permute((3, 1, 2)), lambda: L.Flatten())
sequential("layernorm_image", image, lambda: L.LayerNormalization(), lambda: L.Conv2D(2, 3))
sequential("layernorm_all", image, lambda: L.LayerNormalization(axis=[1, 2, 3]), lambda: L.Conv2D(2, 3))
sequential("layernorm_sequence", (5, 4), lambda: L.Conv1D(4, 3), lambda: L.LayerNormalization(), lambda: L.Flatten(), lambda: L.Dense(3))
sequential("bn_plain", (5,), lambda: L.BatchNormalization(center=False, scale=False), lambda: L.Dense(3, use_bias=False))
sequential("bn_center", image, lambda: L.BatchNormalization(scale=False), lambda: L.Activation("relu"))
sequential("keepdims", image, lambda: L.GlobalAveragePooling2D(keepdims=True), lambda: L.Conv2D(4, 1), lambda: L.Flatten())
sequential("rescaled", image, lambda: L.Rescaling(1 / 127.5, offset=-1), lambda: L.Conv2D(4, 3))
sequential("augmented", image, lambda: L.RandomFlip(), lambda: L.RandomRotation(0.1), lambda: L.RandomZoom(0.1), lambda: L.RandomContrast(0.1),
           lambda: L.RandomTranslation(0.1, 0.1), lambda: L.RandomBrightness(0.1), lambda: L.Conv2D(4, 3), lambda: L.Flatten(), lambda: L.Dense(2))
sequential("relu6", image, lambda: L.ReLU(max_value=6), lambda: L.LeakyReLU(0.1), lambda: L.ELU(0.7))
for name in ("relu", "tanh", "sigmoid", "silu", "gelu", "elu", "selu", "softplus", "softsign", "exponential", "softmax", "swish", "linear"):
    sequential("dense_" + name, (6,), lambda a=name: L.Dense(5, activation=a))
    sequential("image_" + name, image, lambda a=name: L.Conv2D(5, 2, activation=a))
for name in ("hard_sigmoid", "mish") + ("log_sigmoid", "squareplus", "tanh_shrink", "hard_shrink", "soft_shrink", "log_softmax", "hard_silu", "celu", "relu6", "leaky_relu") * (extension == ".keras"):
    sequential("dense_" + name, (6,), lambda a=name: L.Dense(5, activation=a))
sequential("dense_steps", (4, 8), lambda: L.Dense(5, activation="tanh"), lambda: L.TimeDistributed(L.Dense(3)), lambda: L.Flatten(), lambda: L.Dense(2))
sequential("dense_image", image, lambda: L.Dense(5, activation="softmax"), lambda: L.Conv2D(3, 2), lambda: L.Dense(4))
sequential("einsum_steps", (4, 8), lambda: L.EinsumDense("abc,cd->abd", (4, 5), bias_axes="d", activation="relu"), lambda: L.Flatten(), lambda: L.EinsumDense("ab,bc->ac", 3))
sequential("einsum_image", image, lambda: L.EinsumDense("...x,xy->...y", 4), lambda: L.Conv2D(3, 2))
sequential("dense_volume", (3, 4, 2, 3), lambda: L.Dense(5, use_bias=False), lambda: L.Flatten(), lambda: L.Dense(2))
sequential("permuted_dense", (6, 4), lambda: L.Permute((2, 1)), lambda: L.Reshape((3, 8)), lambda: L.Dense(5))
sequential("repeated", (5,), lambda: L.RepeatVector(3), lambda: L.Conv1D(4, 2), lambda: L.Flatten(), lambda: L.Dense(2))
sequential("repeated_flat", image, lambda: L.Conv2D(2, 3), lambda: L.Flatten(), lambda: L.RepeatVector(2))

sequential("bilinear", image, lambda: L.Conv2D(4, 3), lambda: L.UpSampling2D((2, 3), interpolation="bilinear"), lambda: L.Conv2D(2, 2))
sequential("dropped", image, lambda: L.Conv2D(4, 3), lambda: L.SpatialDropout2D(0.3), lambda: L.GaussianNoise(0.1), lambda: L.AlphaDropout(0.2), lambda: L.Flatten(), lambda: L.Dropout(0.1))
sequential("dropped_steps", (5, 4), lambda: L.SpatialDropout1D(0.3), lambda: L.Conv1D(3, 2), lambda: L.GlobalMaxPooling1D())
sequential("prelu", image, lambda: L.Conv2D(4, 3), lambda: L.PReLU(shared_axes=[1, 2], alpha_initializer="uniform"), lambda: L.Flatten(), lambda: L.Dense(5), lambda: L.PReLU())
sequential("threshold", (6,), lambda: L.Dense(5), lambda: L.ReLU(threshold=0.1))
sequential("groupnorm", image, lambda: L.Conv2D(8, 3), lambda: L.GroupNormalization(4), lambda: L.Conv2D(2, 2)) if hasattr(L, "GroupNormalization") else None
sequential("groupnorm_steps", (5, 6), lambda: L.GroupNormalization(-1, scale=False), lambda: L.Flatten(), lambda: L.Dense(2)) if hasattr(L, "GroupNormalization") else None
sequential("pools1", (7, 3), lambda: L.AveragePooling1D(3, strides=2, padding="same"), lambda: L.MaxPooling1D(2, strides=1, padding="same"))
sequential("pools3", (5, 4, 6, 2), lambda: L.AveragePooling3D(2, padding="same"), lambda: L.MaxPooling3D(2, strides=1, padding="same"))


def graph(f):
    zoo[f.__name__] = f


@graph
def normalized():
    n = L.Normalization()
    n.adapt(rng.standard_normal((20, *image)).astype("float32") * 3 + 2)
    return keras.Sequential([keras.Input(image), L.Rescaling(0.5, offset=1), n, L.Conv2D(4, 3)])


@graph
def operators():
    i = keras.Input(image)
    a, b = L.Conv2D(4, 3)(1 - i / 4 * 3.0), -L.Conv2D(4, 3)(i + 2 - 0.5)
    if extension == ".h5":
        return keras.Model(i, L.Add()([a, b]))
    s = L.GlobalAveragePooling2D(keepdims=True)(a)
    return keras.Model(i, L.Dense(2)(L.Flatten()(keras.ops.maximum(a * s - b, a + b))))


@graph
def squeeze_excite():
    i = keras.Input(image)
    a = L.Conv2D(4, 3)(i)
    s = L.Reshape((1, 1, 4))(L.Dense(4, activation="sigmoid")(L.GlobalAveragePooling2D()(a)))
    t = L.Dense(4)(L.GlobalMaxPooling2D(keepdims=True)(a))
    return keras.Model(i, [L.Flatten()(L.Multiply()([s, a])), L.Add()([a, t])])


@graph
def residual():
    i = keras.Input(image)
    x = L.Conv2D(4, 3, padding="same", use_bias=False)(i)
    x = L.BatchNormalization()(x)
    y = L.Activation("relu")(x)
    y = L.Conv2D(4, 3, padding="same")(y)
    x = L.Add()([x, y])
    return keras.Model(i, L.Dense(3, activation="softmax")(L.GlobalAveragePooling2D()(x)))


@graph
def inception():
    i = keras.Input(image)
    a, b = L.Conv2D(3, 1)(i), L.Conv2D(2, 3, padding="same")(i)
    c = L.MaxPooling2D(3, strides=1, padding="same")(i)
    x = L.Concatenate()([a, b, c])
    return keras.Model(i, L.Dense(2)(L.Flatten()(x)))


@graph
def joined():
    i, j = keras.Input(image), keras.Input((4,))
    x = L.Flatten()(L.Conv2D(3, 3)(i))
    return keras.Model([i, j], L.Dense(3)(L.Concatenate()([x, j])))


@graph
def concatenated_rows():
    i = keras.Input(image)
    a, b = L.Conv2D(3, 2, padding="same")(i), L.Conv2D(3, 3, padding="same")(i)
    return keras.Model(i, L.Concatenate(axis=1)([a, b]))


@graph
def merged():
    i = keras.Input((6,))
    a, b = L.Dense(4)(i), L.Dense(4)(i)
    return keras.Model(i, [L.Subtract()([a, b]), L.Multiply()([a, b]), L.Average()([a, b]), L.Maximum()([a, b]), L.Minimum()([a, b])])


@graph
def siamese():
    i, j = keras.Input(image), keras.Input(image)
    tower = keras.Sequential([keras.Input(image), L.Conv2D(3, 3, activation="relu"), L.BatchNormalization(), L.Flatten(), L.Dense(4)], name="tower")
    return keras.Model([i, j], L.Dense(1, activation="sigmoid")(L.Concatenate()([tower(i), tower(j)])))


@graph
def nested():
    i = keras.Input(image)
    k = keras.Input(image)
    block = keras.Model(k, [L.Conv2D(3, 3)(k), L.MaxPooling2D(2)(k)], name="block")
    a, b = block(i)
    outer = keras.Sequential([keras.Input((5, 4, 3)), keras.Sequential([keras.Input((5, 4, 3)), L.Conv2D(2, 2)], name="inner"), L.GlobalMaxPooling2D()], name="outer")
    return keras.Model(i, L.Concatenate()([outer(a), L.Flatten()(b)]))


@graph
def masked():
    i, j = keras.Input((5, 4)), keras.Input((6,))
    x = L.Dense(3)(L.Dropout(0.2)(L.Masking(0.25)(i)))
    x = L.LayerNormalization()(L.Bidirectional(L.LSTM(2, return_sequences=True))(L.TimeDistributed(L.Dense(3))(x)))
    e = L.Embedding(4, 3, mask_zero=True)(j)
    lost = L.GlobalAveragePooling1D()(e * 2 + L.RepeatVector(6)(L.Dense(3)(L.Flatten()(i)))) if extension == ".keras" else L.GlobalMaxPooling1D()(e)
    return keras.Model([i, j], [L.GlobalAveragePooling1D()(x), L.GlobalAveragePooling1D()(L.Activation("tanh")(e)), lost])


for name, make in zoo.items():
    keras.utils.set_random_seed(3)
    m = make()
    for v in m.weights:
        if name == "normalized" and v.name.split(":")[0] in ("mean", "variance", "count"):
            continue  # which were adapted
        a = rng.uniform(0.2, 1.2, v.shape) if "variance" in v.name or "gamma" in v.name else rng.standard_normal(v.shape) / 2
        v.assign(a.astype("float32"))
    inputs = [rng.standard_normal((3,) + tuple(i.shape[1:])).astype("float32") for i in m.inputs]
    if name == "masked":
        inputs[0][0, 3:] = inputs[0][1, 0] = 0.25
        inputs[1] = np.array([[1, 2, 0, 3, 0, 0], [0, 0, 1, 1, 2, 3], [1, 2, 3, 1, 2, 3]], "int32")
    outputs = m(inputs if len(inputs) > 1 else inputs[0], training=False)
    outputs = outputs if isinstance(outputs, (list, tuple)) else [outputs]
    arrays = {f"x{i}": x for i, x in enumerate(inputs)} | {f"y{i}": keras.ops.convert_to_numpy(y) if hasattr(keras, "ops") else y.numpy() for i, y in enumerate(outputs)}
    np.savez(os.path.join(folder, name + ".npz"), **arrays)
    m.save(os.path.join(folder, name + extension))
    print("model", name + extension)
