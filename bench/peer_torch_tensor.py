"""PyTorch's side of the tensor suite: a line "COUNT ROW" in, COUNT seconds out, as JSON."""
import os
import sys

import torch
import torch.nn.functional as F

torch.set_num_threads(int(sys.argv[1]))
torch.manual_seed(0)


def pointwise(f, n):
    x, y = torch.randn(n), torch.randn(n)
    return lambda: f(x, y)


functions = {
    'add': torch.add, 'mul': torch.mul, 'relu': lambda x, y: torch.relu(x), 'exp': lambda x, y: torch.exp(x), 'tanh': lambda x, y: torch.tanh(x),
    'sigmoid': lambda x, y: torch.sigmoid(x), 'gelu': lambda x, y: F.gelu(x),
}


def into(n):
    x, y, z = torch.randn(n), torch.randn(n), torch.empty(n)
    return lambda: torch.add(x, y, out=z)


def matrix(f, *shape):
    x = torch.randn(*(shape or (4096, 1024)))
    return lambda: f(x)


def pair(f, a, b):
    x, y = torch.randn(*a), torch.randn(*b)
    return lambda: f(x, y)


def rows_at(f):
    x, index = torch.randn(1_000_000, 64), torch.randint(0, 1_000_000, (1_000_000,))
    return lambda: f(x, index)


def scatter_add():
    x, index = torch.randn(1_000_000, 64), torch.randint(0, 1_000_000, (1_000_000,))
    return lambda: torch.zeros(1_000_000, 64).index_add_(0, index, x)


def chain():
    x = torch.randn(1 << 16, requires_grad=True)

    def once():
        x.grad = None
        y = x
        for _ in range(5):
            y = (y * 0.5).tanh().exp() + x
        y.sum().backward()
    return once


def channel_moments(images):
    """Means and standard deviations by h5py and NumPy, a chunk at a time: sums of planes in float32, sums of these in float64."""
    import h5py
    import numpy as np
    path = os.path.join(sys.argv[3], 'float12g.h5')
    if not os.path.exists(path):
        os.makedirs(sys.argv[3], exist_ok=True)
        block = np.random.default_rng(0).standard_normal((1024, 3, 64, 64), dtype='f4')
        with h5py.File(path + '.partial', 'w') as f:
            d = f.create_dataset('x', (images, 3, 64, 64), 'f4', chunks=(32, 3, 64, 64))
            for i in range(0, images, len(block)):
                d[i:i + len(block)] = block
        os.sync()  # not while something is timed
        os.rename(path + '.partial', path)
    d = h5py.File(path)['x']

    def once():
        sums, squares, n = np.zeros(3), np.zeros(3), d.size / 3
        for i in range(0, images, 32):
            b = d[i:i + 32]
            sums += b.sum((2, 3)).sum(0, dtype='f8')
            squares += np.square(b, out=b).sum((2, 3)).sum(0, dtype='f8')
        mean = sums / n
        return mean, np.sqrt((squares - n * mean * mean) / (n - 1))
    return once


rows = {f'{name} of 2^{e}': lambda f=f, e=e: pointwise(f, 1 << e) for name, f in functions.items() for e in (10, 20, 24)} | {
    'add of 2^10, outside of a step': lambda: pointwise(torch.add, 1 << 10),
    'add of 2^20, outside of a step': lambda: pointwise(torch.add, 1 << 20),
    'add of 2^24 with out=': lambda: into(1 << 24),
    'sum over the last axis, (4096,1024)': lambda: matrix(lambda x: x.sum(1)),
    'sum over the first axis, (4096,1024)': lambda: matrix(lambda x: x.sum(0)),
    'mean over the last axis, (4096,1024)': lambda: matrix(lambda x: x.mean(1)),
    'mean over the first axis, (4096,1024)': lambda: matrix(lambda x: x.mean(0)),
    'var over the last axis, (4096,1024)': lambda: matrix(lambda x: x.var(1)),
    'layer norm, (4096,1024)': lambda: matrix(lambda x: F.layer_norm(x, (1024,))),
    'softmax, (4096,1024)': lambda: matrix(lambda x: x.softmax(1)),
    'argmax over the last axis, (4096,1024)': lambda: matrix(lambda x: x.argmax(1)),
    'max with index over the last axis, (4096,1024)': lambda: matrix(lambda x: x.max(1)),
    'cumsum over the last axis, (4096,1024)': lambda: matrix(lambda x: x.cumsum(1)),
    'sort, stable, of 4096 rows of 1024': lambda: matrix(lambda x: x.sort(dim=1, stable=True)),
    'topk 10 of 4096 rows of 1024': lambda: matrix(lambda x: x.topk(10, 1)),
    'transposed and broadcast add, (4096,1024)': lambda: pair(lambda x, y: x.t() + y, (1024, 4096), (1024,)),
    'transposed copy, 4096x4096': lambda: matrix(lambda x: x.t().contiguous(), 4096, 4096),
    'matmul 64': lambda: pair(torch.matmul, (64, 64), (64, 64)),
    'matmul 512': lambda: pair(torch.matmul, (512, 512), (512, 512)),
    'matmul 2048': lambda: pair(torch.matmul, (2048, 2048), (2048, 2048)),
    'batched matmul 64x(128x64x128)': lambda: pair(torch.matmul, (64, 128, 64), (64, 64, 128)),
    'einsum bhqd,bhkd->bhqk, (8,8,128,64)': lambda: pair(lambda q, k: torch.einsum('bhqd,bhkd->bhqk', q, k), (8, 8, 128, 64), (8, 8, 128, 64)),
    'gather of 10^6 rows of 64': lambda: rows_at(lambda x, i: x.index_select(0, i)),
    'scatter-add of 10^6 rows of 64': scatter_add,
    'forward and backward of 20 elementwise operations, 2^16': chain,
    'mean and std per channel of 12 GiB in a file; NumPy in blocks by h5py': lambda: channel_moments(1 << 18),
}

answer(f'PyTorch {torch.__version__}', rows)
