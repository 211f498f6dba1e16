"""`isthmus config`: where compilers and build systems find the C interface."""

from collections.abc import Callable
from typing import Annotated

import typer


def config(
    include: Annotated[bool, typer.Option("--include", help="The folder of isthmus.h.")] = False,
    library: Annotated[bool, typer.Option("--lib", help="The folder of libisthmus.so.")] = False,
    cmake: Annotated[bool, typer.Option("--cmakedir", help="For -Disthmus_DIR= of CMake.")] = False,
    pkgconfig: Annotated[bool, typer.Option("--pkgconfigdir", help="For PKG_CONFIG_PATH.")] = False,
) -> None:
    """Print where the C interface is installed, one folder a line: what is asked for, else all with their names."""
    from isthmus import c_interface
    from isthmus.errors import UsageError

    folders: dict[str, tuple[bool, Callable[[], str]]] = {
        "include": (include, c_interface.get_include),
        "lib": (library, c_interface.get_library_dir),
        "cmakedir": (cmake, c_interface.get_cmake_dir),
        "pkgconfigdir": (pkgconfig, c_interface.get_pkgconfig_dir),
    }
    asked = [find for wanted, find in folders.values() if wanted]
    try:
        lines = [find() for find in asked] if asked else [f"{name}: {find()}" for name, (_, find) in folders.items()]
    except FileNotFoundError as error:
        raise UsageError(str(error)) from error
    typer.echo("\n".join(lines))
