"""Types of elements: NumPy's, and those that it lacks, which go by the names that torch and ml_dtypes have for them."""

import functools
import importlib
import sys
from types import ModuleType
from typing import Any

import numpy as np

from isthmus import _native
from isthmus.errors import WrongType


def named_type(typestr: str, name: str) -> np.dtype[Any]:
    """NumPy's type; of those that it lacks ml_dtypes' where that is installed, else raw bytes of the size."""
    module = (sys.modules.get("ml_dtypes") or _ml_dtypes()) if name else None
    return np.dtype(getattr(module, name, typestr))


def read_type(dtype: object) -> tuple[np.dtype[Any], str]:
    """What a caller passes as a type: anything of NumPy's, torch's types, and names; with the name of one NumPy lacks.

    Raises WrongType for what is none.
    """
    if type(dtype).__module__ == "torch" or isinstance(dtype, str):
        dtype = str(dtype).removeprefix("torch.")
        if size := _native.named_type_bytes(dtype):
            return named_type(f"|V{size}", dtype), dtype
    try:
        return np.dtype(dtype), ""  # type: ignore[call-overload]
    except (TypeError, ValueError) as error:
        expected = "expected one of NumPy's, torch's or ml_dtypes', or a name such as 'float32' or 'bfloat16'"
        raise WrongType(f"{dtype!r} is no type of elements: {error}; {expected}") from error


@functools.cache
def _ml_dtypes() -> ModuleType | None:
    try:
        return importlib.import_module("ml_dtypes")
    except ImportError:
        return None
