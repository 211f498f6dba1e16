"""The options of `isthmus plan` as needs, and what does not go together."""

import re
from typing import Any

import pytest

from isthmus.commands._plan_needs import need_of
from isthmus.errors import UsageError
from isthmus.record import GIB, KIB, MIB, BufferNeed, ManagedNeed, Need, PiecesNeed, PipelineNeed, SectionNeed


@pytest.mark.parametrize(
    ("options", "need"),
    [
        ({"--bytes": "64MiB"}, BufferNeed(64 * MIB)),
        (
            {"--bytes": "64MiB", "--direction": "both", "--uses": 100, "--source": "new"},
            BufferNeed(64 * MIB, "both", 100, "new"),
        ),
        ({"--pieces": 4096, "--piece-bytes": "4KiB", "--scattered": True}, PiecesNeed(4096, 4 * KIB)),
        (
            {"--pieces": 9, "--piece-bytes": "1KiB", "--layout": "strided:contiguous", "--source": "pinned"},
            PiecesNeed(9, KIB, "h2d", "pinned", "strided", "contiguous"),
        ),
        ({"--rows": 30720, "--width": "8", "--pitch": "240KiB"}, SectionNeed(30720, 8, 240 * KIB)),
        (
            {"--rows": 3, "--width": "8", "--pitch": "16", "--device-pitch": "32", "--direction": "d2h"},
            SectionNeed(3, 8, 16, "d2h", device_pitch_bytes=32),
        ),
        ({"--bytes": "1GiB", "--touched": "30%"}, ManagedNeed(GIB, fraction=0.3)),
        ({"--bytes": "1GiB", "--touched": "0.3"}, ManagedNeed(GIB, fraction=0.3)),
        ({"--bytes": "1GiB", "--stride": "256KiB"}, ManagedNeed(GIB, stride_bytes=256 * KIB)),
        ({"--bytes": "64MiB", "--compute": "5ms"}, PipelineNeed(64 * MIB, 5e-3)),
        ({"--bytes": "64MiB", "--compute": "5ms", "--chunks": "auto"}, PipelineNeed(64 * MIB, 5e-3)),
        ({"--bytes": "64MiB", "--compute": "80us", "--chunks": "8"}, PipelineNeed(64 * MIB, 80e-6, 8)),
        (
            {"--bytes": "64MiB", "--compute": "80us", "--chunks": "8", "--cpu": "1s"},
            PipelineNeed(64 * MIB, 80e-6, 8, cpu_seconds=1.0),
        ),
    ],
)
def test_options_say_what_is_needed(options: dict[str, Any], need: Need) -> None:
    found = need_of({"--uses": None, "--scattered": False} | options)
    assert found == need or isinstance(found, PipelineNeed)
    if isinstance(need, PipelineNeed) and isinstance(found, PipelineNeed):
        assert (found.bytes, found.chunks, found.source) == (need.bytes, need.chunks, need.source)
        assert found.compute_seconds == pytest.approx(need.compute_seconds)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({}, "nothing to plan; expected one of\n  isthmus plan --pieces 4096"),
        ({"--direction": "h2d"}, "nothing to plan"),
        ({"--pieces": 5}, "--pieces needs --piece-bytes too; such as: isthmus plan --pieces"),
        ({"--width": "8"}, "--width needs --rows and --pitch too"),
        ({"--compute": "5ms"}, "--compute needs --bytes too"),
        ({"--bytes": "64MiB", "--cpu": "5ms"}, "--cpu needs --compute too"),
        ({"--bytes": "64MiB", "--compute": "5ms", "--cpu": "soon"}, "not a time: 'soon'"),
        ({"--bytes": "1MiB", "--layout": "strided:strided"}, "--layout does not go with --bytes; with it go --bytes"),
        ({"--bytes": "1MiB", "--rows": 5, "--width": "8", "--pitch": "16"}, "--bytes does not go with --rows"),
        ({"--bytes": "1MiB", "--touched": "0.5", "--uses": 3}, "--uses does not go with --touched"),
        ({"--bytes": "1MiB", "--touched": "0.5", "--stride": "4KiB"}, "--touched and --stride exclude each other"),
        ({"--bytes": "1MiB", "--source": "pagable"}, "here: 'pagable'; did you mean 'pageable'? expected one of"),
        ({"--bytes": "1MiB", "--touched": "30"}, "30 has no unit: 30%"),
        ({"--bytes": "1MiB", "--direction": "up"}, "not for --direction here: 'up'; expected one of h2d, d2h, both"),
        ({"--bytes": "1MiB", "--source": "disk"}, "expected one of pageable, pinned, new"),
        ({"--pieces": 5, "--piece-bytes": "1", "--direction": "both"}, "'both'; expected one of h2d, d2h"),
        ({"--pieces": 5, "--piece-bytes": "1", "--layout": "scattered"}, "expected HOST:DEVICE"),
        ({"--pieces": 5, "--piece-bytes": "1", "--layout": "heap:heap"}, "contiguous, strided, scattered"),
        ({"--pieces": 5, "--piece-bytes": "1", "--layout": "contiguous:contiguous"}, "are one buffer"),
        (
            {"--pieces": 5, "--piece-bytes": "1", "--layout": "strided:strided", "--scattered": True},
            "leave one of them out",
        ),
        ({"--bytes": "0"}, "--bytes 0 leaves nothing to plan"),
        ({"--bytes": "1MiB", "--touched": "0", "--uses": 3}, "--uses does not go with --touched"),
        ({"--bytes": "many"}, "not a size"),
        ({"--bytes": "1MiB", "--compute": "5 parsecs"}, "not a time: '5 parsecs'"),
        ({"--bytes": "1MiB", "--compute": "0ms"}, "not a time"),
        ({"--bytes": "1MiB", "--compute": "5ms", "--chunks": "some"}, "not a number of chunks: 'some'"),
        ({"--bytes": "1MiB", "--compute": "5ms", "--chunks": "0"}, "above 0, or auto"),
    ],
)
def test_what_makes_no_sense_is_told_with_what_does(options: dict[str, Any], message: str) -> None:
    with pytest.raises(UsageError, match=re.escape(message)):
        need_of(options)


def test_a_part_of_nothing_is_not_taken_for_a_part_left_out() -> None:
    assert need_of({"--bytes": "1MiB", "--touched": "0"}) == ManagedNeed(MIB, fraction=0.0)
