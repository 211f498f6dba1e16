"""Public bugs of asynchronous copies go wrong on the fake driver as reported, and each has a report."""

from collections.abc import Callable

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
# By program: the lines of its bugs, by the host and between streams.
PROGRAMS = {
    "programs": (BY_THE_HOST, BETWEEN_STREAMS),
    "more_programs": (
        {
            "metadata_released": ("driver->cuMemcpyHtoDAsync(", "std::memset(pool.data()"),
            "stage_overtakes_itself": ("to_device(*batches[run]", "fill(*staging[slot]"),
            "rows_seen_early": ("cuMemcpy2DAsync(&copy, stream)", "const std::byte seen ="),
            "event_never_recorded": ("to_device(device, host, stream)", "fill(host, 2)"),
            "event_before_copy": ("to_device(input, output, stream)", "fill(output, 2)"),
            "table_of_two_requests": ("to_device(table, source, stream)", "std::memset(pooled.data()"),
            "answer_not_looked_at": ("to_host(result, product, stream)", "const std::byte seen ="),
        },
        {
            "batch_back_in_queue": ("cuMemcpyAsync(top.address", "to_device(batch, next, loader)"),
            "one_event_for_all": ("set(one, 1, first)", "to_host(seen, one, waits)"),
            "fill_does_not_block": ("fill_now(device.address", "to_device(device, host, stream)"),
            "copied_to_peer": ("copy(received.address", "to_host(seen, received, of_peer)"),
        },
    ),
}
LINES = {
    (program, name): lines
    for program, (by_the_host, between_streams) in PROGRAMS.items()
    for name, lines in (by_the_host | between_streams).items()
}


@pytest.mark.parametrize("version", ["plain", "fixed"])
@pytest.mark.parametrize("program", PROGRAMS)
def test_only_the_plain_versions_of_public_bugs_go_wrong(
    build: Build, plainly: Callable[..., Done], program: str, version: str
) -> None:
    done = plainly(build(program), "all", version)
    assert done.returncode == 0, done.stdout + done.stderr
    verdicts = dict(line.split() for line in done.stdout.splitlines())
    assert set(verdicts) == {name for each, name in LINES if each == program}
    right = {name for name, verdict in verdicts.items() if verdict == "right"}
    assert right == (set(verdicts) if version == "fixed" else RIGHT_HERE & set(verdicts))


@pytest.mark.skipif(IS_SANITIZED, reason="sanitizers handle the faults")
@pytest.mark.parametrize(("program", "name"), LINES)
def test_public_bugs_are_reported_by_their_two_lines(
    build: Build, look: Callable[..., Looked], program: str, name: str
) -> None:
    plain, fixed = look(build(program), name, "plain"), look(build(program), name, "fixed")
    assert (fixed.done.stdout, fixed.report["races"]) == (f"{name} right\n", [])
    assert plain.done.stdout == f"{name} {'right' if name in RIGHT_HERE else 'wrong'}\n"
    races = plain.report["races"]
    assert {race["between_streams"] for race in races} == {name in PROGRAMS[program][1]}
    copied, touched = (set(lines_of(races[0][place], program)) for place in ("copied_at", "touched_at"))
    copy, touch = (line_with(text, program, name) for text in LINES[program, name])
    assert copy in copied
    assert touch in touched


def line_with(text: str, program: str, name: str) -> int:
    """The last line of a function that has this text."""
    lines = (HERE / f"{program}.cpp").read_text("utf-8").splitlines()
    begin = next(index for index, line in enumerate(lines) if line.startswith(f"bool {name}("))
    end = lines.index("}", begin)
    return max(index for index, line in enumerate(lines[begin:end], begin + 1) if text in line)


def lines_of(places: list[str], program: str) -> list[int]:
    parts = [place.partition(f"/{program}.cpp:")[2] for place in places]
    return [int(part.split()[0]) for part in parts if part]
