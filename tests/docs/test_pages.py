"""Documentation is true where a machine can tell: links lead somewhere, commands and names exist."""

import ast
import importlib
import re
import shlex
from collections.abc import Iterator
from pathlib import Path

import typer

from isthmus.commands.main import app
from tests.layout.every import every

REPOSITORY = Path(__file__).resolve().parents[2]
PAGES = sorted(
    [*REPOSITORY.glob("*.md"), *(REPOSITORY / "docs").rglob("*.md"), *(REPOSITORY / "examples").rglob("*.md")]
)
_LINK = re.compile(r"\[[^\]]*\]\(([^)\s]+)\)")
_BLOCK = re.compile(r"^ *```(\w*)\n(.*?)^ *```", re.MULTILINE | re.DOTALL)
COMMANDS = typer.main.get_command(app)


def name_of(path: Path) -> str:
    return str(path.relative_to(REPOSITORY))


def anchors(page: Path) -> set[str]:
    """Anchors of headings as forges and mkdocs make them."""
    headings = re.findall(r"^#+ (.*)$", page.read_text("utf-8"), re.MULTILINE)
    return {re.sub(r"[^\w\- ]", "", heading.lower()).strip().replace(" ", "-") for heading in headings}


def commands_in(page: Path) -> Iterator[list[str]]:
    """Every `isthmus ...` that stands as a line of a block, as words without comments."""
    for _, block in _BLOCK.findall(page.read_text("utf-8")):
        for line in block.replace("\\\n", " ").splitlines():
            if found := re.match(r"\s*(?:\$ )?(?:\S*mpirun .*?|srun .*?)?isthmus (.*)", line):
                yield shlex.split(found[1].partition(" | ")[0].partition(" > ")[0], comments=True)


@every(PAGES, name_of)
def test_links_lead_somewhere(page: Path) -> None:
    for link in _LINK.findall(page.read_text("utf-8")):
        if "://" in link or link.startswith("mailto:"):
            continue
        path, _, anchor = link.partition("#")
        target = (page.parent / path).resolve() if path else page
        assert target.exists(), f"{link} leads nowhere"
        assert not anchor or anchor in anchors(target), f"{link}: no such heading"


@every(PAGES, name_of)
def test_commands_have_the_options_that_pages_give_them(page: Path) -> None:
    for words in commands_in(page):
        if not words or words[0].startswith("-"):
            continue
        command = COMMANDS.commands.get(words[0])  # type: ignore[attr-defined]
        assert command, f"isthmus {words[0]}: no such command"
        known = {option for parameter in command.params for option in (*parameter.opts, *parameter.secondary_opts)}
        ours = words[: words.index("--")] if "--" in words else words
        for word in ours[1:]:
            option = word.partition("=")[0]
            assert not re.match(r"--?[a-z]", option) or option in known, f"isthmus {words[0]} {option}: no such option"


def names_of(module: str) -> set[str]:
    """What a module offers; of those that import what is not installed here, what they import and define."""
    if not module.startswith(("isthmus.torch", "isthmus.jax", "isthmus.plugins.")):
        return set(dir(importlib.import_module(module)))
    path = REPOSITORY.joinpath("src", *module.split("."))
    tree = ast.parse((path / "__init__.py" if path.is_dir() else path.with_suffix(".py")).read_text("utf-8"))
    imported = {alias.name for node in ast.walk(tree) if isinstance(node, ast.ImportFrom) for alias in node.names}
    return imported | {node.name for node in tree.body if isinstance(node, ast.ClassDef | ast.FunctionDef)}


@every(PAGES, name_of)
def test_python_in_pages_compiles_and_names_what_exists(page: Path) -> None:
    for language, block in _BLOCK.findall(page.read_text("utf-8")):
        if language != "python":
            continue
        for node in ast.walk(ast.parse(block)):
            if isinstance(node, ast.ImportFrom) and (node.module or "").partition(".")[0] == "isthmus":
                for alias in node.names:
                    assert alias.name in names_of(node.module or ""), f"{node.module} has no {alias.name}"
            elif isinstance(node, ast.Attribute) and ast.unparse(node.value) == "isthmus":
                assert hasattr(importlib.import_module("isthmus"), node.attr), f"isthmus has no {node.attr}"


def test_every_page_is_in_the_navigation() -> None:
    navigation = (REPOSITORY / "mkdocs.yml").read_text("utf-8").partition("\nnav:")[2]
    docs = REPOSITORY / "docs"
    assert sorted(re.findall(r"[\w/-]+\.md", navigation)) == sorted(
        path.relative_to(docs).as_posix() for path in docs.rglob("*.md")
    )


def test_pages_are_short_enough_to_be_read() -> None:
    docs = sorted((REPOSITORY / "docs").rglob("*.md"))
    words = {page: len(page.read_text("utf-8").split()) for page in [REPOSITORY / "README.md", *docs]}
    assert sum(words.values()) <= 20000
    assert {
        name_of(page): count for page, count in words.items() if page.parent.name == "recipes" and count > 500
    } == {}
    assert len((REPOSITORY / "README.md").read_text("utf-8").splitlines()) <= 120


def test_something_is_looked_at() -> None:
    assert sum(1 for page in PAGES for _ in commands_in(page)) > 40
