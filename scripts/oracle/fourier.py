"""Fourier transforms: a second operand is the imaginary part, and the parts of the results are compared."""
import torch
from complex import parts

F = torch.fft
functions = {
    "fft": F.fft,
    "fft complex": lambda x: F.fft(x, 4, 0, "ortho"),
    "ifft": lambda x: F.ifft(x, 3),
    "fftn": lambda x: F.fftn(x, norm="forward"),
    "rfft": F.rfft,
    "rfft even": lambda x: F.rfft(x, 8, norm="forward"),
    "irfft": F.irfft,
    "irfft odd": lambda x: F.irfft(x, 7, norm="ortho"),
    "irfft long": lambda x: F.irfft(x, 4),
    "irfft short": lambda x: F.irfft(x, 12, norm="forward"),
    "rfftn": F.rfftn,
    "irfftn": lambda x: F.irfftn(x, (3, 5), norm="ortho"),
}

ops = {name: lambda *xs, f=f: parts(f(torch.complex(*xs) if len(xs) == 2 else xs[0])) for name, f in functions.items()}
