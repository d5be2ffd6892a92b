"""PyTorch's side of the benchmark: a line "COUNT ROW" in, COUNT seconds out, as JSON."""
import os
import sys
import time

import torch
import torch.nn as nn
import torch.nn.functional as F

threads, data = int(sys.argv[1]), sys.argv[2]
torch.set_num_threads(threads)
torch.manual_seed(0)


def labels(n):
    return torch.randint(0, 10, (n,))


def mlp():
    return nn.Sequential(nn.Linear(784, 128), nn.ReLU(), nn.Linear(128, 10))


def wide_mlp():
    return nn.Sequential(nn.Linear(784, 1024), nn.ReLU(), nn.Linear(1024, 1024), nn.ReLU(), nn.Linear(1024, 10))


def gelu_mlp():
    return nn.Sequential(nn.Linear(768, 3072), nn.GELU(), nn.Linear(3072, 768))


def silu_cnn():
    def block(a, b):
        return [nn.Conv2d(a, b, 3, padding=1), nn.SiLU()]
    return nn.Sequential(*block(3, 64), *block(64, 64), nn.MaxPool2d(2), *block(64, 128), *block(128, 128), nn.MaxPool2d(2),
                         nn.Flatten(), nn.Linear(128 * 64, 10))


def cnn():
    return nn.Sequential(
        nn.Conv2d(1, 32, 3, padding=1), nn.ReLU(), nn.MaxPool2d(2),
        nn.Conv2d(32, 64, 3, padding=1), nn.ReLU(), nn.MaxPool2d(2),
        nn.Flatten(), nn.Linear(64 * 49, 128), nn.ReLU(), nn.Linear(128, 10))


def lenet():
    return nn.Sequential(
        nn.Conv2d(1, 6, 5, padding=2), nn.ReLU(), nn.MaxPool2d(2),
        nn.Conv2d(6, 16, 5), nn.ReLU(), nn.MaxPool2d(2),
        nn.Flatten(), nn.Linear(400, 120), nn.ReLU(), nn.Linear(120, 84), nn.ReLU(), nn.Linear(84, 10))


def cifar():
    def block(a, b):
        return [nn.Conv2d(a, b, 3, padding=1), nn.BatchNorm2d(b), nn.ReLU()]
    return nn.Sequential(*block(3, 64), *block(64, 64), nn.MaxPool2d(2), *block(64, 128), *block(128, 128), nn.MaxPool2d(2),
                         nn.Flatten(), nn.Linear(128 * 64, 10))


class Block(nn.Module):
    def __init__(self, a, b):
        super().__init__()
        stride = 1 if a == b else 2
        self.body = nn.Sequential(nn.Conv2d(a, b, 3, stride, 1, bias=False), nn.BatchNorm2d(b), nn.ReLU(inplace=True),
                                  nn.Conv2d(b, b, 3, 1, 1, bias=False), nn.BatchNorm2d(b))
        self.shortcut = nn.Identity() if a == b else nn.Sequential(nn.Conv2d(a, b, 1, stride, bias=False), nn.BatchNorm2d(b))

    def forward(self, x):
        return F.relu(self.body(x) + self.shortcut(x), inplace=True)


def resnet18():
    sizes = [64, 64, 64, 128, 128, 256, 256, 512, 512]
    return nn.Sequential(nn.Conv2d(3, 64, 3, padding=1, bias=False), nn.BatchNorm2d(64), nn.ReLU(inplace=True),
                         *[Block(a, b) for a, b in zip(sizes, sizes[1:])],
                         nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(512, 10))


def cnn1d(conv, norm, pool):
    """conv, norm and pool are of one axis, or of two of which the first has size 1."""
    sizes, body = [6, 32, 64, 128, 128], []
    for i, (a, b) in enumerate(zip(sizes, sizes[1:])):
        body += [conv(a, b, 7 if i == 0 else 5), norm(b), nn.ReLU(), pool()]
    return nn.Sequential(*body, nn.Flatten(), nn.Linear(128 * 62, 64), nn.ReLU(), nn.Linear(64, 10))


