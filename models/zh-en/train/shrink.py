"""Keeps the averaged weights of a checkpoint in half precision: shrink.py CHECKPOINT SMALLER. What translates and exports
reads it like any other; training does not continue from it."""
import pathlib
import sys

import torch

state = torch.load(pathlib.Path(sys.argv[1]), map_location="cpu", weights_only=True)
ema = {name: weight.half() for name, weight in state["ema"].items()}
torch.save({"shape": state["shape"], "step": state["step"], "ema": ema}, sys.argv[2])
