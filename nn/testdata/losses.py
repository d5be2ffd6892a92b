"""Values and gradients of PyTorch's losses, in float64, for loss_test.go; written to losses.npz.

Run by hand, with torch and numpy: python losses.py
Arrays: DESCRIPTION/x, y, value, dx, where DESCRIPTION is that of the same loss here.
"""
import numpy as np, torch, torch.nn as nn

torch.manual_seed(1)
torch.set_default_dtype(torch.float64)
logits, labels = torch.randn(6, 4), torch.tensor([0, 3, 1, 1, 2, 0])
values, targets, bits = torch.randn(5, 3) * 2, torch.randn(5, 3), (torch.rand(5, 3) > 0.5).double()
values[0, 0], bits[0, 0] = 0, 1  # where max(x, 0) and |x| have no derivative
w = [0.5, 2.0, 1.0, 0.25]
class_weights = torch.tensor(w)
places, place_labels = torch.randn(5, 4, 2, 3), torch.randint(0, 4, (5, 2, 3))  # classes on axis 1
soft, soft_places = torch.softmax(torch.randn(6, 4), 1), torch.softmax(torch.randn(5, 4, 2, 3), 1)
losses = {
    '"cross_entropy"': (nn.CrossEntropyLoss(), logits, labels),
    '{"cross_entropy": {"reduction": "sum"}}': (nn.CrossEntropyLoss(reduction="sum"), logits, labels),
    '{"cross_entropy": {"label_smoothing": 0.1}}': (nn.CrossEntropyLoss(label_smoothing=0.1), logits, labels),
    '{"cross_entropy": {"class_weights": [0.5, 2, 1, 0.25]}}': (nn.CrossEntropyLoss(class_weights), logits, labels),
    '{"cross_entropy": {"ignore_index": 1}}': (nn.CrossEntropyLoss(ignore_index=1), logits, labels),
    '{"cross_entropy": {"label_smoothing": 0.2, "class_weights": [0.5, 2, 1, 0.25], "ignore_index": 0}}':
        (nn.CrossEntropyLoss(class_weights, label_smoothing=0.2, ignore_index=0), logits, labels),
    '"nll"': (nn.NLLLoss(), logits.log_softmax(1), labels),
    '{"nll": {"class_weights": [0.5, 2, 1, 0.25], "reduction": "sum"}}': (nn.NLLLoss(class_weights, reduction="sum"), logits.log_softmax(1), labels),
    '{"cross_entropy": {"label_smoothing": 0}}': (nn.CrossEntropyLoss(), places, place_labels),
    '{"cross_entropy": {"class_weights": [0.5, 2, 1, 0.25], "label_smoothing": 0.1, "ignore_index": 2}}':
        (nn.CrossEntropyLoss(class_weights, label_smoothing=0.1, ignore_index=2), places, place_labels),
    '{"cross_entropy": {"class_weights": [0.5, 2, 1, 0.25], "label_smoothing": 0.1}}':
        (nn.CrossEntropyLoss(class_weights, label_smoothing=0.1), logits, soft),
    '{"cross_entropy": {"class_weights": [0.5, 2, 1, 0.25], "reduction": "sum"}}': (nn.CrossEntropyLoss(class_weights, reduction="sum"), places, soft_places),
    '{"nll": {"class_weights": [0.5, 2, 1, 0.25]}}': (nn.NLLLoss(class_weights), places.log_softmax(1), place_labels),
    '"mse"': (nn.MSELoss(), values, targets),
    '"sse"': (nn.MSELoss(reduction="sum"), values, targets),
    '{"mse": {"reduction": "sum"}}': (nn.MSELoss(reduction="sum"), values, targets),
    '"l1"': (nn.L1Loss(), values, targets),
    '{"mae": {"reduction": "sum"}}': (nn.L1Loss(reduction="sum"), values, targets),
    '"huber"': (nn.HuberLoss(), values, targets),
    '{"huber": 0.5}': (nn.HuberLoss(delta=0.5), values, targets),
    '"smooth_l1"': (nn.SmoothL1Loss(), values, targets),
    '{"smooth_l1": {"beta": 2}}': (nn.SmoothL1Loss(beta=2), values, targets),
    '"bce_with_logits"': (nn.BCEWithLogitsLoss(), values, bits),
    '{"bce_with_logits": {"pos_weight": 3}}': (nn.BCEWithLogitsLoss(pos_weight=torch.tensor(3.0)), values, bits),
    '{"bce_with_logits": {"reduction": "sum"}}': (nn.BCEWithLogitsLoss(reduction="sum"), values * 40, bits),
}
arrays = {}
for name, (loss, x, y) in losses.items():
    x = x.detach().clone().requires_grad_()
    value = loss(x, y)
    value.backward()
    for part, t in dict(x=x, y=y, value=value, dx=x.grad).items():
        arrays[name + "/" + part] = t.detach().numpy()
np.savez_compressed("losses.npz", **arrays)
