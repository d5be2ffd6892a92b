"""Values and gradients of PyTorch's losses, in float64, for loss_test.go; written to losses.npz.

Run by hand, with torch and numpy: python losses.py
Arrays: DESCRIPTION/x, y, value, dx, where DESCRIPTION is that of the same loss here.
"""
import numpy as np, torch, torch.nn as nn, torch.nn.functional as F

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


def focal(x, y, gamma=2.0, weight=None):
    """Lin et al., equation 5, as Keras's SparseCategoricalFocalCrossentropy: the mean over labels."""
    logp = F.log_softmax(x, 1).gather(1, y.unsqueeze(1)).squeeze(1)
    loss = -((1 - logp.exp()) ** gamma) * logp
    return (loss * weight[y] if weight is not None else loss).mean()


def binary_focal(x, t, alpha=0.25, gamma=2.0):
    """torchvision.ops.sigmoid_focal_loss, reduction "mean", line by line."""
    p = torch.sigmoid(x)
    ce_loss = F.binary_cross_entropy_with_logits(x, t, reduction="none")
    p_t = p * t + (1 - p) * (1 - t)
    loss = ce_loss * ((1 - p_t) ** gamma)
    if alpha >= 0:
        loss = (alpha * t + (1 - alpha) * (1 - t)) * loss
    return loss.mean()


def tversky(x, y, alpha, beta, smooth, scale=1.0, masks=False, ignore=None):
    """Salehi et al., equation 2, per sample and class; dice as MONAI's DiceLoss: (2·TP + s)/(2·TP + FP + FN + s)."""
    p = torch.sigmoid(x) if masks else torch.softmax(x, 1)
    if masks:
        t = y
    else:
        keep = (y != ignore).double().unsqueeze(1) if ignore is not None else 1.0
        t = F.one_hot(y, x.shape[1]).movedim(-1, 1).double() * keep
        p = p * keep
    axes = tuple(range(2, x.dim()))
    tp, fp, fn = [(scale * v).sum(axes) if axes else scale * v for v in (p * t, p * (1 - t), (1 - p) * t)]
    return (1 - (tp + smooth) / (tp + alpha * fp + beta * fn + smooth)).mean()


def triplets(**o):
    return lambda x, y: nn.TripletMarginLoss(**o)(x[:, 0], x[:, 1], x[:, 2])


def pairs(**o):
    return lambda x, y: nn.CosineEmbeddingLoss(**o)(x[:, 0], x[:, 1], y)


def gaussian(log_variance, **o):
    def loss(x, y):
        mean, v = x.chunk(2, 1)
        return nn.GaussianNLLLoss(**o)(mean, y, v.exp() if log_variance else v)
    return loss


def ctc(blank=0, padding=-1, reduction="mean"):
    def loss(x, y):
        logp = F.log_softmax(x, 1).permute(2, 0, 1)
        lengths = (y != padding).sum(1)
        return nn.CTCLoss(blank, reduction, zero_infinity=True)(logp, y.clamp(min=0), torch.full((len(y),), x.shape[2]), lengths)
    return loss


def quantile(q):
    return lambda x, t: torch.maximum(q * (t - x), (q - 1) * (t - x)).mean()  # Koenker and Bassett, 1978


def hinge(x, t, margin=1.0, squared=False):
    """Keras's Hinge and SquaredHinge, the mean over all elements."""
    loss = torch.relu(margin - (2 * t - 1) * x)
    return (loss * loss if squared else loss).mean()


