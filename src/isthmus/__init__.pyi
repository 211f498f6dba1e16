"""What the package exports, for type checkers: at run time most of it is found when it is first asked for."""

from isthmus import errors as errors
from isthmus.c_interface import get_cmake_dir, get_include, get_library_dir, get_pkgconfig_dir
from isthmus.transfer import (
    DeviceArray,
    Explanation,
    Future,
    Pinned,
    Session,
    copy,
    copy_async,
    copy_batch,
    copy_batch_async,
    copy_from_file,
    default_session,
    device_empty,
    explain,
    explain_batch,
    pin,
    pinned_empty,
    pinned_like,
    to_device,
    to_device_async,
    to_host,
    to_host_async,
)

__all__ = [
    "DeviceArray",
    "Explanation",
    "Future",
    "Pinned",
    "Session",
    "__version__",
    "copy",
    "copy_async",
    "copy_batch",
    "copy_batch_async",
    "copy_from_file",
    "default_session",
    "device_empty",
    "errors",
    "explain",
    "explain_batch",
    "get_cmake_dir",
    "get_include",
    "get_library_dir",
    "get_pkgconfig_dir",
    "pin",
    "pinned_empty",
    "pinned_like",
    "to_device",
    "to_device_async",
    "to_host",
    "to_host_async",
]

__version__: str
