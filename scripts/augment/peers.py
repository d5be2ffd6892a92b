"""Writes augment/testdata/peers.npz: images as torchvision, SciPy and PyTorch change them, by given numbers.

    python scripts/augment/peers.py augment/testdata/peers.npz
"""
import sys

import numpy as np
import scipy.ndimage as ndi
import torch
import torchvision.transforms.v2.functional as F
from torchvision.transforms.v2 import InterpolationMode as I

rng = np.random.default_rng(1)
C, H, W = 3, 12, 14
smooth = ndi.gaussian_filter(rng.uniform(0, 255, (C, H, W)), (0, 1, 1))
byte = ((smooth - smooth.min()) / (smooth.max() - smooth.min()) * 255).round().astype(np.uint8)
real = (rng.uniform(0, 1, (C, H, W))).astype(np.float32)
all = {"byte": byte, "float": real}


def add(name, f, both=True):
    all["byte_" + name] = np.asarray(f(torch.from_numpy(byte)))
    if both:
        all["float_" + name] = np.asarray(f(torch.from_numpy(real)))


def affine(x, m, mode):
    """m maps positions, whose origin is the corner of the image, forwards."""
    centre = np.array([[1, 0, .5], [0, 1, .5], [0, 0, 1]])
    back = np.linalg.inv(centre) @ np.linalg.inv(m) @ centre
    back = back[[1, 0, 2]][:, [1, 0, 2]]  # rows first
    out = np.stack([ndi.affine_transform(c.astype(np.float64), back, order=1, mode=mode, cval=0) for c in x.numpy()])
    return out.round().clip(0, 255).astype(np.uint8) if x.dtype == torch.uint8 else out.astype(np.float32)


def forward(shear_x, shear_y, scale, aspect, flip_x, angle):
    a = np.deg2rad(angle)
    parts = [[[1, 0, -W / 2], [0, 1, -H / 2], [0, 0, 1]], [[1, shear_x, 0], [shear_y, 1, 0], [0, 0, 1]],
             [[scale * np.sqrt(aspect) * (-1 if flip_x else 1), 0, 0], [0, scale / np.sqrt(aspect), 0], [0, 0, 1]],
             [[np.cos(a), -np.sin(a), 0], [np.sin(a), np.cos(a), 0], [0, 0, 1]], [[1, 0, W / 2], [0, 1, H / 2], [0, 0, 1]]]
    m = np.eye(3)
    for part in parts:
        m = np.array(part) @ m
    return m


def blur(x, sigma):
    size = max(3, int(6.6 * sigma - 2.3) | 1)
    at = np.arange(size) - size // 2
    k = np.exp(-at ** 2 / (2 * sigma ** 2))
    out = x.numpy().astype(np.float64)
    for axis in (1, 2):
        out = ndi.correlate1d(out, k / k.sum(), axis, mode="nearest")
    return out.round().astype(np.uint8) if x.dtype == torch.uint8 else out.astype(np.float32)


add("flip", F.horizontal_flip)
add("flip_height", F.vertical_flip)
add("pad_reflect", lambda x: F.pad(x, [3, 2, 3, 2], padding_mode="reflect"))
add("pad_edge", lambda x: F.pad(x, [3, 2, 3, 2], padding_mode="edge"))
add("affine", lambda x: F.affine(x, 17, [2, -1], 1.2, [0, 0], I.BILINEAR))
add("rotate", lambda x: F.rotate(x, -33, I.BILINEAR))
for mode, name in (("grid-constant", "constant"), ("nearest", "edge"), ("mirror", "reflect")):
    add("shear_" + name, lambda x: affine(x, forward(0.2, -0.1, 1.1, 1.3, True, 25), mode))
add("resize", lambda x: F.resize(x, [7, 20], I.BILINEAR, antialias=False))
add("resize_nearest", lambda x: F.resize(x, [7, 20], I.NEAREST_EXACT))
add("resize_area", lambda x: torch.nn.functional.interpolate(x[None].double(), (6, 7), mode="area")[0].round().to(x.dtype) if x.dtype == torch.uint8
    else torch.nn.functional.interpolate(x[None], (6, 7), mode="area")[0])
add("brightness", lambda x: F.adjust_brightness(x, 1.3))
add("contrast", lambda x: F.adjust_contrast(x, 0.6))
add("saturation", lambda x: F.adjust_saturation(x, 1.7))
add("hue", lambda x: F.adjust_hue(x, 0.15))
add("hue_back", lambda x: F.adjust_hue(x, -0.3))
add("gamma", lambda x: F.adjust_gamma(x, 0.7))
add("blur", lambda x: blur(x, 1.4))
np.savez_compressed(sys.argv[1], **all)
