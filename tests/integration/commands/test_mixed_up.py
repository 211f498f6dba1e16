"""A file that another command reads, an address, a command by the name that it has elsewhere: what is meant is said."""

from contextlib import redirect_stdout
from pathlib import Path

import pytest

from isthmus.commands.main import main
from isthmus.files import read_ends
from isthmus.own_files import BEGIN_BYTES, own_file
from isthmus.trace.isthmus.blocks import MAGIC
from tests.unit.outputs import printed

RESULTS = Path(__file__).resolve().parents[3] / "results"


@pytest.fixture
def traces(tmp_path: Path) -> dict[str, Path]:
    contents = {
        "recorded.itrace": MAGIC + bytes(64),
        "export.sqlite": b"SQLite format 3\0" + bytes(64),
        "torch.json": b'{"schemaVersion": 1, "traceEvents": []}',
    }
    for name, content in contents.items():
        (tmp_path / name).write_bytes(content)
    return {name: tmp_path / name for name in contents}


@pytest.mark.parametrize("name", ["recorded.itrace", "export.sqlite", "torch.json"])
@pytest.mark.parametrize("command", ["report", "compare", "check", "fleet"])
def test_a_trace_is_no_run(
    traces: dict[str, Path], name: str, command: str, capsys: pytest.CaptureFixture[str]
) -> None:
    words = {"report": [], "compare": [str(RESULTS / "pocl.json.gz")], "check": ["--run"], "fleet": []}[command]
    wanted = "fleet or run file" if command == "fleet" else "run of measurements"
    assert main([command, *words, str(traces[name])]) == 2
    assert f"a trace, and no {wanted}; see it with: isthmus advise {traces[name]}" in capsys.readouterr().err


@pytest.mark.parametrize(
    "text",
    [
        printed.nvbandwidth("NVIDIA H200", {"host_to_device_memcpy_ce": [55.2]}),
        "$ ./nvbandwidth\n" + printed.nvbandwidth("NVIDIA H200", {"host_to_device_memcpy_ce": [55.2]}),
        printed.nvbandwidth_json("NVIDIA H200", {"host_to_device_memcpy_ce": [55.2]}),
        printed.bandwidth_test("NVIDIA H200", 55.2, 55.0),
        printed.old_bandwidth_test("Tesla C1060", 5500.0, 5400.0),
    ],
)
@pytest.mark.parametrize("words", [["advise"], ["report"], ["check", "--run"], ["fleet"]])
def test_an_output_of_another_tool_is_judged_by_check(
    text: str, words: list[str], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "out.txt"
    path.write_text(text)
    assert main([*words, str(path)]) == 2
    error = capsys.readouterr().err
    assert f"{path}: an output of nvbandwidth or bandwidthTest, and no " in error
    assert f"judge it with: isthmus check --from {path}" in error
    assert main(["check", "--from", str(path)]) == 0


@pytest.mark.parametrize(
    ("name", "cure"),
    [("pocl.json.gz", "isthmus report {}"), ("pocl.json.gz", "--run {}"), ("h100x2-fleet.json.gz", "isthmus fleet {}")],
)
def test_measurements_are_no_trace(name: str, cure: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["advise", str(RESULTS / name)]) == 2
    assert cure.format(RESULTS / name) in capsys.readouterr().err


_RUN, _OTHER = (str(RESULTS / name) for name in ("h200-batching.json.gz", "h200-batching-2.json.gz"))
_TRACE = """{"schemaVersion": 1, "deviceProperties": [{"id": 0, "name": "NVIDIA H200"}], "traceEvents": [
    {"ph": "X", "cat": "gpu_memcpy", "name": "Memcpy HtoD (Pageable -> Device)", "pid": 0, "tid": 7, "ts": 1, "dur": 9,
     "args": {"device": 0, "stream": 7, "bytes": 1048576}}]}"""


@pytest.fixture(scope="module")
def answers(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    """What each command prints for scripts, by its kind, and the page and the table of a run."""
    folder = tmp_path_factory.mktemp("answers")
    trace = folder / "torch.json"
    trace.write_text(_TRACE)
    commands = {
        "report": ["report", _RUN],
        "comparison": ["compare", _RUN, _OTHER],
        "checkup": ["compare", "reference:h200-pcie5", _RUN],
        "plan": ["plan", "--bytes", "1MiB", "--run", str(RESULTS / "pocl.json.gz")],
        "survey": ["fleet", str(RESULTS / "h100x2-fleet.json.gz")],
        "devices": ["devices", "--idle"],
        "check": ["check", "--run", str(RESULTS / "pocl.json.gz")],
        "advice": ["advise", str(trace), "--run", "reference:h200-pcie5"],
    }
    paths = {}
    for kind, words in commands.items():
        paths[kind] = folder / f"{kind}.json"
        with paths[kind].open("w") as out, redirect_stdout(out):
            assert main([*words, "--json"]) in (0, 1)
    for kind, name in (("rows", "rows.csv"), ("page", "page.html")):
        paths[kind] = folder / name
        assert main(["report", str(RESULTS / "h100-latency.json.gz"), "-o", str(paths[kind])]) == 0
    return paths


@pytest.mark.parametrize("command", ["report", "advise", "fleet"])
def test_what_a_command_printed_for_scripts_says_what_it_is(
    answers: dict[str, Path], command: str, capsys: pytest.CaptureFixture[str]
) -> None:
    for kind, path in answers.items():
        assert (known := own_file(path.read_bytes()))
        assert known.kind == kind
        assert main([command, str(path)]) == 2
        error = capsys.readouterr().err
        assert f"{path}: {known.what}, and no " in error
        assert error.count("\n") == 1


def test_every_kept_result_is_known_by_its_begin() -> None:
    kinds: dict[str, list[str]] = {}
    for path in sorted((*RESULTS.glob("*.json*"), *RESULTS.glob("*.html"))):
        begin, _ = read_ends(path, BEGIN_BYTES)
        known = own_file(begin)
        kinds.setdefault(known.kind if known else "unknown", []).append(path.name)
    assert kinds.keys() == {"run", "fleet", "benchmark", "page"}, kinds.get("unknown")
    assert "h200-trace.json.gz" in kinds["benchmark"]


@pytest.mark.parametrize("command", ["report", "advise", "fleet"])
def test_an_address_is_got_first(command: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main([command, "https://example.com/a.json"]) == 2
    assert "get it first: curl -LO https://example.com/a.json" in capsys.readouterr().err


@pytest.mark.parametrize(("word", "meant"), [("bench", "measure"), ("doctor", "check"), ("profile", "trace")])
def test_a_command_of_another_name_is_known_by_what_it_does(
    word: str, meant: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main([word]) == 2
    assert f"no command '{word}'; isthmus {meant} " in capsys.readouterr().err


def test_help_is_a_command(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["help", "check"]) == 0
    assert "Usage: isthmus check" in capsys.readouterr().out
