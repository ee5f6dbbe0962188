"""A GPT as nn/gpt.h describes it, in PyTorch: the oracle of the golden gradients and the peer of the benchmark.

Optional: nothing of ringlet needs it. PyTorch 1.13 as Debian has it (python3-torch).
"""
import math

import torch
import torch.nn.functional as F


def parameter_shapes(L, C, V, T, bias, tied):
    """Names and shapes in ringlet's order. Matrices are [in, out]."""
    shapes = [("wte.weight", (V, C)), ("wpe.weight", (T, C))]
    for i in range(L):
        h = f"h.{i}."
        shapes += [(h + "ln_1.weight", (C,))] + ([(h + "ln_1.bias", (C,))] if bias else [])
        shapes += [(h + "attn.c_attn.weight", (C, 3 * C)), (h + "attn.c_proj.weight", (C, C))]
        shapes += [(h + "ln_2.weight", (C,))] + ([(h + "ln_2.bias", (C,))] if bias else [])
        shapes += [(h + "mlp.c_fc.weight", (C, 4 * C))] + ([(h + "mlp.c_fc.bias", (4 * C,))] if bias else [])
        shapes += [(h + "mlp.c_proj.weight", (4 * C, C))] + ([(h + "mlp.c_proj.bias", (C,))] if bias else [])
    shapes += [("ln_f.weight", (C,))] + ([("ln_f.bias", (C,))] if bias else [])
    return shapes + ([] if tied else [("lm_head.weight", (C, V))])


class Gpt(torch.nn.Module):
    def __init__(self, L, C, H, V, T, bias=True, tied=False, gelu="none", dtype=torch.float32):
        super().__init__()
        self.L, self.H, self.tied, self.gelu, self.C = L, H, tied, gelu, C
        self.weights = torch.nn.ParameterDict()
        for name, shape in parameter_shapes(L, C, V, T, bias, tied):
            self.weights[name.replace(".", "_")] = torch.nn.Parameter(0.02 * torch.randn(shape, dtype=dtype))

    def of(self, name):
        key = name.replace(".", "_")
        return self.weights[key] if key in self.weights else None

    def norm(self, x, name):
        return F.layer_norm(x, (self.C,), self.of(name + ".weight"), self.of(name + ".bias"), 1e-5)

    def forward(self, tokens):
        B, T = tokens.shape
        C, H = self.C, self.H
        x = self.of("wte.weight")[tokens] + self.of("wpe.weight")[:T]
        mask = torch.ones(T, T, dtype=torch.bool).tril()
        for i in range(self.L):
            h = f"h.{i}."
            q, k, v = (self.norm(x, h + "ln_1") @ self.of(h + "attn.c_attn.weight")).split(C, dim=2)
            q, k, v = (t.view(B, T, H, C // H).transpose(1, 2) for t in (q, k, v))
            scores = (q @ k.transpose(2, 3)) / math.sqrt(C // H)
            attended = torch.softmax(scores.masked_fill(~mask, float("-inf")), dim=3) @ v
            x = x + attended.transpose(1, 2).reshape(B, T, C) @ self.of(h + "attn.c_proj.weight")
            hidden = self.norm(x, h + "ln_2") @ self.of(h + "mlp.c_fc.weight")
            if self.of(h + "mlp.c_fc.bias") is not None:
                hidden = hidden + self.of(h + "mlp.c_fc.bias")
            out = F.gelu(hidden, approximate=self.gelu) @ self.of(h + "mlp.c_proj.weight")
            if self.of(h + "mlp.c_proj.bias") is not None:
                out = out + self.of(h + "mlp.c_proj.bias")
            x = x + out
        head = self.of("wte.weight").t() if self.tied else self.of("lm_head.weight")
        return self.norm(x, "ln_f") @ head

    def loss_sum(self, tokens, targets):
        logits = self.forward(tokens)
        return F.cross_entropy(logits.view(-1, logits.shape[-1]), targets.view(-1), reduction="sum")
