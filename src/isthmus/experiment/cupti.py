"""Where CUPTI may be: the loader's path, CUDA toolkits, and the packages that bring it."""

import importlib.util
import re
from collections.abc import Iterable, Iterator
from pathlib import Path

__all__ = ["cupti_libraries", "cupti_order"]

# Those whose records are known here; a new one may lay them out differently.
_MAJORS = (13, 12)
_TOOLKITS = ("/usr/local/cuda", "/usr/local/cuda-*", "/opt/cuda")
_IN_TOOLKIT = ("extras/CUPTI/lib64", "lib64")
# Folders of the namespace package `nvidia`, as the wheels of CUDA 13 and of CUDA 12 have them.
_IN_PACKAGES = ("cu13/lib", "cuda_cupti/lib")


def cupti_order(api_version: str) -> list[str]:
    """File names, that of the driver's own CUDA version first: a newer CUPTI fails on an older driver.

    `api_version` is such as ``CUDA 13.0``.
    """
    found = re.search(r"(\d+)\.", api_version)
    driver = int(found[1]) if found else _MAJORS[0]
    majors = sorted(_MAJORS, key=lambda major: (major > driver, -major))
    return [f"libcupti.so.{major}" for major in majors]


def cupti_libraries(api_version: str, root: Path = Path("/"), packages: Iterable[Path] | None = None) -> list[str]:
    """Names and paths to try in turn; `root` stands for the file system, `packages` for folders named ``nvidia``."""
    folders = [*_toolkit_folders(root), *_package_folders(_nvidia_packages() if packages is None else packages)]
    found = []
    for name in cupti_order(api_version):
        found.append(name)
        found += [str(path) for folder in folders if (path := folder / name).exists()]
    return found


def _toolkit_folders(root: Path) -> Iterator[Path]:
    for pattern in _TOOLKITS:
        # The newest first, where names end in versions.
        for toolkit in sorted(root.glob(pattern.lstrip("/")), reverse=True):
            yield from (toolkit / inside for inside in _IN_TOOLKIT)


def _package_folders(packages: Iterable[Path]) -> Iterator[Path]:
    for package in packages:
        yield from (package / inside for inside in _IN_PACKAGES)


def _nvidia_packages() -> list[Path]:
    spec = importlib.util.find_spec("nvidia")
    return [Path(folder) for folder in (spec.submodule_search_locations or ())] if spec else []
