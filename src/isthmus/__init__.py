"""Isthmus measures, explains and performs the movement of data between host memory and accelerators."""

from isthmus.c_interface import get_cmake_dir, get_include, get_library_dir, get_pkgconfig_dir

# Found when they are first asked for, so that importing the package loads neither NumPy nor the native core; what they
# are, __init__.pyi says.
_TRANSFER = (
    "Batch",
    "DeviceArray",
    "Explanation",
    "Future",
    "Pinned",
    "ResultMemory",
    "Session",
    "batch",
    "copy",
    "copy_addresses",
    "copy_addresses_async",
    "copy_async",
    "copy_batch",
    "copy_batch_async",
    "copy_from_file",
    "copy_rows",
    "copy_rows_async",
    "default_session",
    "device_empty",
    "explain",
    "explain_batch",
    "explain_rows",
    "pin",
    "pinned_empty",
    "pinned_like",
    "result_memory",
    "to_device",
    "to_device_async",
    "to_host",
    "to_host_async",
)
_NOTEBOOK = ("MeasuredRun", "check", "measure", "open_run")

__all__ = ["__version__", "errors", "get_cmake_dir", "get_include", "get_library_dir", "get_pkgconfig_dir"]
__all__.extend((*_NOTEBOOK, *_TRANSFER))

__version__ = "0.1.0"


def __getattr__(name: str) -> object:
    import importlib

    if name == "errors":
        return importlib.import_module("isthmus.errors")
    for package, names in (("isthmus.transfer", _TRANSFER), ("isthmus.notebook", _NOTEBOOK)):
        if name in names:
            globals()[name] = value = getattr(importlib.import_module(package), name)
            return value
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
