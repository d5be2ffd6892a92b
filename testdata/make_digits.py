"""Writes digits.h5: scikit-learn's load_digits, split once and for all.

    python make_digits.py      (needs h5py and scikit-learn)
"""
import h5py
import numpy as np
from sklearn.datasets import load_digits
from sklearn.model_selection import train_test_split

digits = load_digits()
images = digits.images.astype(np.uint8)
labels = digits.target.astype(np.uint8)
train, test = train_test_split(
    np.arange(len(labels)), test_size=360, stratify=labels, random_state=1)

with h5py.File("digits.h5", "w", libver=("v108", "v110")) as f:
    f.attrs["title"] = "Optical Recognition of Handwritten Digits"
    f.attrs["creators"] = ["E. Alpaydin", "C. Kaynak"]
    f.attrs["source"] = "https://doi.org/10.24432/C50P49, as shipped by scikit-learn"
    f.attrs["licence"] = "CC BY 4.0"
    for name, rows in ("train", train), ("test", test):
        x = f.create_dataset(f"{name}/images", data=images[rows], chunks=(128, 8, 8),
                             compression="gzip", compression_opts=9, shuffle=False, track_times=False)
        x.attrs["description"] = "8x8 pixels: how many of 4x4 dots are inked"
        x.attrs["range"] = np.array([0, 16], np.uint8)
        f.create_dataset(f"{name}/labels", data=labels[rows], track_times=False)
