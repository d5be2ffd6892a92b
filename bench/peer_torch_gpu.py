"""PyTorch's side of the benchmark on GPUs: a line "COUNT ROW" in, COUNT seconds out, as JSON."""
import sys

import torch
import torch.nn as nn
import torch.nn.functional as F

small = sys.argv[4] == 'true'
cuda = torch.cuda.is_available()
if not cuda and not small:
    sys.exit('peer_torch_gpu: PyTorch finds no GPU')
device = torch.device('cuda' if cuda else 'cpu')
torch.manual_seed(0)
torch.backends.cuda.matmul.allow_tf32 = True
torch.backends.cudnn.allow_tf32 = True
batch = 2 if small else 64


def sync():
    if cuda:
        torch.cuda.synchronize()


def example(compiled=False):
    """The model of PyTorch's examples/mnist, and a step of it on samples that are on the GPU already."""
    n = 4 if small else 60000
    X = torch.randint(0, 256, (n, 1, 28, 28), dtype=torch.uint8, device=device)
    Y = torch.randint(0, 10, (n,), device=device)
    model = nn.Sequential(
        nn.Conv2d(1, 32, 3), nn.ReLU(), nn.Conv2d(32, 64, 3), nn.ReLU(), nn.MaxPool2d(2), nn.Dropout(0.25),
        nn.Flatten(), nn.Linear(9216, 128), nn.ReLU(), nn.Dropout(0.5), nn.Linear(128, 10)).to(device)
    opt = torch.optim.SGD(model.parameters(), 0.01)

    def loss(x, y):
        return F.cross_entropy(model(x.float().div(255)), y)
    if compiled:
        loss = torch.compile(loss, mode='reduce-overhead')

    def step(picked):
        opt.zero_grad(set_to_none=True)
        loss(X[picked], Y[picked]).backward()
        opt.step()
    return n, step


def epoch():
    n, step = example()

    def once():
        for picked in torch.randperm(n, device=device).split(batch):
            step(picked)
    return once


def graphed_epoch():
    """The same, but that whole batches replay a graph that was captured once."""
    if not cuda:
        return epoch()
    n, step = example()
    picked = torch.arange(batch, device=device)
    side = torch.cuda.Stream()
    with torch.cuda.stream(side):
        for _ in range(3):
            step(picked)
    torch.cuda.current_stream().wait_stream(side)
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        step(picked)

    def once():
        for rows in torch.randperm(n, device=device).split(batch):
            if len(rows) < batch:
                step(rows)
                continue
            picked.copy_(rows)
            graph.replay()
    return once


def compiled_epoch():
    """The same, but that the step is compiled, with CUDA graphs where PyTorch can."""
    if not cuda:
        return epoch()
    n, step = example(compiled=True)

    def once():
        for picked in torch.randperm(n, device=device).split(batch):
            step(picked)
    once()  # compiles, for full batches and the last one
    return once


def ten(f):
    def once():
        for _ in range(10):
            f()
    return once


def products(dtype):
    n = 32 if small else 4096
    x = torch.rand(n, n, device=device).to(dtype)
    return ten(lambda: torch.matmul(x, x))


def copies(read, written):
    """Copies of as many bytes as a loop over that many arrays in and out reads and writes."""
    n = (1 << 12 if small else 1 << 28) * (read + written) // 2
    x, y = torch.zeros(n, device=device), torch.zeros(n, device=device)
    return ten(lambda: y.copy_(x))


def upload():
    total, block = (100 << 10, 10 << 10) if small else (20 << 30, 1 << 30)
    x = torch.zeros(block, dtype=torch.uint8, pin_memory=cuda)
    y = torch.zeros(block, dtype=torch.uint8, device=device)

    def once():
        for _ in range(total // block):
            y.copy_(x, non_blocking=True)
    return once


rows = {
    "epoch of MNIST, the CNN of PyTorch's example, batch 64; PyTorch": epoch,
    "epoch of MNIST, the CNN of PyTorch's example, batch 64; PyTorch, a CUDA graph": graphed_epoch,
    "epoch of MNIST, the CNN of PyTorch's example, batch 64; PyTorch, torch.compile": compiled_epoch,
    '10 products 4096, bfloat16; torch.matmul': lambda: products(torch.bfloat16),
    '10 products 4096, float32; torch.matmul, TF32': lambda: products(torch.float32),
    '10 times exp of 2^28 float32; copies of as many bytes': lambda: copies(1, 1),
    '10 times add of 2^28 float32; copies of as many bytes': lambda: copies(2, 1),
    '10 times sum of 2^28 float32; copies of as many bytes': lambda: copies(1, 0),
    '20 GiB to the GPU, from a contiguous file in the page cache; from pinned memory': upload,
}

answer(f'PyTorch {torch.__version__} {torch.cuda.get_device_name() if cuda else "without a GPU"}', rows, lambda once: seconds(lambda: (once and once(), sync())))
