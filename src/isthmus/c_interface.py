"""Where the C interface is installed: its header, its library, and what CMake and pkg-config look for."""

from importlib.util import find_spec
from pathlib import Path

from isthmus.installing import OURS

__all__ = ["get_cmake_dir", "get_include", "get_library_dir", "get_pkgconfig_dir"]


def get_include() -> str:
    """The folder that holds ``isthmus.h``.

    Raises FileNotFoundError where the package was installed without the library: from an incomplete build.
    """
    return _folder("include", "isthmus.h")


def get_library_dir() -> str:
    """The folder that holds ``libisthmus.so``, for linkers, and ``libisthmus.so.0``, for loaders.

    Raises as `get_include` does.
    """
    return _folder("lib", "libisthmus.so.0")


def get_cmake_dir() -> str:
    """What ``-Disthmus_DIR=`` takes, so that ``find_package(isthmus)`` works.

    Raises as `get_include` does.
    """
    return _folder("lib/cmake/isthmus", "isthmusConfig.cmake")


def get_pkgconfig_dir() -> str:
    """What ``PKG_CONFIG_PATH`` takes, so that ``pkg-config isthmus`` works.

    Raises as `get_include` does.
    """
    return _folder("lib/pkgconfig", "isthmus.pc")


def _folder(name: str, file: str) -> str:
    """The folder of the package that has the file; an editable installation has several."""
    spec = find_spec("isthmus")
    packages = (spec.submodule_search_locations if spec else None) or []
    for package in packages:
        folder = Path(package) / name
        if (folder / file).is_file():
            return str(folder)
    looked_in = " and ".join(packages)
    raise FileNotFoundError(f"no {name}/{file} in {looked_in}; install the package anew: {OURS}")
