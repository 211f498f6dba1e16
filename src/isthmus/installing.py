"""What was installed, and commands that install. None of these names Isthmus in a registry: it is in none yet.

A stranger who took its name there would be installed by our own text. An extra is named by its packages, which can be
installed on any machine, and Isthmus itself by where it comes from.
"""

import platform
import shlex
from importlib.util import find_spec
from pathlib import Path

# What changes once Isthmus is published: this text, and README.
OURS = "pip install . in a checkout of Isthmus, or with the path of its wheel in place of the dot"


def install_extra(name: str) -> str:
    """The command that installs an extra's packages for this processor, as this installation's metadata has them."""
    from importlib import metadata

    try:
        wanted = metadata.requires("isthmus") or []
    except metadata.PackageNotFoundError:
        wanted = []  # It runs from its sources.
    pairs = [each.partition(";") for each in wanted]
    extra, processor = f'extra == "{name}"', f'platform_machine == "{platform.machine()}"'
    conditions = [(package.strip(), each.replace("'", '"').strip().split(" and ")) for package, _, each in pairs]
    packages = [package for package, every in conditions if extra in every and {*every} <= {extra, processor}]
    return shlex.join(["pip", "install", *packages]) if packages else OURS


def installed_file(name: str) -> Path:
    """A file that the build put into the package; an editable installation has several folders.

    Raises FileNotFoundError, which says where it was looked for.
    """
    spec = find_spec("isthmus")
    packages = (spec.submodule_search_locations if spec else None) or []
    for package in packages:
        if (path := Path(package) / name).is_file():
            return path.absolute()
    raise FileNotFoundError(f"no {name} in {' and '.join(packages)}; install the package anew: {OURS}")
