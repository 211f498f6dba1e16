"""Where CUPTI may be: the loader's path, CUDA toolkits, and the packages that bring it."""

import ctypes
import importlib.util
import re
from collections.abc import Iterable, Iterator
from pathlib import Path

Version = tuple[int, int]
# Those whose records are known here; a new one may lay them out differently.
_MAJORS = (13, 12)
_TOOLKITS = ("/usr/local/cuda", "/usr/local/cuda-*", "/opt/cuda")
_IN_TOOLKIT = ("extras/CUPTI/lib64", "lib64")
# Folders of the namespace package `nvidia`, as the wheels of CUDA 13 and of CUDA 12 have them.
_IN_PACKAGES = ("cu13/lib", "cuda_cupti/lib")
_NUMBERS = re.compile(r"(\d+)\.(\d+)")


def cupti_order(api_version: str) -> list[str]:
    """File names, that of the driver's own CUDA version first: a newer CUPTI fails on an older driver.

    `api_version` is such as ``CUDA 13.0``.
    """
    driver = _version(api_version) or (_MAJORS[0], 0)
    majors = sorted(_MAJORS, key=lambda major: (major > driver[0], -major))
    return [f"libcupti.so.{major}" for major in majors]


def cupti_libraries(
    api_version: str, root: Path = Path("/"), packages: Iterable[Path] | None = None, toolkit: str = ""
) -> list[str]:
    """Names and paths to try in order, without those that are known to be newer than the driver.

    `root` is the root of the file system, `packages` are the folders named ``nvidia``; `toolkit` is looked at first.
    """
    found_packages = _nvidia_packages() if packages is None else packages
    folders = [*_toolkit_folders(root, toolkit), *_package_folders(found_packages)]
    driver = _version(api_version)
    libraries = []
    for name in cupti_order(api_version):
        libraries.append(name)
        paths = [path for folder in folders if (path := folder / name).exists()]
        libraries += [str(path) for path in paths if not driver or (_version_of(path) or driver) <= driver]
    return list(dict.fromkeys(libraries))


def driver_version() -> str:
    """``CUDA 13.0`` of NVIDIA's driver, as `cupti_libraries` takes it; empty without one.

    Asked of the driver directly, which takes no longer than loading it: a device is not opened for it.
    """
    version = ctypes.c_int()
    try:
        failed = ctypes.CDLL("libcuda.so.1").cuDriverGetVersion(ctypes.byref(version))
    except (OSError, AttributeError):
        return ""
    return "" if failed else f"CUDA {version.value // 1000}.{version.value % 1000 // 10}"


def _toolkit_folders(root: Path, toolkit: str) -> Iterator[Path]:
    if toolkit:
        yield from (Path(toolkit) / inside for inside in _IN_TOOLKIT)
    for pattern in _TOOLKITS:
        # The newest first, where names end in versions.
        for path in sorted(root.glob(pattern.lstrip("/")), reverse=True):
            yield from (path / inside for inside in _IN_TOOLKIT)


def _package_folders(packages: Iterable[Path]) -> Iterator[Path]:
    for package in packages:
        yield from (package / inside for inside in _IN_PACKAGES)


def _nvidia_packages() -> list[Path]:
    spec = importlib.util.find_spec("nvidia")
    return [Path(folder) for folder in (spec.submodule_search_locations or ())] if spec else []


def _version_of(library: Path) -> Version | None:
    """The CUDA version that a library is of, as its toolkit's folder or its package says; None where neither does."""
    if toolkit := re.search(r"/cuda-(\d+\.\d+)/", str(library.resolve())):
        return _version(toolkit[1])
    major = library.name.rpartition(".")[2]
    for information in library.parents[3].glob(f"nvidia_cuda_cupti*-{major}.*.dist-info"):
        return _version(information.name)
    return None


def _version(text: str) -> Version | None:
    match = _NUMBERS.search(text)
    return (int(match[1]), int(match[2])) if match else None
