"""Public bugs of asynchronous copies go wrong on the fake driver as reported, and each has a report."""

from collections.abc import Callable
from pathlib import Path

import pytest

from tests.integration.accelerate.programs import IS_SANITIZED
from tests.integration.races.conftest import HERE, Build, Looked
from tests.processes import Done

# The fake driver's blocking copies have arrived when they return.
RIGHT_HERE = {"pageable_not_arrived"}
# By name: the line of the copy and that of the touch, in the program's own function.
BY_THE_HOST = {
    "staging_returned_to_pool": ("to_device(views, pooled, stream)", "fill(pooled, 2)"),
    "page_table_overwritten": ("to_device(first, table, stream)", "fill(next, 2)"),
    "two_through_one_buffer": ("to_device(keys, staging, stream)", "fill(staging, 2)"),
    "batch_prepared_in_place": ("to_device(tokens, version", "token_numbers[7] ="),
    "joined_before_arrival": ("to_host(*arrived", "std::memcpy(joined.data()"),
    "read_one_line_early": ("to_host(output, pooled, stream)", "std::memcpy(taken.data(), output.data()"),
    "changed_before_arrival": ("to_host(fetched, source, stream)", "fill(fetched, 2)"),
}
# Likewise: the line of the earlier work, and that of the later.
BETWEEN_STREAMS = {
    "stored_before_computed": ("set(cache, 1, compute)", "to_host(stored, cache, store)"),
    "loaded_before_zeroed": ("set(cache, 0, compute)", "to_device(cache, kept, load)"),
    "reused_under_copy": ("to_host(host, stashed, side)", "set(stashed, 2, compute)"),
    "copied_on_default_stream": ("set(image, 1, stream)", "cuMemcpy(padded.address"),
    "pageable_not_arrived": ("cuMemcpyHtoD(input.address", "to_host(seen, input, stream)"),
}
LINES = BY_THE_HOST | BETWEEN_STREAMS


@pytest.fixture(scope="module")
def programs(build: Build) -> Path:
    return build("programs")


@pytest.mark.parametrize("version", ["plain", "fixed"])
def test_only_the_plain_versions_of_public_bugs_go_wrong(
    programs: Path, plainly: Callable[..., Done], version: str
) -> None:
    done = plainly(programs, "all", version)
    assert done.returncode == 0, done.stdout + done.stderr
    verdicts = dict(line.split() for line in done.stdout.splitlines())
    assert len(verdicts) == 12
    right = {name for name, verdict in verdicts.items() if verdict == "right"}
    assert right == (set(verdicts) if version == "fixed" else RIGHT_HERE)


@pytest.mark.skipif(IS_SANITIZED, reason="sanitizers handle the faults")
@pytest.mark.parametrize("name", LINES)
def test_public_bugs_are_reported_by_their_two_lines(programs: Path, look: Callable[..., Looked], name: str) -> None:
    plain, fixed = look(programs, name, "plain"), look(programs, name, "fixed")
    assert (fixed.done.stdout, fixed.report["races"]) == (f"{name} right\n", [])
    assert plain.done.stdout == f"{name} {'right' if name in RIGHT_HERE else 'wrong'}\n"
    races = plain.report["races"]
    assert {race["between_streams"] for race in races} == {name in BETWEEN_STREAMS}
    copied, touched = (set(lines_of(races[0][place])) for place in ("copied_at", "touched_at"))
    copy, touch = (line_with(text, name) for text in LINES[name])
    assert copy in copied
    assert touch in touched


def line_with(text: str, name: str) -> int:
    """The last line of a function that has this text."""
    lines = (HERE / "programs.cpp").read_text("utf-8").splitlines()
    begin = next(index for index, line in enumerate(lines) if line.startswith(f"bool {name}("))
    end = lines.index("}", begin)
    return max(index for index, line in enumerate(lines[begin:end], begin + 1) if text in line)


def lines_of(places: list[str]) -> list[int]:
    return [int(place.partition("programs.cpp:")[2].split()[0]) for place in places if "programs.cpp:" in place]
