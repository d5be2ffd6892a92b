"""Writes pipeline.onnx, of a scaler and a small network: python3 make_pipeline.py, with scikit-learn and skl2onnx."""
import numpy as np
from skl2onnx import to_onnx
from sklearn.neural_network import MLPClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

x = np.random.default_rng(0).standard_normal((40, 3)).astype("f4")
pipeline = make_pipeline(StandardScaler(), MLPClassifier((4,), max_iter=20)).fit(x, (x[:, 0] > 0).astype(int))
open("pipeline.onnx", "wb").write(to_onnx(pipeline, x[:1], target_opset=15).SerializeToString())
