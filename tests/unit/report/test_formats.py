"""The registry of formats: a file and a line serve every document, and what does not fit or fails says so."""

import io
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from isthmus.commands._output import save_report
from isthmus.commands._own_files import check_replaceable
from isthmus.commands.main import main
from isthmus.compare import compare
from isthmus.document.document import Document
from isthmus.errors import ReportFailed, UsageError
from isthmus.fleet import survey
from isthmus.report import formats, renderers, write
from isthmus.report.advice import advice_document
from isthmus.report.comparison.document import comparison_document
from isthmus.report.fleet.document import fleet_document
from isthmus.report.formats import Format
from isthmus.report.runs import runs_document
from isthmus.report.trace.document import trace_document
from tests.made_traces import made_advice, made_trace
from tests.synthetic import runs as synthetic
from tests.synthetic.fleet import by_link, save_hosts

# The one file of a new format.
OUTLINE = '''"""The headings of a document, and how many tables are under each."""

from isthmus.document.document import Answer, Heading, Table


def write(document, out):
    out.write(f"{document.title}\\n")
    for block in document.shown_to("text"):
        if isinstance(block, Answer):
            out.writelines(f"= {sentence}\\n" for sentence in block.sentences)
        if isinstance(block, Heading):
            out.write(f"{'-' * block.level} {block.text}\\n")
        if isinstance(block, Table):
            out.write(f"{len(block.grids)} tables\\n")
'''
Install = Callable[[str, str, Format], None]


