"""Writes swa.npz: PyTorch's stochastic weight averaging of a small model, with update_bn at the end."""
import numpy, torch
from torch.optim.swa_utils import AveragedModel, update_bn

torch.manual_seed(3)
x, y = torch.randn(48, 5), torch.randint(0, 3, (48,))
model = torch.nn.Sequential(torch.nn.Linear(5, 6), torch.nn.BatchNorm1d(6), torch.nn.Tanh(), torch.nn.Linear(6, 3))
saved = {"x": x, "y": y} | {"begin/" + k: v.clone() for k, v in model.state_dict().items()}
batches = [(x[i:i + 16], y[i:i + 16]) for i in range(0, 48, 16)]
optimizer, averaged = torch.optim.SGD(model.parameters(), lr=0.5, momentum=0.9), AveragedModel(model)
for epoch in range(6):
    for group in optimizer.param_groups:
        group["lr"] = 0.5 if epoch < 3 else 0.1
    for inputs, labels in batches:
        optimizer.zero_grad()
        torch.nn.functional.cross_entropy(model(inputs), labels).backward()
        optimizer.step()
    if epoch >= 3:
        averaged.update_parameters(model)
update_bn(batches, averaged)
saved |= {"end/" + k: v for k, v in averaged.module.state_dict().items()}
numpy.savez("swa.npz", **{k: v.detach().numpy() for k, v in saved.items() if "num_batches" not in k})
