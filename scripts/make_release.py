"""Makes the source archive of a release, and checks it and the wheels next to it; uploads nothing.

Usage: make_release.py [--tag v0.1.0] [FOLDER]; the folder is dist by default. Needs git, scikit-build-core and twine.
Exit code 1, and a sentence for each fault: a file that the archive lacks or that is not the repository's, another
version than that of the tag or of a wheel, no heading of it in CHANGELOG.md, a description that registries refuse.
"""

import argparse
import re
import subprocess
import sys
import tarfile
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
# What pyproject.toml leaves out, and what the build adds.
NOT_PACKED = ("results/", "docs/pictures/")
ADDED = {"PKG-INFO"}


def version() -> str:
    """The package's own."""
    text = (ROOT / "src/isthmus/__init__.py").read_text(encoding="utf-8")
    match = re.search(r'^__version__ = "(.+)"$', text, re.MULTILINE)
    if match is None:
        raise SystemExit("src/isthmus/__init__.py has no __version__")
    return match[1]


def make_archive(folder: Path) -> Path:
    """Pack the checkout as pip gets it where no wheel suits."""
    build = f"from scikit_build_core.build import build_sdist; print(build_sdist({str(folder.resolve())!r}))"
    made = subprocess.run([sys.executable, "-c", build], cwd=ROOT, check=True, text=True, stdout=subprocess.PIPE)
    return folder / made.stdout.splitlines()[-1]


def archive_faults(archive: Path) -> Iterator[str]:
    """Files that are missing, and files of this machine that nobody committed."""
    listed = subprocess.run(["git", "ls-files"], cwd=ROOT, check=True, text=True, stdout=subprocess.PIPE).stdout
    tracked = {name for name in listed.splitlines() if not name.startswith(NOT_PACKED)}
    with tarfile.open(archive) as packed:
        names = {name.partition("/")[2] for name in packed.getnames()}
    yield from (f"{archive.name} lacks {name}" for name in sorted(tracked - names))
    yield from (f"{archive.name} has {name}, which is not committed" for name in sorted(names - tracked - ADDED))


def name_faults(folder: Path, tag: str) -> Iterator[str]:
    """Versions that differ, and wheels of which a registry takes none, or that old distributions cannot install."""
    own = version()
    if tag and tag != f"v{own}":
        yield f"the tag is {tag}, the version {own}"
    if tag and not re.search(rf"^## {re.escape(own)}\b", (ROOT / "CHANGELOG.md").read_text("utf-8"), re.MULTILINE):
        yield f"CHANGELOG.md has no heading ## {own}"
    wheels = sorted(each.name for each in folder.glob("*.whl"))
    yield from (f"{name} is not of version {own}" for name in wheels if name.split("-")[1] != own)
    if tag:
        yield from (f"{name} is of this system alone" for name in wheels if "manylinux_2_" not in name)
        for processor in ("x86_64", "aarch64"):
            if not any(name.endswith(f"_{processor}.whl") for name in wheels):
                yield f"there is no wheel for {processor}"


def main(arguments: list[str] | None = None) -> int:
    """Make and check; prints the archive's name."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--tag", default="", help="the release's, such as v0.1.0; without it nothing is to be released")
    parser.add_argument("folder", nargs="?", type=Path, default=ROOT / "dist")
    given = parser.parse_args(arguments)
    given.folder.mkdir(exist_ok=True)
    for old in given.folder.glob("isthmus-*.tar.gz"):
        old.unlink()
    archive = make_archive(given.folder)
    faults = [*archive_faults(archive), *name_faults(given.folder, given.tag)]
    for fault in faults:
        print(fault, file=sys.stderr)
    files = sorted(map(str, given.folder.glob("isthmus-*")))
    described = subprocess.run([sys.executable, "-m", "twine", "check", "--strict", *files], check=False)
    print(archive)
    return 1 if faults or described.returncode else 0


if __name__ == "__main__":
    sys.exit(main())
