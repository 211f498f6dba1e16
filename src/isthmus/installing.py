"""The commands by which messages have something installed. None names Isthmus in a registry: it is in none yet.

A stranger who took its name there would be installed by our own text. An extra is named by its packages, which can be
installed on any machine, and Isthmus itself by where it comes from.
"""

import shlex

# What changes once Isthmus is published: this text, and README.
OURS = "pip install . in a checkout of Isthmus, or with the path of its wheel in place of the dot"


def install_extra(name: str) -> str:
    """The command that installs the packages of an extra, as this installation's metadata has them."""
    from importlib import metadata

    try:
        wanted = metadata.requires("isthmus") or []
    except metadata.PackageNotFoundError:
        wanted = []  # It runs from its sources.
    pairs = [each.partition(";") for each in wanted]
    marker = {f"extra == {quote}{name}{quote}" for quote in "'\""}
    packages = [package.strip() for package, _, condition in pairs if condition.strip() in marker]
    return shlex.join(["pip", "install", *packages]) if packages else OURS
