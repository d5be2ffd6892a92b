"""Learning rate factors of PyTorch's schedulers at each of the steps of 10 epochs of 8, for
schedule_test.go; written to schedules.json under the descriptions of the same schedules here.

Run by hand, with torch: python schedules.py
"""
import json
import numpy as np
import torch
from torch.optim import lr_scheduler as s

EPOCH, STEPS = 8, 80
schedulers = {
    '"constant"': lambda o: s.ConstantLR(o, factor=1),
    '"linear"': lambda o: s.LinearLR(o, 1, 0, STEPS),
    '{"linear": {"end": 0.25}}': lambda o: s.LinearLR(o, 1, 0.25, STEPS),
    '"cosine"': lambda o: s.CosineAnnealingLR(o, STEPS),
    '{"cosine": {"end": 0.1}}': lambda o: s.CosineAnnealingLR(o, STEPS, eta_min=0.1),
    '{"step": 3}': lambda o: s.StepLR(o, 3 * EPOCH),
    '{"step": {"step_size": 4, "gamma": 0.5}}': lambda o: s.StepLR(o, 4 * EPOCH, 0.5),
    '{"exponential": 0.8}': lambda o: s.StepLR(o, EPOCH, 0.8),
    '{"warmup": {"epochs": 2, "start": 0.1, "then": {"cosine": {"end": 0.05}}}}':
        lambda o: s.SequentialLR(o, [s.LinearLR(o, 0.1, 1, 2 * EPOCH), s.CosineAnnealingLR(o, STEPS - 2 * EPOCH, eta_min=0.05)], [2 * EPOCH]),
    '{"warmup": {"steps": 24, "start": 0.25, "then": {"step": {"step_size": 2, "gamma": 0.5}}}}':
        lambda o: s.SequentialLR(o, [s.LinearLR(o, 0.25, 1, 24), s.StepLR(o, 2 * EPOCH, 0.5)], [24]),
    '{"polynomial": {"power": 2}}': lambda o: s.PolynomialLR(o, STEPS, power=2),
    '{"polynomial": {"power": 0.5, "end": 0.2}}': lambda o: s.LambdaLR(o, lambda k: 0.2 + 0.8 * (1 - k / STEPS) ** 0.5),
    '{"cosine_restarts": 3}': lambda o: s.CosineAnnealingWarmRestarts(o, 3 * EPOCH),
    '{"cosine_restarts": {"t_0": 2, "t_mult": 2, "end": 0.1}}': lambda o: s.CosineAnnealingWarmRestarts(o, 2 * EPOCH, 2, eta_min=0.1),
    '{"multi_step": {"milestones": [2, 5, 6]}}': lambda o: s.MultiStepLR(o, [2 * EPOCH, 5 * EPOCH, 6 * EPOCH]),
    '{"multi_step": {"milestones": [1, 7], "gamma": 0.5}}': lambda o: s.MultiStepLR(o, [EPOCH, 7 * EPOCH], 0.5),
    '"cyclic"': lambda o: s.CyclicLR(o, 0.1, 1, 2 * EPOCH, cycle_momentum=False),
    '{"cyclic": {"base": 0.2, "up": 1, "down": 2, "mode": "triangular2"}}':
        lambda o: s.CyclicLR(o, 0.2, 1, EPOCH, 2 * EPOCH, mode="triangular2", cycle_momentum=False),
    '{"cyclic": {"base": 0.2, "up": 1.5, "mode": "exp_range", "gamma": 0.9}}':
        lambda o: s.CyclicLR(o, 0.2, 1, EPOCH * 3 // 2, mode="exp_range", gamma=0.9 ** (1 / EPOCH), cycle_momentum=False),
    '{"table": {"factors": [[0, 1], [2.5, 0.3], [7, 0.05]]}}': lambda o: s.LambdaLR(o, lambda k: 1 if k < 20 else 0.3 if k < 56 else 0.05),
    '{"table": {"factors": [[1, 0.5], [3, 1], [8, 0.1]], "linear": true}}':
        lambda o: s.LambdaLR(o, lambda k: float(np.interp(k / EPOCH, [1, 3, 8], [0.5, 1, 0.1]))),
    '"one_cycle"': lambda o: s.OneCycleLR(o, 1, total_steps=STEPS),
    '{"one_cycle": {"pct_start": 0.01}}': lambda o: s.OneCycleLR(o, 1, total_steps=STEPS, pct_start=0.01),
    '{"one_cycle": {"pct_start": 0.37, "div_factor": 4}}': lambda o: s.OneCycleLR(o, 1, epochs=10, steps_per_epoch=8, pct_start=0.37, div_factor=4),
    '{"one_cycle": {"pct_start": 0.5, "div_factor": 10, "final_div_factor": 100}}':
        lambda o: s.OneCycleLR(o, 1, total_steps=STEPS, pct_start=0.5, div_factor=10, final_div_factor=100),
}
factors = {}
for name, make in schedulers.items():
    o = torch.optim.SGD([torch.zeros(1)], lr=1.0)
    scheduler = make(o)
    rates = []
    for k in range(STEPS):
        rates.append(o.param_groups[0]["lr"])
        if k + 1 < STEPS:
            o.step(), scheduler.step()
    factors[name] = rates
with open("schedules.json", "w") as f:
    json.dump(factors, f, separators=(",", ":"))

# ReduceLROnPlateau follows losses: [loss of each epoch, factor after it].
losses = [5, 4, 4, 4.1, 3.99999, 4, 3, 3, 3, 3, 3, 3, 2.9, 2.95, 3, 3, 3, 3, 3]
plateaus = {
    '{"plateau": {"patience": 2}}': dict(patience=2),
    '{"plateau": {"gamma": 0.5, "patience": 1, "threshold": 0.01, "cooldown": 2, "end": 0.2}}':
        dict(factor=0.5, patience=1, threshold=0.01, cooldown=2, min_lr=0.2),
    '{"plateau": {"gamma": 0.5, "patience": 0, "threshold": 0}}': dict(factor=0.5, patience=0, threshold=0),
}
rows = {}
for name, settings in plateaus.items():
    o = torch.optim.SGD([torch.zeros(1)], lr=1.0)
    scheduler = s.ReduceLROnPlateau(o, **settings)
    rows[name] = []
    for loss in losses:
        scheduler.step(loss)
        rows[name].append([loss, o.param_groups[0]["lr"]])
with open("plateau.json", "w") as f:
    json.dump(rows, f)
