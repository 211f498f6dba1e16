"""What to do about an array that its own library does not share, in calls that the library has."""

import sys
from collections.abc import Callable
from typing import Any

# What refusals of any library say: texts in them, and the call that helps.
_SAID = {"grad": "pass x.detach()", "onjugat": "pass x.resolve_conj()"}
# What torch says of its own tensors.
_TENSORS: list[tuple[Callable[[Any, Any], bool], str]] = [
    (
        lambda torch, x: bool(torch._C._functorch.is_functorch_wrapped_tensor(x)),
        "within torch.vmap and torch.func tensors have no memory of their own: copy before or after them",
    ),
    (
        lambda _, x: type(x).__name__ == "MaskedTensor",
        "pass x.get_data() and x.get_mask() by themselves, or x.to_tensor(value) with what masked elements are to be",
    ),
    (lambda _, x: bool(x.device.type == "meta"), "a meta tensor holds no data: copy one that does"),
    (lambda _, x: str(x.dtype).startswith("torch.bits"), "pass x.view(torch.uint8)"),
    (lambda _, x: bool(x.is_quantized), "pass x.int_repr(), or x.dequantize()"),
    (lambda _, x: bool(x.is_nested), "pass x.to_padded_tensor(0.0), or the parts that x.unbind() gives"),
    (lambda torch, x: bool(x.layout is not torch.strided), "pass x.to_dense()"),
    (lambda _, x: bool(x._is_zerotensor()), "pass torch.zeros(x.shape, dtype=x.dtype)"),
    (lambda _, x: bool(x.requires_grad), "pass x.detach()"),
]


def advice(array: object, is_destination: bool, why: str) -> str:
    """What to do, to be appended to the refusal; empty where nothing is known.

    Of a destination there is none where a call would give a copy, in which what arrives would be lost.
    """
    if callable(is_deleted := getattr(array, "is_deleted", None)) and is_deleted():
        return "; its memory was deleted, or donated to a function of JAX: pass the array that took its place"
    hint = _of_torch(array) or next((answer for text, answer in _SAID.items() if text in why), "")
    if not hint and hasattr(array, "__array__"):
        hint = "np.asarray(x) may make an array that is"
    return f"; {hint}" if hint and (not is_destination or "detach" in hint) else ""


def _of_torch(tensor: object) -> str:
    torch = sys.modules.get("torch")
    if torch is None or not isinstance(tensor, torch.Tensor):
        return ""
    for is_one, hint in _TENSORS:
        try:
            if is_one(torch, tensor):
                return hint
        # Other versions lack one or the other of these; and other objects may raise anything.
        except (AttributeError, RuntimeError, NotImplementedError, TypeError):
            continue
    return ""
