"""Operations of h5dnn in the memory of NumPy and PyTorch, and as functions of torch.autograd.

    python interop.py
"""
import numpy as np
import torch

from h5dnn import ops


class GELU(torch.autograd.Function):
    """h5dnn's gelu and its gradient. forward allocates the result and saves what backward reads; backward allocates the gradient."""

    @staticmethod
    def forward(ctx, x):
        ctx.save_for_backward(x)
        y = torch.empty_like(x)
        ops.gelu(x, out=y)
        return y

    @staticmethod
    @torch.autograd.function.once_differentiable
    def backward(ctx, dy):
        x, = ctx.saved_tensors
        dx = torch.zeros_like(x)
        ops.vjp(ops.gelu, dy.contiguous(), x, out=dx)
        return dx


class Operation(torch.autograd.Function):
    """Any operation on tensors: Operation.apply(ops.matmul, x, w)."""

    @staticmethod
    def forward(ctx, function, *operands):
        ctx.function = function
        ctx.save_for_backward(*operands)
        return function(*operands)

    @staticmethod
    @torch.autograd.function.once_differentiable
    def backward(ctx, dy):
        return None, *ops.vjp(ctx.function, dy, *ctx.saved_tensors, needs=ctx.needs_input_grad[1:])


def layer_norm(x, weight, bias, **out):
    return ops.layer_norm(x, x.shape[1:], weight, bias, **out)


def copies():
    """Numbers are copied to arrays of exactly their shape, of any strides."""
    field = np.zeros((4, 3, 2), np.float32)
    numbers = np.arange(24, dtype=np.float32).reshape(4, 3, 2)
    ops.mul(numbers, 1, out=field)
    try:
        ops.mul(numbers, 1, out=np.zeros((4, 3), np.float32))
    except ValueError as error:
        print(error)
    ops.neg(field[::-1], out=field[:, :, :])  # operands are read before results are written over them
    print(field[0, 0], field[3, 2])


def in_place():
    """A tensor of PyTorch is read and written where it is."""
    x = torch.arange(6.0).reshape(2, 3)
    address = x.data_ptr()
    ops.add(x, 10, out=x)
    ops.relu(x[:, 1], out=x[:, 1])
    shared = x.numpy()  # the same memory once more
    ops.mul(shared, 2, out=shared)
    print(x, x.data_ptr() == address)


def gradients():
    x = torch.randn(5, 8, dtype=torch.float64, requires_grad=True)
    weight, bias = (torch.randn(8, dtype=torch.float64, requires_grad=True) for _ in range(2))
    print(torch.autograd.gradcheck(GELU.apply, x))
    print(torch.autograd.gradcheck(Operation.apply, (layer_norm, x, weight, bias)))

    torch.manual_seed(0)
    inputs, targets = torch.randn(64, 8), torch.randn(64, 1)
    model = torch.nn.Sequential(torch.nn.Linear(8, 32), torch.nn.Linear(32, 1))
    optimizer = torch.optim.SGD(model.parameters(), 0.05)
    losses = []
    for _ in range(50):
        loss = (model[1](GELU.apply(model[0](inputs))) - targets).square().mean()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        losses.append(loss.item())
    print(losses[-1] < losses[0])


if __name__ == "__main__":
    copies()
    in_place()
    gradients()
