"""Where the C interface is installed: its header, its library, and what CMake and pkg-config look for."""

from isthmus.installing import installed_file

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
    return str(installed_file(f"{name}/{file}").parent)