probabilities = torch.softmax(torch.randn(5, 3), 1)
with_zero = probabilities.clone()
with_zero[1] = torch.tensor([0.0, 1, 0])
counts = torch.tensor([[0.0, 1, 4], [2, 0, 7], [1, 1, 3], [5, 2, 0], [0, 3, 1]])
masks = (torch.rand(5, 4, 2, 3) > 0.4).double()
sequences = torch.tensor([[1, 2, 2, 3], [3, 1, -1, -1], [2, 2, -1, -1], [1, -1, -1, -1], [3, 2, 1, 3]])
spread = torch.rand(5, 6) + 0.05
spread[0, 3] = 1e-9
signs = torch.tensor([1.0, -1, 1, -1, -1])
kl = lambda **o: (lambda x, t: nn.KLDivLoss(**o)(x, t))
losses |= {
    '"focal"': (focal, logits, labels),
    '{"focal": {"gamma": 1.5, "class_weights": [0.5, 2, 1, 0.25]}}': (lambda x, y: focal(x, y, 1.5, class_weights), places, place_labels),
    '"binary_focal"': (binary_focal, values, bits),
    '{"binary_focal": {"alpha": -1, "gamma": 3}}': (lambda x, t: binary_focal(x, t, -1, 3), values, bits),
    '"tversky"': (lambda x, y: tversky(x, y, 0.3, 0.7, 1), places, place_labels),
    '{"tversky": {"alpha": 0.8, "beta": 0.1, "smooth": 0.5, "ignore_index": 2}}': (lambda x, y: tversky(x, y, 0.8, 0.1, 0.5, ignore=2), places, place_labels),
    '"dice"': (lambda x, y: tversky(x, y, 0.5, 0.5, 1, 2), places, place_labels),
    '{"dice": {"masks": true, "smooth": 2}}': (lambda x, y: tversky(x, y, 0.5, 0.5, 2, 2, True), places, masks),
    '"iou"': (lambda x, y: tversky(x, y, 1, 1, 1), places, place_labels),
    '"triplet"': (triplets(), torch.randn(5, 3, 4), signs),
    '{"triplet": {"margin": 0.5, "p": 1, "swap": true}}': (triplets(margin=0.5, p=1, swap=True), torch.randn(5, 3, 4), signs),
    '"cosine"': (lambda x, y: nn.CosineEmbeddingLoss()(x, y, torch.ones(5)), values, targets),
    '{"cosine_embedding": {"margin": 0.2}}': (pairs(margin=0.2), torch.randn(5, 2, 4), signs),
    '"kl_div"': (kl(), values.log_softmax(1), with_zero),
    '{"kl_div": {"reduction": "batchmean", "log_target": true}}': (kl(reduction="batchmean", log_target=True), values.log_softmax(1), probabilities.log()),
    '{"kl_div": {"logits": true, "reduction": "sum"}}': (lambda x, t: nn.KLDivLoss(reduction="sum")(x.log_softmax(1), t), values, probabilities),
    '"poisson_nll"': (nn.PoissonNLLLoss(), values, counts),
    '{"poisson_nll": {"log_input": false, "full": true}}': (nn.PoissonNLLLoss(log_input=False, full=True), values.abs() + 0.1, counts),
    '"gaussian_nll"': (gaussian(True), torch.randn(5, 6), targets),
    '{"gaussian_nll": {"log_variance": false, "full": true}}': (gaussian(False, full=True), spread, targets),
    '"hinge"': (hinge, values, bits),
    '{"hinge": {"squared": true, "margin": 0.5}}': (lambda x, t: hinge(x, t, 0.5, True), values, bits),
    '{"hinge_embedding": {"margin": 1.5}}': (nn.HingeEmbeddingLoss(margin=1.5), values.abs(), bits * 2 - 1),
    '"multi_margin"': (nn.MultiMarginLoss(), logits, labels),
    '{"multi_margin": {"p": 2, "margin": 0.5, "class_weights": [0.5, 2, 1, 0.25]}}': (nn.MultiMarginLoss(2, 0.5, class_weights), logits, labels),
    '"quantile"': (quantile(0.5), values, targets),
    '{"quantile": {"q": 0.9}}': (quantile(0.9), values, targets),
    '"ctc"': (ctc(), torch.randn(5, 4, 7), sequences),
    '{"ctc": {"blank": 2, "reduction": "sum"}}': (ctc(2, reduction="sum"), torch.randn(5, 4, 9), torch.where(sequences == 2, 0, sequences)),
    '{"ctc": {"padding": 0}}': (ctc(padding=0), torch.randn(5, 4, 7), sequences.clamp(min=0)),
}
arrays = {}
for name, (loss, x, y) in losses.items():
    x = x.detach().clone().requires_grad_()
    value = loss(x, y)
    value.backward()
    for part, t in dict(x=x, y=y, value=value, dx=x.grad).items():
        arrays[name + "/" + part] = t.detach().numpy()
np.savez_compressed("losses.npz", **arrays)
