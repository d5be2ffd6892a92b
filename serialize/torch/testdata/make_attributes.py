"""attributes.pt: a tensor, a parameter and a view of it on which a program has set attributes."""
import torch

tensor = torch.arange(6.0).reshape(2, 3)
tensor.note = "a note"
tensor.scale = 0.5
parameter = torch.nn.Parameter(torch.arange(4.0))
parameter.is_frozen = True
plain = torch.ones(2)
torch.save({"tensor": tensor, "parameter": parameter, "plain": plain}, "attributes.pt")