class UNet(nn.Module):
    """U-Net of 32, 64, 128 and 256 channels, for images whose sizes are multiples of 8."""
    def __init__(self):
        super().__init__()

        def double(a, b):
            return nn.Sequential(nn.Conv2d(a, b, 3, padding=1), nn.BatchNorm2d(b), nn.ReLU(),
                                 nn.Conv2d(b, b, 3, padding=1), nn.BatchNorm2d(b), nn.ReLU())
        sizes = [32, 64, 128, 256]
        self.pool = nn.MaxPool2d(2)
        self.down = nn.ModuleList([double(a, b) for a, b in zip([1] + sizes, sizes)])
        self.up = nn.ModuleList([nn.ConvTranspose2d(2 * n, n, 2, 2) for n in sizes[:-1]])
        self.join = nn.ModuleList([double(2 * n, n) for n in sizes[:-1]])
        self.out = nn.Conv2d(32, 2, 1)

    def forward(self, x):
        skips = []
        for down in self.down[:-1]:
            skips.append(down(x))
            x = self.pool(skips[-1])
        x = self.down[-1](x)
        for skip, up, join in reversed(list(zip(skips, self.up, self.join))):
            x = join(torch.cat([skip, up(x)], 1))
        return self.out(x)


def unet_step():
    x, y = torch.rand(8, 1, 64, 64), torch.randint(0, 2, (8, 64, 64))
    return fastest(lambda memory, compiled: step(UNet().to(memory_format=memory), x.to(memory_format=memory), y, compiled))


