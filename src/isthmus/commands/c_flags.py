"""`isthmus c-flags`: where compilers and build systems find the C interface."""

from collections.abc import Callable

import typer

from isthmus.commands._choices import JsonOption, flag
from isthmus.messages import to_stderr


def c_flags(
    context: typer.Context,
    include: bool = flag("--include", "The folder of isthmus.h."),
    library: bool = flag("--lib", "The folder of libisthmus.so."),
    cmake: bool = flag("--cmakedir", "For -Disthmus_DIR= of CMake."),
    pkgconfig: bool = flag("--pkgconfigdir", "For PKG_CONFIG_PATH."),
    as_json: JsonOption = False,
) -> None:
    """Print the folders of the C interface: the one you ask for, else all with their names."""
    import json

    from isthmus import c_interface
    from isthmus.errors import UsageError

    folders: dict[str, tuple[bool, Callable[[], str]]] = {
        "include": (include, c_interface.get_include),
        "lib": (library, c_interface.get_library_dir),
        "cmakedir": (cmake, c_interface.get_cmake_dir),
        "pkgconfigdir": (pkgconfig, c_interface.get_pkgconfig_dir),
    }
    if context.info_name == "config":
        to_stderr("isthmus: config is called c-flags now, and its old name will go; write: isthmus c-flags")
    some = any(wanted for wanted, _ in folders.values())
    try:
        folders_wanted = {name: find() for name, (wanted, find) in folders.items() if wanted or not some}
    except FileNotFoundError as error:
        raise UsageError(str(error)) from error
    named = [folder if some else f"{name}: {folder}" for name, folder in folders_wanted.items()]
    typer.echo(json.dumps(folders_wanted, indent=2) if as_json else "\n".join(named))
