"""No test asserts how long something took: that depends on what else the machine does.

What runs code against a clock, as all tests do but those of what figures mean, may look at one to give up after so many
seconds that only a test which hangs comes to them. Times may be positive, and events have an order.
"""

import ast
import re
import textwrap
from collections.abc import Iterator, Mapping
from pathlib import Path

import pytest

from tests.layout.every import every

TESTS = Path(__file__).parents[1]
FILES = sorted(TESTS.rglob("*.py"))
# Here times are made up, and what follows from them is exact.
MADE_UP = {f"unit/{each}" for each in ("advice", "analysis", "compare", "fleet", "plan", "record", "report", "trace")}
CLOCK = re.compile("^(monotonic|perf_counter|process_time|thread_time|time)(_ns)?$|^clock_gettime(_ns)?$")
TIME = re.compile(r"(?:^elapsed|^took|_seconds|^seconds)$")
SAMPLES = re.compile("_seconds$")
HANGS_SECONDS = 30
# Tests whose times are made up, too.
ALLOWED = {"test_no_table_is_worse_than_the_built_in_one"}


def faults(tree: ast.Module, times_are_measured: bool) -> Iterator[str]:
    """What of a module asserts a time, or gives up before HANGS_SECONDS, as it is written."""
    constants = {
        target.id: node.value.value
        for node in tree.body
        if isinstance(node, ast.Assign) and isinstance(node.value, ast.Constant)
        for target in node.targets
        if isinstance(target, ast.Name)
    }
    for function in ast.walk(tree):
        if not isinstance(function, ast.FunctionDef | ast.AsyncFunctionDef) or function.name in ALLOWED:
            continue
        nodes = list(ast.walk(function))
        # A clock that the test sets by itself says what it was told to.
        if any(isinstance(node, ast.Call) and _sets_a_clock(node) for node in nodes):
            continue
        read = _read_from_a_clock(nodes)
        late = {id(node) for each in nodes if _expects_lateness(each) for node in ast.walk(each)}
        for node in nodes:
            if isinstance(node, ast.Assert):
                for compared in ast.walk(node.test):
                    if isinstance(compared, ast.Compare) and _is_fault(compared, read, times_are_measured, constants):
                        yield ast.unparse(compared)
            elif isinstance(node, ast.BinOp) and _comes_from_a_clock(node.left, set()):
                if isinstance(node.op, ast.Add) and 0 < _number(node.right, constants) < HANGS_SECONDS:
                    yield ast.unparse(node)
            elif isinstance(node, ast.Call) and id(node) not in late:
                waits = [each.value for each in node.keywords if each.arg == "timeout"]
                if any(0 < _number(each, constants) < HANGS_SECONDS for each in waits):
                    yield ast.unparse(node)


def _sets_a_clock(call: ast.Call) -> bool:
    words = [each.value for each in call.args if isinstance(each, ast.Constant)]
    return ast.unparse(call.func).endswith("setattr") and any(CLOCK.search(str(word)) for word in words)


def _read_from_a_clock(nodes: list[ast.AST]) -> set[str]:
    """The names of what comes from a clock, by any number of steps."""
    assigned = [node for node in nodes if isinstance(node, ast.Assign)]
    found: set[str] = set()
    while True:
        more = {
            name.id
            for node in assigned
            if _comes_from_a_clock(node.value, found)
            for target in node.targets
            for name in ast.walk(target)
            if isinstance(name, ast.Name)
        }
        if more <= found:
            return found
        found |= more


def _comes_from_a_clock(value: ast.AST, read: set[str]) -> bool:
    return any(
        (isinstance(node, ast.Name) and node.id in read) or (isinstance(node, ast.Call) and _is_clock(node.func))
        for node in ast.walk(value)
    )


def _is_clock(function: ast.AST) -> bool:
    name = str(getattr(function, "attr", None) or getattr(function, "id", ""))
    return bool(CLOCK.search(name)) and (name != "time" or ast.unparse(function) == "time.time")


def _expects_lateness(node: ast.AST) -> bool:
    return isinstance(node, ast.With) and any("raises(" in ast.unparse(item) for item in node.items)


def _number(value: ast.AST, constants: Mapping[str, object]) -> float:
    """A number that is written there, or a constant of the module; 0 for all else."""
    found = constants.get(value.id) if isinstance(value, ast.Name) else getattr(value, "value", None)
    return float(found) if isinstance(found, int | float) else 0.0


