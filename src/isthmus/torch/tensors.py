"""What all parts of `isthmus.torch` ask of tensors and devices."""

import torch

from isthmus.errors import DeviceAbsent, UsageError, WrongType

_COPIED = {
    getattr(torch, name)
    for name in (
        *("bool", "uint8", "int8", "uint16", "int16", "uint32", "int32", "uint64", "int64"),
        *("float16", "bfloat16", "float32", "float64", "complex64", "complex128"),
        *("float8_e4m3fn", "float8_e5m2", "float8_e4m3fnuz", "float8_e5m2fnuz", "float8_e8m0fnu"),
    )
    if hasattr(torch, name)
}


def is_plain(tensor: torch.Tensor) -> bool:
    """Whether it is its elements in memory and nothing else: neither sparse, lazily negated nor wrapped."""
    return (
        type(tensor) in (torch.Tensor, torch.nn.Parameter)
        and tensor.layout is torch.strided
        and tensor.dtype in _COPIED
        and not tensor.is_conj()
        and not tensor.is_neg()
    )


def torch_device(device: object) -> torch.device:
    """The device that is named, of those that tensors are moved to: CUDA's, and the host.

    Raises WrongType for what names none, and UsageError for others.
    """
    try:
        parsed = torch.device(device)
    except (RuntimeError, TypeError) as error:
        raise WrongType(f"the device is {device!r}: {error}") from None
    if parsed.type == "cuda" and not torch.cuda.is_available():
        raise DeviceAbsent(f"torch {torch.__version__} sees no CUDA device here; torch.cuda.init() says why")
    if parsed.type not in ("cuda", "cpu"):
        raise UsageError(f"the device is {parsed}; expected one of CUDA, such as 'cuda:0', or 'cpu'")
    return parsed
