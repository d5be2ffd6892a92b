"""Values of torchmetrics' metrics for metric_oracle_test.go; written to metrics.npz.

Run by hand, with torch and torchmetrics: python metrics.py
Arrays: DESCRIPTION/x, y, value, where DESCRIPTION is that of the same metric here. Each is updated with rows 0-3, 4-10 and the rest.
"""
import numpy as np, torch, torchmetrics as tm
from torchmetrics import classification as cl

torch.manual_seed(2)
torch.set_default_dtype(torch.float64)
n, c = 24, 4
logits, labels = torch.randn(n, c + 1), torch.randint(0, c, (n,))  # the last class has no label
logits[:, c] -= 9  # nor a prediction
places, place_labels = torch.randn(n, c, 2, 3), torch.randint(0, c, (n, 2, 3))
scores, masks = torch.randn(n, 3), (torch.rand(n, 3) > 0.6).long()
values, targets = torch.randn(n, 3), torch.randn(n, 3) * 2 + 1
values = values + targets / 2
multi = dict(num_classes=c + 1)
dense = dict(num_classes=c)
many = dict(num_labels=3)


class Single:
    """The first column alone."""
    def __init__(self, metric): self.metric = metric
    def update(self, x, y): self.metric.update(x[:, 0], y[:, 0])
    def compute(self): return self.metric.compute()


class Each:
    """Outputs after f."""
    def __init__(self, metric, f): self.metric, self.f = metric, f
    def update(self, x, y): self.metric.update(self.f(x), y)
    def compute(self): return self.metric.compute()


tokens = lambda x: x.permute(0, 2, 3, 1).flatten(1, 2)


class Tokens(Each):
    def update(self, x, y): self.metric.update(self.f(x), y.flatten(1))


cases = {
    '"accuracy"': (cl.MulticlassAccuracy(average="micro", **multi), logits, labels),
    '{"accuracy": {"ignore_index": 1}}': (cl.MulticlassAccuracy(average="micro", ignore_index=1, **dense), places, place_labels),
    '{"top_k": 2}': (cl.MulticlassAccuracy(average="micro", top_k=2, **multi), logits, labels),
    '"confusion_matrix"': (cl.MulticlassConfusionMatrix(**dense), places, place_labels),
    '"binary_accuracy"': (cl.MultilabelAccuracy(average="micro", **many), scores, masks),
    '"mae"': (tm.MeanAbsoluteError(), values, targets),
    '"mse"': (tm.MeanSquaredError(), values, targets),
    '"rmse"': (tm.MeanSquaredError(squared=False), values, targets),
    '"r2"': (tm.R2Score(multioutput="uniform_average"), values, targets),
    '"perplexity"': (Tokens(tm.text.Perplexity(), tokens), places, place_labels),
    '{"perplexity": {"ignore_index": 2}}': (Tokens(tm.text.Perplexity(ignore_index=2), tokens), places, place_labels),
    '"auc"': (cl.MulticlassAUROC(thresholds=200, **dense), logits[:, :c], labels),
    '{"auc": {"bins": 50, "masks": true}}': (cl.MultilabelAUROC(thresholds=50, **many), scores, masks),
}
for name, kind in dict(precision="Precision", recall="Recall", f1="F1Score", iou="JaccardIndex").items():
    for average in "macro", "micro", "weighted", "none":
        settings = '{"average": "%s"}' % average
        cases['{"%s": %s}' % (name, settings)] = (getattr(cl, "Multiclass" + kind)(average=average, **multi), logits, labels)
        settings = '{"average": "%s", "masks": true}' % average
        cases['{"%s": %s}' % (name, settings)] = (getattr(cl, "Multilabel" + kind)(average=average, **many), scores, masks)
    cases['{"%s": {"ignore_index": 2}}' % name] = (getattr(cl, "Multiclass" + kind)(ignore_index=2, **dense), places, place_labels)
arrays = {}
for name, (metric, x, y) in cases.items():
    for first, end in (0, 4), (4, 11), (11, n):
        metric.update(x[first:end], y[first:end])
    for part, t in dict(x=x, y=y, value=metric.compute()).items():
        arrays[name + "/" + part] = t.detach().double().numpy() if part != "y" else t.numpy()
np.savez_compressed("metrics.npz", **arrays)
