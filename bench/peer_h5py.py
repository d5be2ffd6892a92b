"""h5py's side of the reading benchmark, and the files for both: a line "COUNT ROW" in, COUNT seconds out, as JSON."""
import os
import sys
import time

import h5py
import numpy as np
import torch

threads, data, made = int(sys.argv[1]), sys.argv[2], sys.argv[3]
torch.set_num_threads(threads)
os.makedirs(made, exist_ok=True)
rng = np.random.default_rng(0)
batch = 128
mnist = os.path.join(data, 'mnist.h5')


def file(name, fill, **options):
    """The path of a file that fill(f) makes unless it is there."""
    path = os.path.join(made, name)
    if not os.path.exists(path):
        with h5py.File(path + '.partial', 'w', **options) as f:
            fill(f)
        os.sync()  # not while something is timed
        os.rename(path + '.partial', path)
    return path


def contiguous():
    def fill(f):
        with h5py.File(mnist) as g:
            for name in 'train/images', 'train/labels':
                f[name] = g[name][:]
    return file('contiguous.h5', fill)


def million(name, libver, shape, maxshape=None):
    def fill(f):
        d = f.create_dataset('x', shape, 'u1', chunks=(1,) * len(shape), maxshape=maxshape)
        d[...] = np.arange(1_000_000).reshape(shape) % 251
    file(name, fill, libver=libver)


def many():
    def fill(f):
        for g in range(100):
            group = f.create_group(f'run{g:03}')
            for d in range(1000):
                group[f'series{d:04}'] = np.arange(8, dtype='f4')
    file('many.h5', fill)


def large(name, chunks):
    """12 GiB of images, which two rows read, the second of which removes it."""
    def fill(f):
        d = f.create_dataset('images', (1 << 20, 64, 64, 3), 'u1', chunks=chunks)
        block = rng.integers(0, 256, (8192, 64, 64, 3), 'u1')
        for i in range(0, len(d), len(block)):
            d[i:i + len(block)] = block
    file(name, fill)


def open_images(path):
    return h5py.File(path)['train/images']


def whole():
    d = open_images(mnist)
    return (lambda: d[:]), 1


def strided():
    d = open_images(contiguous())
    return (lambda: d[:, 7:21:2, ::2]), 1


def fancy(path, batches):
    """Some batches by lists of rows, which h5py wants in order; as a whole epoch's time."""
    d = open_images(path)
    all = -(-len(d) // batch)

    def once():
        order = rng.permutation(len(d))
        for i in range(0, batches * batch, batch):
            d[np.sort(order[i:i + batch])]
    return once, all / batches


class Images(torch.utils.data.Dataset):
    """MNIST as people write it: the file is opened in each worker, a sample is a row."""

    def __init__(self):
        self.file = None
        with h5py.File(mnist) as f:
            self.length = len(f['train/images'])

    def __len__(self):
        return self.length

    def __getitem__(self, i):
        if self.file is None:
            self.file = h5py.File(mnist)
            self.images, self.labels = self.file['train/images'], self.file['train/labels']
        return self.images[i], self.labels[i]


def loader(batches):
    """Some batches from a DataLoader, as a whole epoch's time; its workers' start is not counted."""
    d = Images()
    all = -(-len(d) // batch)

    def once():
        it = iter(torch.utils.data.DataLoader(d, batch_size=batch, shuffle=True, num_workers=2))
        next(it)
        start = time.perf_counter()
        for _ in range(batches):
            next(it)
        took = time.perf_counter() - start
        del it  # ends the workers
        return took
    return once, all / batches


# What prepares each row; it returns what is timed, and what the time counts for.
# Where that says itself how long it took, that is its time.
rows = {
    'whole read, gzip chunks; d[:]': whole,
    'shuffled batches of 128, contiguous; fancy indexing': lambda: fancy(contiguous(), 469),
    'the first epoch, shuffled in batches of 128, gzip chunks; fancy indexing, 8 of 469 batches timed': lambda: fancy(mnist, 8),
    'the first epoch, shuffled in batches of 128, gzip chunks; DataLoader, two workers, 40 of 469 batches timed': lambda: loader(40),
    'strided slice [:, 7:21:2, ::2], contiguous; the same': strided,
    'shuffled epoch, contiguous; the same gather from a slice': contiguous,
    'index a million chunks, B-tree of version 1; 1 s': lambda: million('btree1.h5', 'earliest', (1_000_000,)),
    'index a million chunks, fixed array; 1 s': lambda: million('fixed.h5', 'latest', (1000, 1000)),
    'index a million chunks, extensible array; 1 s': lambda: million('extensible.h5', 'latest', (1000, 1000), (None, 1000)),
    'index a million chunks, B-tree of version 2; 1 s': lambda: million('btree2.h5', 'latest', (1000, 1000), (None, None)),
    'inspect, 100,000 datasets; h5ls -r': many,
    'shuffled epoch, 12 GiB contiguous, in the page cache; sequential read': lambda: large('contiguous12g.h5', None),
    'shuffled epoch, 12 GiB contiguous, in the page cache; gather in C out of a mapping': lambda: large('contiguous12g.h5', None),
    'shuffled epoch, 12 GiB contiguous, in the page cache; gather in C, pages given back by window': lambda: large('contiguous12g.h5', None),
    'shuffled epoch, 12 GiB contiguous, in the page cache; gather in C, one pread a row': lambda: large('contiguous12g.h5', None),
    'shuffled epoch, 12 GiB contiguous, from disk; sequential read': lambda: large('contiguous12g.h5', None),
    'shuffled epoch, 12 GiB in chunks, in the page cache; sequential read': lambda: large('chunked12g.h5', (64, 64, 64, 3)),
    'shuffled epoch, 12 GiB in chunks, in the page cache; gather in C out of a mapping': lambda: large('chunked12g.h5', (64, 64, 64, 3)),
    'shuffled epoch, 12 GiB in chunks, in the page cache; gather in C, pages given back by window': lambda: large('chunked12g.h5', (64, 64, 64, 3)),
    'shuffled epoch, 12 GiB in chunks, in the page cache; gather in C, one pread a row': lambda: large('chunked12g.h5', (64, 64, 64, 3)),
    'shuffled epoch, 12 GiB in chunks, from disk; sequential read': lambda: large('chunked12g.h5', (64, 64, 64, 3)),
}

answer(f'h5py {h5py.__version__} (HDF5 {h5py.version.hdf5_version}), PyTorch {torch.__version__}', rows, lambda side: seconds(side[0]) * side[1])