@pytest.fixture
def install(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Install:
    """Adds a file to the renderers and a line to the registry."""

    def add(name: str, code: str, line: Format) -> None:
        folder = tmp_path / "renderers"
        folder.mkdir()
        (folder / f"{name}.py").write_text(code)
        monkeypatch.setattr(renderers, "__path__", [*renderers.__path__, str(folder)])
        monkeypatch.delitem(sys.modules, f"isthmus.report.renderers.{name}", raising=False)
        monkeypatch.setattr(formats, "FORMATS", (*formats.FORMATS, line))

    return add


@pytest.fixture(scope="module")
def fleet_folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    slow = {(1, 1): by_link(2.0)}
    folder: Path = save_hosts(tmp_path_factory.mktemp("fleet") / "hosts", 6, slow)
    return folder


@pytest.fixture(scope="module")
def documents(fleet_folder: Path) -> dict[str, Document]:
    run = synthetic.h200()
    return {
        "runs": runs_document([run]),
        "comparison": comparison_document(compare(run, run)),
        "trace": trace_document(made_trace(), made_advice()),
        "advice": advice_document(made_advice(), [made_trace()]),
        "fleet": fleet_document(survey([fleet_folder])),
    }


def written(document: Document, format_name: str) -> str:
    out = io.StringIO()
    write(document, format_name, out)
    return out.getvalue()


def test_a_file_and_a_line_serve_every_document(install: Install, documents: dict[str, Document]) -> None:
    install("outline", OUTLINE, Format("outline", (".outline",)))
    texts = {kind: written(document, "outline") for kind, document in documents.items()}
    for kind, text in texts.items():
        assert text.startswith(documents[kind].title), kind
        assert "tables" in text, kind
        assert "--" in text, kind
        assert "=" in text or kind == "runs", kind


def test_every_command_takes_the_new_format(
    install: Install, fleet_folder: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    install("outline", OUTLINE, Format("outline", (".outline",)))
    assert main(["fleet", str(fleet_folder), "--format", "outline"]) == 0
    assert "tables" in capsys.readouterr().out
    output = tmp_path / "x.outline"
    assert main(["fleet", str(fleet_folder), "-o", str(output)]) == 0
    assert "tables" in output.read_text("utf-8")


@pytest.mark.parametrize("line", formats.FORMATS, ids=lambda line: line.name)
def test_every_line_has_its_file_and_serves_what_it_says(line: Format, documents: dict[str, Document]) -> None:
    assert callable(line.renderer().write)
    for kind in line.serves or documents:
        if kind in documents:
            assert written(documents[kind], line.name) or line.name in ("slurm", "kubectl")


def test_a_format_that_does_not_fit_lists_those_that_do(documents: dict[str, Document]) -> None:
    said = "no such format: 'chrome'; that is for trace; expected one of terminal, markdown, html, json, csv"
    with pytest.raises(UsageError, match=said):
        write(documents["runs"], "chrome", io.StringIO())


SUFFIXES = {each.name: (each.suffixes or ("",))[-1] for each in formats.FORMATS}


@pytest.mark.parametrize("line", formats.FORMATS, ids=lambda line: line.name)
def test_a_report_is_known_as_ours_and_written_over(
    line: Format, documents: dict[str, Document], tmp_path: Path
) -> None:
    """But for lists of hosts, which have nothing that says who wrote them."""
    for kind in set(line.serves or documents) & set(documents):
        path = tmp_path / f"{kind}{SUFFIXES[line.name]}"
        save_report(documents[kind], line.name, path)
        if line.name in ("slurm", "kubectl"):
            with pytest.raises(
                UsageError, match=r"that Isthmus did not write; name another file with -o, or .* --force"
            ):
                check_replaceable(path, force=False)
            check_replaceable(path, force=True)
            continue
        check_replaceable(path, force=False)
        path.write_bytes(b"My notes: " + path.read_bytes() + b"and more")
        with pytest.raises(UsageError, match="is there already"):
            check_replaceable(path, force=False)


FAILING = '"""Fails half-way."""\n\n\ndef write(document, out):\n    out.write("half")\n    raise KeyError("x")\n'


@pytest.mark.parametrize("serves", [(), ("runs",)], ids=["sentences", "figures"])
def test_a_renderer_that_fails_is_named_and_leaves_no_half_a_file(
    install: Install, documents: dict[str, Document], tmp_path: Path, serves: tuple[()] | tuple[str]
) -> None:
    install("failing", FAILING, Format("failing", (".failing",), serves))  # type: ignore[arg-type]
    path = tmp_path / "report.failing"
    with pytest.raises(ReportFailed, match="the failing report cannot be made: KeyError: 'x'"):
        save_report(documents["runs"], "failing", path)
    assert not path.exists()


def test_a_package_that_is_not_installed_is_named(
    install: Install, documents: dict[str, Document], tmp_path: Path
) -> None:
    failing = '"""Needs what is not there."""\n\n\ndef write(document, out):\n    import absent_here\n'
    install("lacking", failing, Format("lacking", (".lacking",)))
    with pytest.raises(ReportFailed, match="without the package absent_here, which is not installed; pip install "):
        save_report(documents["runs"], "lacking", tmp_path / "report.lacking")


def test_a_renderer_that_fails_leaves_an_older_report_alone(
    install: Install, fleet_folder: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    install("failing", FAILING, Format("failing", (".failing",)))
    path = tmp_path / "report.failing"
    path.write_text("older")
    assert main(["fleet", str(fleet_folder), "-o", str(path), "--force"]) == 2
    assert path.read_text() == "older"
    assert capsys.readouterr().err.startswith("isthmus: the failing report cannot be made")


def test_asking_for_formats_loads_nothing_that_starts_threads() -> None:
    """None may run beside a traced program, and a command line starts at once."""
    code = "import sys, isthmus.commands.main; assert not {'numpy', 'jinja2', 'rich.console'} & sys.modules.keys()"
    subprocess.run([sys.executable, "-c", code], check=True)


def test_help_names_the_formats_that_fit(capsys: pytest.CaptureFixture[str]) -> None:
    for command, kind in (("report", "runs"), ("compare", "comparison"), ("fleet", "fleet"), ("advise", "advice")):
        main([command, "--help"])
        text = " ".join(capsys.readouterr().out.split())
        assert all(line.name in text for line in formats.formats_for(kind)), command  # type: ignore[arg-type]
