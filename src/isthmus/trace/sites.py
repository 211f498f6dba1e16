"""Which of the lines that led to a call is the program's own, for libraries' lines say nothing to its author."""

import re
import sys

from isthmus.trace.trace import Site

# A frame of Python: ``train.py:42 step``.
_LINE = re.compile(r"(?P<path>.+?\.pyx?):\d+(?: .*)?")
# An operator of torch, which is innermost: ``aten::to``.
_OPERATOR = re.compile(r"\w+::\w+")
_PACKAGES_FOLDER = re.compile(r"(?:^|/)(?:site|dist)-packages/")
_INSTALLED = re.compile(rf"{_PACKAGES_FOLDER.pattern}|(^|/)lib/python3[^/]*/|^<")
# What profilers name by its place below the folder that it is installed in.
_LIBRARIES = frozenset(
    {
        *("accelerate", "apex", "bitsandbytes", "cupy", "datasets", "deepspeed", "diffusers", "fairscale", "flax"),
        *("isthmus", "jax", "jaxlib", "keras", "lightning", "megatron", "numba", "numpy", "optax", "pandas", "peft"),
        *("pytorch_lightning", "safetensors", "scipy", "sglang", "tensorflow", "timm", "tokenizers", "torch"),
        *("torchaudio", "torchmetrics", "torchvision", "transformers", "triton", "trl", "vllm", "xformers"),
    }
)


def is_library(frame: str) -> bool:
    """Whether a frame is of the standard library or an installed one, as far as its text tells."""
    match = _LINE.fullmatch(frame)
    if match is None:
        return _OPERATOR.fullmatch(frame) is not None
    path = match["path"]
    if _INSTALLED.search(path):
        return True
    top = path.partition("/")[0].removesuffix(".py")
    return top in sys.stdlib_module_names or ("/" in path and top in _LIBRARIES)


def package(frame: str) -> str:
    """The package of a library's frame: ``torch``; empty where its text does not say."""
    match = _LINE.fullmatch(frame)
    if match is None:
        return "torch" if frame.startswith("aten::") else ""
    *_, place = _PACKAGES_FOLDER.split(match["path"])
    top = place.partition("/")[0].removesuffix(".py")
    return top if place != match["path"] or top in _LIBRARIES else ""


def own_frame(site: Site) -> str:
    """The innermost line of the program itself; the innermost frame of all where every one is a library's."""
    return next((frame for frame in site if not is_library(frame)), site[0] if site else "")


def site_words(site: Site) -> str:
    """The program's line, with the operator of torch that it called: ``train.py:42 step (aten::to)``."""
    line = own_frame(site)
    operator = site[0] if site and _OPERATOR.fullmatch(site[0]) else ""
    return f"{line} ({operator})" if operator and operator != line else line
