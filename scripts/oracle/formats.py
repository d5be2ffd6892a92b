"""Names of axes and quantized tensors."""
import torch

ops = {
    "rename": lambda x: x,
    "align to": lambda x: x.t().unsqueeze(1),
}