def cnn1d_step(memory, compiled):
    """Channels-last needs two axes."""
    x, y = torch.rand(64, 6, 1000), labels(64)
    if memory == torch.contiguous_format:
        return step(cnn1d(lambda a, b, k: nn.Conv1d(a, b, k, padding=k // 2), nn.BatchNorm1d, lambda: nn.MaxPool1d(2)), x, y, compiled)
    model = cnn1d(lambda a, b, k: nn.Conv2d(a, b, (1, k), padding=(0, k // 2)), nn.BatchNorm2d, lambda: nn.MaxPool2d((1, 2)))
    return step(model.to(memory_format=memory), x.unsqueeze(2).to(memory_format=memory), y, compiled)


def fastest(prepare, formats=(torch.contiguous_format, torch.channels_last)):
    """prepare(memory_format, compiled) in whichever format is faster on this machine, eager or by torch.compile."""
    choices = []
    for memory, compiled in [(m, c) for m in formats for c in (False, True)]:
        once = prepare(memory, compiled)
        for _ in range(2):
            once()
        took = []
        for _ in range(3):
            start = time.perf_counter()
            once()
            took.append(time.perf_counter() - start)
        choices.append((min(took), once))
    return min(choices, key=lambda c: c[0])[1]


def image_step(model, *shape):
    x, y = torch.rand(*shape), labels(shape[0])
    return fastest(lambda memory, compiled: step(model().to(memory_format=memory), x.to(memory_format=memory), y, compiled))


def table_step(model, x, low=None):
    y = labels(len(x))
    return fastest(lambda memory, compiled: step(model(), x, y, compiled, low), [torch.contiguous_format])


def step(model, x, y, compiled, low=None):
    """A training step; with products of the type low, if it is given."""
    opt = torch.optim.SGD(model.parameters(), 0.01)
    if compiled:
        model = torch.compile(model)

    def once():
        opt.zero_grad(set_to_none=True)
        with torch.autocast('cpu', low, enabled=low is not None):
            loss = F.cross_entropy(model(x), y)
        loss.backward()
        opt.step()
    return once


class Recurrent(nn.Module):
    """Two layers of 256, and a product of the last output of each direction."""
    def __init__(self, layer, bidirectional=False):
        super().__init__()
        self.layer = layer(256, 256, 2, batch_first=True, bidirectional=bidirectional)
        self.head = nn.Linear(512 if bidirectional else 256, 10)

    def forward(self, x):
        y = self.layer(x)[0]
        last = torch.cat([y[:, -1, :256], y[:, 0, 256:]], 1) if self.layer.bidirectional else y[:, -1]
        return self.head(last)


class Encoder(nn.Module):
    def __init__(self):
        super().__init__()
        self.blocks = nn.TransformerEncoder(nn.TransformerEncoderLayer(256, 4, 1024, batch_first=True), 4, enable_nested_tensor=False)
        self.head = nn.Linear(256, 10)

    def forward(self, x):
        return self.head(self.blocks(x).mean(1))


class Attend(nn.Module):
    """A block of GPT-2, with keys and values of earlier tokens if there are any."""
    def __init__(self, width, heads):
        super().__init__()
        self.heads, self.norm1, self.norm2 = heads, nn.LayerNorm(width), nn.LayerNorm(width)
        self.qkv, self.proj = nn.Linear(width, 3 * width), nn.Linear(width, width)
        self.up, self.down = nn.Linear(width, 4 * width), nn.Linear(4 * width, width)

    def forward(self, x, cache=None, at=None, mask=None):
        q, k, v = (z.unflatten(-1, (self.heads, -1)).transpose(1, 2) for z in self.qkv(self.norm1(x)).chunk(3, -1))
        if cache is not None:
            cache[0].index_copy_(2, at, k), cache[1].index_copy_(2, at, v)
            k, v = cache if mask.shape[-1] == cache.shape[-2] else cache[:, :, :, :mask.shape[-1]]
        y = F.scaled_dot_product_attention(q, k, v, mask, is_causal=cache is None)
        x = x + self.proj(y.transpose(1, 2).flatten(2))
        return x + self.down(F.gelu(self.up(self.norm2(x))))


class GPT(nn.Module):
    def __init__(self, tokens=256, width=256, layers=4, heads=4, context=256):
        super().__init__()
        self.tokens, self.positions = nn.Embedding(tokens, width), nn.Embedding(context, width)
        self.blocks, self.norm = nn.ModuleList([Attend(width, heads) for _ in range(layers)]), nn.LayerNorm(width)

    def forward(self, x):
        x = self.tokens(x) + self.positions.weight[:x.shape[1]]
        for block in self.blocks:
            x = block(x)
        return self.norm(x) @ self.tokens.weight.T

    def decode(self, x, at, cache, mask):
        """Logits after the tokens x at the positions at."""
        x = self.tokens(x) + self.positions(at)
        for block, kv in zip(self.blocks, cache):
            x = block(x, kv, at, mask)
        return self.norm(x[:, -1]) @ self.tokens.weight.T


def gpt_step(low=None):
    x, y = torch.randint(0, 256, (8, 256)), torch.randint(0, 256, (8 * 256,))
    return fastest(lambda memory, compiled: step(nn.Sequential(GPT(), nn.Flatten(0, 1)), x, y, compiled, low), [torch.contiguous_format])


def generation():
    """128 tokens after 32, with keys and values in memory of a fixed size. Eager, attention takes what there is of it; compiled, all with a mask."""
    model, prompt = GPT().eval(), torch.arange(32)[None]
    lower = torch.ones(160, 160, dtype=torch.bool).tril()

    def prepare(_, compiled):
        decode = torch.compile(model.decode) if compiled else model.decode

        @torch.inference_mode()
        def once():
            cache, x = torch.zeros(4, 2, 1, 4, 160, 64), prompt
            for n in range(32, 160):
                at = torch.arange(n - x.shape[1], n)
                logits = (decode if len(at) == 1 else model.decode)(x, at, cache, lower[at] if compiled and len(at) == 1 else lower[at, :n])
                top, index = logits.topk(40)
                x = index.gather(1, torch.multinomial(top.softmax(-1), 1))
        return once
    return fastest(prepare, [torch.contiguous_format])


def epoch():
    """One LeNet epoch on MNIST, all of it in memory, no DataLoader."""
    import h5py
    with h5py.File(os.path.join(data, 'mnist.h5')) as f:
        X = torch.from_numpy(f['train/images'][:])
        Y = torch.from_numpy(f['train/labels'][:].astype('int64'))
    model = lenet()
    opt = torch.optim.SGD(model.parameters(), 0.05, 0.9)

    def once():
        order = torch.randperm(len(X))
        for i in range(0, len(X), 128):
            j = order[i:i + 128]
            opt.zero_grad(set_to_none=True)
            F.cross_entropy(model(X[j].unsqueeze(1).float().div_(255)), Y[j]).backward()
            opt.step()
    return once


def augmented(n, side):
    """The whole batch, all images by the same numbers: 30 times faster than each image alone."""
    import torchvision.transforms.v2 as T
    x = torch.randint(0, 256, (n, 3, side, side), dtype=torch.uint8)
    t = T.Compose([T.RandomCrop(side, padding=4), T.RandomHorizontalFlip(), T.ColorJitter(0.4, 0.4, 0.4, 0.1),
                   T.RandomAffine(15, translate=(0.1, 0.1), scale=(0.9, 1.1), interpolation=T.InterpolationMode.BILINEAR)])
    return lambda: t(x)


def matmul(n):
    a, b = torch.randn(n, n), torch.randn(n, n)
    return lambda: a @ b


def on_matrix(f):
    a, b = torch.randn(4096, 1024), torch.randn(4096, 1024)
    return lambda: f(a, b)


rows = {
    'training step, MLP 784-128-10, batch 64, SGD': lambda: table_step(mlp, torch.rand(64, 784)),
    'training step, MLP 784-1024-1024-10, batch 256': lambda: table_step(wide_mlp, torch.rand(256, 784)),
    'training step, MLP 768-3072-768 with GELU, 2048 rows': lambda: table_step(gelu_mlp, torch.rand(2048, 768)),
    'training step, CNN of 4 convolutions with SiLU, 3x32x32, batch 64': lambda: image_step(silu_cnn, 64, 3, 32, 32),
    'training step, CNN 32-64-128-10, 1x28x28, batch 64': lambda: image_step(cnn, 64, 1, 28, 28),
    'training step, CIFAR-10 CNN of 4 convolutions and batch norms, batch 128': lambda: image_step(cifar, 128, 3, 32, 32),
    'training step, ResNet-18 on 3x32x32, batch 32': lambda: image_step(resnet18, 32, 3, 32, 32),
    'training step, U-Net on 1x64x64, batch 8': unet_step,
    'training step, CNN of 4 Conv1d and batch norms on 6x1000, batch 64': lambda: fastest(cnn1d_step),
    'training step, LSTM of 2 layers of 256, 64 steps, batch 32': lambda: table_step(lambda: Recurrent(nn.LSTM), torch.rand(32, 64, 256)),
    'training step, GRU of 2 layers of 256, 64 steps, batch 32': lambda: table_step(lambda: Recurrent(nn.GRU), torch.rand(32, 64, 256)),
    'training step, bidirectional LSTM of 2 layers of 256, 64 steps, batch 32': lambda: table_step(lambda: Recurrent(nn.LSTM, True), torch.rand(32, 64, 256)),
    'training step, transformer encoder of 4 layers, width 256, 128 steps, batch 16': lambda: table_step(Encoder, torch.rand(16, 128, 256)),
    'training step, GPT of 4 layers, width 256, 256 tokens, batch 8': gpt_step,
    'training step in bfloat16, MLP 784-1024-1024-10, batch 256': lambda: table_step(wide_mlp, torch.rand(256, 784), torch.bfloat16),
    'training step in bfloat16, transformer encoder of 4 layers, width 256, 128 steps, batch 16': lambda: table_step(Encoder, torch.rand(16, 128, 256), torch.bfloat16),
    'training step in bfloat16, GPT of 4 layers, width 256, 256 tokens, batch 8': lambda: gpt_step(torch.bfloat16),
    '128 tokens of GPT of 4 layers, width 256, after 32': generation,
    'epoch of MNIST, LeNet, batch 128': epoch,
    'augment 512 images 3x32x32: crop, flip, colors, affine': lambda: augmented(512, 32),
    'augment 32 images 3x224x224: crop, flip, colors, affine': lambda: augmented(32, 224),
    'matmul 64, float32': lambda: matmul(64),
    'matmul 512, float32': lambda: matmul(512),
    'matmul 2048, float32': lambda: matmul(2048),
    'add (4096,1024), float32': lambda: on_matrix(lambda a, b: a + b),
    'exp (4096,1024), float32': lambda: on_matrix(lambda a, b: a.exp()),
    'softmax (4096,1024), float32': lambda: on_matrix(lambda a, b: a.softmax(-1)),
}

answer(f'PyTorch {torch.__version__}', rows)
