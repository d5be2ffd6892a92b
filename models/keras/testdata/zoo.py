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
sequential("resized", image, lambda: L.CenterCrop(4, 5), lambda: L.Conv2D(2, 3), lambda: L.Resizing(5, 2))
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


@graph
def masked_states():
    i, h = keras.Input((6,), dtype="int32"), keras.Input((3,))
    e = L.Embedding(4, 3, mask_zero=True)(i)
    y = L.GRU(3, return_sequences=True)(e, initial_state=h)  # Keras 3 masks no layer that has states, and passes the mask
    return keras.Model([i, h], [y, L.GlobalAveragePooling1D()(y), L.LSTM(2)(e, initial_state=[h[:, :2], h[:, 1:]])])


if extension == ".h5":
    import types
    import tensorflow as tf
    O = types.SimpleNamespace(
        mean=tf.reduce_mean, sum=tf.reduce_sum, max=tf.reduce_max, min=tf.reduce_min, prod=tf.reduce_prod, var=tf.math.reduce_variance, std=tf.math.reduce_std,
        logsumexp=tf.reduce_logsumexp, concatenate=tf.concat, stack=tf.stack, reshape=tf.reshape, transpose=tf.transpose, squeeze=tf.squeeze, expand_dims=tf.expand_dims,
        matmul=tf.matmul, abs=tf.abs, square=tf.square, sqrt=tf.sqrt, exp=tf.exp, log=tf.math.log, rsqrt=tf.math.rsqrt, sign=tf.sign, erf=tf.math.erf, maximum=tf.maximum,
        minimum=tf.minimum, clip=tf.clip_by_value, softmax=tf.nn.softmax, log_softmax=tf.nn.log_softmax, leaky_relu=tf.nn.leaky_relu, elu=tf.nn.elu, silu=tf.nn.silu,
        gelu=tf.nn.gelu, cast=tf.cast, where=tf.where, argmax=tf.argmax, argmin=tf.argmin, one_hot=tf.one_hot, take=tf.gather, pad=tf.pad, cumsum=tf.cumsum, greater=tf.greater,
        equal=tf.equal, not_equal=tf.not_equal, less=tf.less, less_equal=tf.less_equal, logical_and=tf.logical_and, logical_or=tf.logical_or, logical_not=tf.logical_not, round=tf.round, subtract=tf.subtract, norm=tf.norm, normalize=tf.math.l2_normalize, flip=lambda x, axis: tf.reverse(x, [axis]), tile=tf.tile, split=tf.split)
else:
    O = keras.ops


def operation(name, shapes, f, dtype="float32"):
    def make():
        inputs = [keras.Input(s, dtype=dtype) for s in shapes]
        return keras.Model(inputs, f(*inputs))
    zoo["ops_" + name] = make


steps, two = (5, 4), ((5, 4), (5, 4))
operation("slices", [steps, image], lambda x, i: [x[:, -1], x[:, :3], x[..., 0], x[:, 1:-1:2, None, 1:], x[:, None], i[:, 1:, ..., :2], L.Conv2D(3, 2)(i)[:, :, -1, 1:], x[:, 0, -1]])
operation("sliced_flat", [image], lambda i: [L.Flatten()(L.Conv2D(3, 2)(i))[:, 3:50], L.Dense(2)(L.Flatten()(L.Conv2D(4, 3)(i)[:, 1:]))])
operation("reduced", [steps, image], lambda x, i: [O.mean(x, axis=1), O.sum(x, axis=-1, keepdims=True), O.max(x, axis=[1, 2], keepdims=True), O.min(x, axis=1), O.var(x, axis=1), O.std(x, axis=-1),
          O.logsumexp(x, axis=1), O.mean(L.Conv2D(3, 2)(i), axis=(1, 2)), O.prod(x, axis=2), O.norm(x, axis=-1)])