def _is_fault(compared: ast.Compare, read: set[str], times_are_measured: bool, constants: Mapping[str, object]) -> bool:
    sides = [compared.left, *compared.comparators]
    if any(_comes_from_a_clock(side, read) for side in sides):
        # Such as `time.monotonic() < give_up`, or `time.monotonic() - begin < 60`.
        limits = [_number(side, constants) for side in sides if not _comes_from_a_clock(side, read)]
        gives_up = len(sides) == 2 and isinstance(compared.ops[0], ast.Lt)
        return not gives_up or any(limit < HANGS_SECONDS for limit in limits)
    ordered = any(isinstance(each, ast.Lt | ast.LtE | ast.Gt | ast.GtE) for each in compared.ops)
    if not times_are_measured or not ordered or not any(_is_time(side) for side in sides):
        return False
    if any(_is_number(side) and ast.literal_eval(side) for side in sides):
        return True
    return all(_is_time(side, SAMPLES, ast.Constant) for side in sides)


def _is_number(side: ast.AST) -> bool:
    return isinstance(side, ast.Constant | ast.UnaryOp) and isinstance(getattr(side, "value", 1), int | float)


def _is_time(side: ast.AST, word_of: re.Pattern[str] = TIME, kind: type[ast.AST] = ast.AST) -> bool:
    """Whether it is a time: by the name of a variable, a field or a function, or by a key."""
    if isinstance(side, ast.Call) and ast.unparse(side.func) == "len":
        return False
    words = (
        getattr(node, field, None)
        for node in ast.walk(side)
        if isinstance(node, kind)
        for field in ("id", "attr", "value")
    )
    return any(isinstance(word, str) and word_of.search(word) for word in words)


def is_measured(path: Path) -> bool:
    return not any(path.is_relative_to(TESTS / each) for each in MADE_UP)


@every(FILES, lambda path: path.relative_to(TESTS).as_posix())
def test_no_time_is_asserted(path: Path) -> None:
    found = list(faults(ast.parse(path.read_text("utf-8")), is_measured(path)))
    assert not found, "; ".join(found)


@pytest.mark.parametrize(
    "body",
    [
        "begin = time.monotonic()\nwork()\nassert time.monotonic() - begin < 2",
        "begin = time.perf_counter()\nwork()\nelapsed = time.perf_counter() - begin\nassert elapsed >= 0.15",
        "begin = time.monotonic_ns()\nwork()\nrate = 8 / (time.monotonic_ns() - begin)\nassert rate == approx(5)",
        "until = time.monotonic() + 60\nwork()\nassert until == time.monotonic()",
        "until = time.monotonic() + 5\nwhile busy() and time.monotonic() < until:\n    pass",
        "assert timed.seconds < 4",
        "assert 0.01 <= line['seconds'] < 1.0",
        "assert np.median(samples['alone_seconds']) > 0.0005",
        "assert min(fast['host_seconds']) < min(slow['host_seconds'])",
        "assert not took > 1",
        "process.communicate(timeout=2)",
        "done = subprocess.run(words, timeout=SOON)",
    ],
)
def test_what_a_busy_machine_fails_is_refused(body: str) -> None:
    assert list(_faults_of(body))


@pytest.mark.parametrize(
    "body",
    [
        "give_up = time.monotonic() + 60\nwhile busy():\n    assert time.monotonic() < give_up",
        "begin = time.monotonic()\nwhile busy():\n    assert time.monotonic() - begin < 30",
        "assert min(samples['alone_seconds'] + samples['host_seconds']) > 0",
        "assert first.seconds_until(second) >= 0",
        "assert first.seconds_until(third) >= first.seconds_until(second)",
        "assert choice.seconds <= choice.driver_seconds",
        "assert way['seconds']['low'] <= way['seconds']['high']",
        "assert len(case.samples('device_seconds')) > 1",
        "assert rule['seconds'] == approx(8e-6)",
        "monkeypatch.setattr(time, 'monotonic', lambda: 2.0)\nassert timed.seconds < 4",
        "process.communicate(timeout=LATE)",
        "with pytest.raises(TimeoutError):\n    future.result(timeout=0.01)",
        "future.wait(timeout=0)",
    ],
)
def test_what_holds_on_a_busy_machine_is_allowed(body: str) -> None:
    assert not list(_faults_of(body))


def _faults_of(body: str) -> Iterator[str]:
    module = "SOON, LATE = None, None\nSOON = 5\nLATE = 60\ndef test_it():\n" + textwrap.indent(body, "    ")
    return faults(ast.parse(module), times_are_measured=True)


def test_programs_of_tests_read_no_clock() -> None:
    """But for the drivers that tests pretend to have, and a gate that asks how long a thread has computed."""
    programs = [path for path in TESTS.rglob("*") if path.suffix in {".c", ".cpp", ".hpp", ".cu"}]
    asking = re.compile(r"steady_clock|system_clock|clock_gettime|gettimeofday|\bclock\(\)")
    found = {path.relative_to(TESTS).as_posix() for path in programs if asking.search(path.read_text("utf-8"))}
    assert {each for each in found if not each.startswith("integration/fakes/")} == {
        "integration/drivers/facts/gate.hpp"
    }