operation("elementwise", two, lambda x, y: [O.abs(x), O.square(y), O.sqrt(O.abs(x) + 0.1), O.log(O.abs(x) + 1), O.exp(x), x ** 2, x * x, 1 / (O.abs(y) + 1), x / (O.abs(y) + 1), x - y])
operation("elementwise2", two, lambda x, y: [O.maximum(x, y), O.maximum(x, 0.1), O.minimum(0.2, y), O.clip(x, -0.5, 1), 2.0 ** x, O.rsqrt(O.abs(x) + 1), O.sign(x), O.erf(y), x // 2.0, (x + 3) % 2.0])
operation("elementwise_image", [image, image], lambda i, j: [L.Conv2D(3, 2)(O.abs(L.Conv2D(4, 2)(i)) / (O.square(L.Conv2D(4, 2)(j)) + 1)), L.Dense(2)(O.abs(L.Flatten()(L.Conv2D(2, 5)(i))))])
operation("activations", [steps], lambda x: [O.softmax(x, axis=1), O.softmax(x), O.log_softmax(x, axis=1), O.leaky_relu(x, 0.3), O.elu(x), O.silu(x), O.gelu(x), O.cast(x, "float32") + 1])
operation("shaped", [steps, (4,), image], lambda x, z, i: [O.reshape(x, (-1, 20)), O.reshape(x, (-1, 2, 10)), O.transpose(x, (0, 2, 1)), O.expand_dims(z, 1), O.expand_dims(x, -1), O.squeeze(O.expand_dims(z, 1), 1),
          O.flip(x, axis=1), O.tile(x, (1, 2, 3)), O.concatenate([x, x * 2], axis=1), O.stack([z, z + 1], axis=1)])
operation("products", [steps, steps, (4,), (4,)], lambda x, y, z, w: [x @ O.transpose(y, (0, 2, 1)), O.matmul(O.transpose(x, (0, 2, 1)), y), O.sum(z * w, axis=-1, keepdims=True), L.Dot(axes=1)([z, w]),
          L.Dot(axes=1, normalize=True)([z, w]), L.Dot(axes=(2, 1))([x, z]), L.Dot(axes=2)([x, y]), O.squeeze(L.Dot(axes=1)([z, w]), -1)])
operation("normalized", two, lambda x, y: [O.normalize(x, axis=-1), O.normalize(y, axis=1), (x - O.mean(x, axis=1, keepdims=True)) / (O.std(x, axis=1, keepdims=True) + 1e-6),
          L.UnitNormalization()(x), L.UnitNormalization(axis=[1, 2])(y)] if hasattr(L, "UnitNormalization") else O.normalize(x, axis=-1))
operation("split", [(6, 4)], lambda x: [*O.split(x, 2, axis=1), *O.split(x, [1, 3] if extension == ".keras" else [1, 2, 1], axis=2)])
operation("pooled_by_attention", [steps], lambda x: O.sum(x * L.Softmax(axis=1)(L.Dense(1)(x)), axis=1))
operation("broadcast", [steps, (4,), image], lambda x, z, i: [L.Multiply()([x, L.Dense(1)(x)]), L.Add()([x, L.Reshape((1, 4))(z)]), L.Multiply()([L.Dense(3)(i), L.Dense(1, activation="sigmoid")(i)]), x * z[:, None], L.Maximum()([x, z[:, None, :]])])
if extension == ".keras":
    operation("others", [steps, steps], lambda x, y: [O.swapaxes(x, 1, 2), O.moveaxis(x, 1, -1), O.repeat(x, 2, axis=1), O.einsum("bij,bkj->bik", x, y), O.hard_sigmoid(x), O.log1p(O.abs(x)), O.relu6(x), O.sigmoid(x), O.gelu(x, approximate=False)])
else:
    operation("others", two, lambda x, y: [tf.strided_slice(x, [0, 1, 0], [0, 3, 4], begin_mask=5, end_mask=5), tf.slice(x, [0, 1, 0], [-1, 2, -1]), keras.backend.batch_dot(x, y, axes=2),
              keras.backend.l2_normalize(x, 1), keras.backend.sqrt(keras.backend.maximum(x, 0.1)), tf.matmul(x, y, transpose_b=True), keras.backend.repeat(x[:, 0], 3), x[:, ::-1]])
k = np.array([[0.5, -1, 2, 1]], "float32")
operation("compared", two, lambda x, y: [O.where(x > y, x, y * 2), O.where(O.greater(x, 0.2), x, 0.0), O.cast(O.less_equal(x, y), "float32"), O.cast(O.logical_and(x > 0, O.logical_not(y > 0)), "float32"), O.cast(0.1 < x, "float32") * y,
          O.where(O.logical_or(x < -1, O.less(1.0, x)), 1.0, 0.0), O.cast(O.equal(O.round(x), O.round(y)), "float32"), O.cast(O.cast(x * 3, "int32"), "float32"), O.cast(O.not_equal(O.round(x), 0), "float32") + O.expand_dims(y[..., 0], -1)])
operation("arrays", [steps, image], lambda x, i: [x + k, x[:, 0] * k, O.subtract(k[0], x), O.maximum(x, k), L.Conv2D(3, 2)(i) * k[0, :3], x / k, 3.0 % (O.abs(x) + 1), 5.0 - x, 2.0 / (x * x + 1)])
operation("indexed", [steps, image], lambda x, i: [O.argmax(x, axis=-1), O.one_hot(O.argmax(x, axis=-1), 4), O.one_hot(O.argmin(x, axis=1), 5), O.take(x, [2, 0, 3], axis=1), O.take(x, 1, axis=2), O.pad(x, [[0, 0], [1, 2], [0, 1]]),
          O.cumsum(x, axis=1), O.pad(L.Conv2D(3, 2)(i), [[0, 0], [0, 0], [1, 0], [2, 1]])])


def table(dtype):
    def make():
        c = keras.Input((4,), dtype=dtype)
        e = [L.Embedding(4, 2)(c[:, i]) for i in range(2)] + [L.Flatten()(L.Embedding(4, 3)(c[:, 2:]))]
        own = L.Reshape((2,))(L.Embedding(4, 2)(L.Reshape((1,))(c[:, 3:])))
        rest = [L.Dense(3)(O.cast(c[:, 1:], "float32"))] if extension == ".h5" and dtype != "float32" else [L.Dense(3)(c[:, 1:])]
        return keras.Model(c, L.Dense(3)(L.Concatenate()(e + [own] + rest)))
    zoo["table_" + dtype] = make


@graph
def masked_by_hand():
    i = keras.Input((6,), dtype="int32")
    m = O.cast(O.not_equal(i, 0), "float32")
    e = L.Embedding(4, 3)(i)
    mean = O.sum(e * O.expand_dims(m, -1), axis=1) / (O.sum(m, axis=1, keepdims=True) + 1)
    return keras.Model(i, [mean, L.LSTM(3)(e, mask=O.not_equal(i, 0)), L.GRU(3)(e, mask=O.greater(i, 1)), L.GlobalAveragePooling1D()(L.Embedding(4, 2, mask_zero=True)(i))])


table("int32")
table("float32")
@graph
def recurrent_convolutions():
    i, k = keras.Input((3, 6, 5, 2)), keras.Input((4, 7, 2))
    y, h, c = L.ConvLSTM2D(3, (3, 2), padding="same", return_state=True, go_backwards=True, return_sequences=True, use_bias=False)(i)
    z = L.ConvLSTM2D(3, 2, padding="same", recurrent_activation="hard_sigmoid", activation="relu")(y, initial_state=[h, c])
    return keras.Model([i, k], [y, h, c, z, L.Flatten()(L.ConvLSTM1D(2, 3, strides=2)(k))])


@graph
def categories():
    i, x = keras.Input((3,), dtype="int32"), keras.Input((1,))
    one, bins = i[:, :1], [-0.5, 0.0, 0.7]
    ys = [L.CategoryEncoding(4, output_mode=mode)(v) for mode, v in (("one_hot", one), ("multi_hot", i), ("count", i))]
    ys += [L.Flatten()(L.Embedding(4, 2)(L.Discretization(bins)(x))), L.Dense(2)(L.Normalization(mean=[1.0, 2.0], variance=[4.0, 0.0])(L.Dense(2)(x))), L.Normalization(mean=0.5, variance=4.0, axis=None)(x)]
    if extension == ".h5":  # which Keras 3 has with TensorFlow alone
        ys += [L.Flatten()(L.Embedding(5, 2)(L.IntegerLookup(vocabulary=[3, 1, 7])(i))), L.IntegerLookup(vocabulary=[2, 1, 0], output_mode="multi_hot")(i), L.Dense(2)(L.IntegerLookup(vocabulary=[3, 1], mask_token=0, output_mode="int")(i))]
    return keras.Model([i, x], ys + ([L.Discretization(bins, output_mode="one_hot")(x)] if hasattr(L.Discretization(bins), "output_mode") else []))


sequential("prelu_each", image, lambda: L.Conv2D(4, 3), lambda: L.PReLU(alpha_initializer="uniform"), lambda: L.PReLU(shared_axes=[1]), lambda: L.Flatten(), lambda: L.Dense(2))
sequential("prelu_steps", (5, 4), lambda: L.PReLU(), lambda: L.Conv1D(3, 2), lambda: L.PReLU(shared_axes=[1]))
if hasattr(L, "SpectralNormalization"):
    sequential("spectral", image, lambda: L.SpectralNormalization(L.Conv2D(4, 3, activation="relu")), lambda: L.Flatten(), lambda: L.SpectralNormalization(L.Dense(3)))


@graph
def masked_attention():
    i, j = keras.Input((5, 4)), keras.Input((6,))
    table = L.Embedding(4, 4, mask_zero=True)
    x, e = lambda: L.Masking(0.25)(i), lambda: table(j)  # MultiHeadAttention of Keras 3 takes the masks of its inputs away
    a, b, c = x(), e(), e()
    own = L.MultiHeadAttention(2, 3)(a, a)
    causal = L.MultiHeadAttention(2, 3)(b, b, use_causal_mask=True)
    ys = [own, causal, L.MultiHeadAttention(2, 3)(x(), e()), L.MultiHeadAttention(2, 3)(x(), value=c, key=L.Dense(4)(e())), L.Attention()([x(), e()]), L.AdditiveAttention()([x(), e(), e()])]
    plain = [L.MultiHeadAttention(2, 3)(i, e()), L.Attention(use_scale=True)([i, e()], use_causal_mask=True), L.MultiHeadAttention(2, 3)(L.Dense(3)(i), i, use_causal_mask=True)]
    after = L.LayerNormalization()(L.Add()([a, own]))
    again = L.MultiHeadAttention(1, 2)(after, after)
    return keras.Model([i, j], ys + plain + [L.GlobalAveragePooling1D()(after), L.LSTM(3)(L.Concatenate()([a, own])), L.GlobalMaxPooling1D()(L.Add()([after, again])), L.GRU(2)(L.Add()([x(), i]))])


for name, make in zoo.items():
    if sys.argv[2:] and not name.startswith(tuple(sys.argv[2:])):
        continue
    keras.utils.set_random_seed(3)
    m = make()
    for v in m.weights:
        if name == "normalized" and v.name.split(":")[0] in ("mean", "variance", "count"):
            continue  # which were adapted
        a = rng.uniform(0.2, 1.2, v.shape) if "variance" in v.name or "gamma" in v.name else rng.standard_normal(v.shape) / 2
        v.assign(a.astype("float32"))
    inputs = [rng.standard_normal((3,) + tuple(i.shape[1:])).astype("float32") for i in m.inputs]
    for n, i in enumerate(m.inputs):
        if name.startswith(("table", "masked_by")) or name in ("masked_states", "categories") and n == 0:
            inputs[n] = rng.integers(0, 4, (3,) + tuple(i.shape[1:])).astype(str(getattr(i.dtype, "name", i.dtype)))
    if name in ("masked", "masked_attention"):
        inputs[0][0, 3:] = inputs[0][1, 0] = 0.25
        inputs[1] = np.array([[1, 2, 0, 3, 0, 0], [0, 0, 1, 1, 2, 3], [1, 2, 3, 1, 2, 3]], "int32")
    outputs = m(inputs if len(inputs) > 1 else inputs[0], training=False)
    outputs = outputs if isinstance(outputs, (list, tuple)) else [outputs]
    arrays = {f"x{i}": x for i, x in enumerate(inputs)} | {f"y{i}": keras.ops.convert_to_numpy(y) if hasattr(keras, "ops") else y.numpy() for i, y in enumerate(outputs)}
    np.savez(os.path.join(folder, name + ".npz"), **arrays)
    m.save(os.path.join(folder, name + extension))
    print("model", name + extension)
