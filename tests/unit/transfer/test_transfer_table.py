"""Tables by which the transfer library chooses: their text, what they find, what they promise, where they are kept."""

from __future__ import annotations

import math
import os
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from isthmus import _native
from isthmus.cache import CacheRefused, cache_folder, cache_root
from isthmus.errors import UsageError

TITLE = "isthmus transfer table 1"
H2D = "buffer direction=h2d from=0 method=driver seconds=8e-06"
D2H = "buffer direction=d2h from=0 method=driver seconds=9e-06"
PIECES = (
    "pieces direction=h2d memory=pageable apart=both layout=scattered width=256 count=16 method=copies seconds=1e-05"
)


def table(*lines: str) -> _native.TransferTable:
    return _native.parse_transfer_table("\n".join([TITLE, "origin test", *lines, "end", ""]))


def piece_line(
    *,
    direction: str = "h2d",
    memory: str = "pageable",
    apart: str = "both",
    layout: str = "scattered",
    width: int = 256,
    count: int = 16,
    method: str = "copies",
    seconds: float = 1e-5,
) -> str:
    threads = " threads=4" if method in ("pack_threads", "pack_kernel") else ""
    return (
        f"pieces direction={direction} memory={memory} apart={apart} layout={layout} width={width} count={count}"
        f" method={method}{threads} seconds={seconds!r}"
    )


def ask(
    of: _native.TransferTable,
    *,
    direction: str = "h2d",
    pageable: bool = True,
    apart: str = "both",
    scattered: bool = True,
    width: int = 256,
    pieces: int = 16,
) -> _native.PieceRuleDict | None:
    return of.piece(
        direction=direction,
        pageable=pageable,
        apart_on_host=apart != "device",
        apart_on_device=apart != "host",
        scattered=scattered,
        width_bytes=width,
        pieces=pieces,
    )


seconds = st.floats(min_value=1e-9, max_value=1e5)


@st.composite
def buffer_lines(draw: st.DrawFn, direction: str) -> list[str]:
    sizes = [0, *sorted(draw(st.sets(st.integers(1, 2**50), max_size=6)))]
    ways = st.one_of(
        st.just("driver"),
        st.builds(
            "staged threads={} chunk={} stores={}".format,
            st.integers(1, 4096),
            st.integers(4096, 2**30),
            st.sampled_from(["ordinary", "streaming", "demoted"]),
        ),
    )
    return [f"buffer direction={direction} from={size} method={draw(ways)} seconds={draw(seconds)!r}" for size in sizes]


piece_lines = st.builds(
    piece_line,
    direction=st.sampled_from(["h2d", "d2h"]),
    memory=st.sampled_from(["pageable", "pinned"]),
    apart=st.sampled_from(["host", "device", "both"]),
    layout=st.sampled_from(["regular", "scattered"]),
    width=st.integers(1, 2**50),
    count=st.integers(1, 2**50),
    method=st.sampled_from(["copies", "batch", "section", "kernel", "device_pack", "pack", "pack_threads"]),
    seconds=seconds,
)


@st.composite
def tables(draw: st.DrawFn) -> str:
    # Printable, and not a line of its own.
    characters = st.characters(min_codepoint=32, codec="utf-8", exclude_characters="\x85\u2028\u2029")
    origin = draw(st.text(characters, max_size=40))
    lines = draw(buffer_lines("h2d")) + draw(buffer_lines("d2h")) + draw(st.lists(piece_lines, max_size=8))
    for direction in draw(st.sets(st.sampled_from(["h2d", "d2h"]))):
        lines.append(f"kernel direction={direction} blocks={draw(st.integers(1, 65536))}")
    for direction, device in draw(st.sets(st.tuples(st.sampled_from(["h2d", "d2h"]), st.integers(0, 7)))):
        gains, size = draw(st.sampled_from(["yes", "no"])), draw(st.integers(1, 2**50))
        lines.append(way_line(direction, device, gains, size, draw(seconds)))
    return "\n".join([TITLE, f"origin {origin}", *lines, "end", ""])


def way_line(direction: str, device: int, gains: str, size: int, seconds: float) -> str:
    return (
        f"way direction={direction} device=0000:{device:02x}:00.0 gains={gains} from={size} bytes={size}"
        f" seconds={seconds!r}"
    )


@given(tables())
def test_a_table_is_the_same_after_it_was_written_and_read(text: str) -> None:
    parsed = _native.parse_transfer_table(text)
    again = _native.parse_transfer_table(parsed.text())
    assert again.text() == parsed.text()
    assert (again.origin, again.buffers, again.pieces) == (parsed.origin, parsed.buffers, parsed.pieces)
    assert again.kernels == parsed.kernels
    kernels = [f"kernel direction={rule['direction']} blocks={rule['blocks']}" for rule in parsed.kernels]
    assert kernels == [line for line in text.splitlines() if line.startswith("kernel ")]
    ways = [line for line in text.splitlines() if line.startswith("way ")]
    assert [line.split("seconds=")[0] for line in parsed.text().splitlines() if line.startswith("way ")] == [
        line.split("seconds=")[0] for line in ways
    ]
    for line, rule in zip(ways, parsed.ways, strict=True):
        answer, device = "yes" if rule["gains"] else "no", int(rule["device"][5:7], 16)
        assert line == way_line(rule["direction"], device, answer, rule["from_bytes"], rule["seconds"])
    said = [float(line.split("seconds=")[1]) for line in text.splitlines()[2:-1] if line not in [*kernels, *ways]]
    assert [rule["seconds"] for rule in (*parsed.buffers, *parsed.pieces)] == said
    assert not parsed.built_in


@given(st.text(max_size=60) | tables().flatmap(lambda text: st.integers(0, len(text) - 1).map(lambda end: text[:end])))
def test_other_text_and_a_table_that_was_cut_off_are_refused(text: str) -> None:
    if text.endswith("\nend"):  # Only its last line break is missing.
        _native.parse_transfer_table(text)
        return
    with pytest.raises(UsageError, match=r"^line \d+: "):
        _native.parse_transfer_table(text)


def test_comments_and_empty_lines_say_nothing() -> None:
    assert table("# measured at night", "", H2D, D2H).text() == table(H2D, D2H).text()


@pytest.mark.parametrize(
    ("lines", "message"),
    [
        ([H2D, D2H, "way direction=h2d"], "line 5: found the end of the line; expected device=ADDRESS on the PCI bus"),
        ([H2D, D2H, way_line("up", 1, "yes", 1, 1)], "line 5: found 'direction=up'; expected direction=d2h|h2d"),
        ([H2D, D2H, way_line("h2d", 1, "maybe", 1, 1)], "line 5: found 'gains=maybe'; expected gains=no|yes"),
        ([H2D, D2H, way_line("h2d", 1, "yes", 0, 1)], "line 5: found 'bytes=0'; expected bytes=NUMBER from 1"),
        (
            [H2D, D2H, way_line("h2d", 1, "yes", 1, 1), way_line("h2d", 1, "no", 2, 1)],
            "line 6: found a second line for the way by 0000:01:00.0 with direction=h2d; expected one for each",
        ),
        (["buffer direction=h2d from=1 method=driver seconds=1"], "line 3: found from=1; expected from=0 in the first"),
        ([H2D, H2D, D2H], "line 4: found from=0; expected more than the 0 of the rule before"),
        ([H2D], "line 4: found 'end'; expected rules for buffers"),
        ([H2D, D2H, H2D], "line 6: found 'end'; expected rules for buffers"),
        ([H2D.replace("driver", "magic"), D2H], "line 3: found 'method=magic'; expected method=driver|staged"),
        ([H2D.replace("h2d", "up"), D2H], r"line 3: found 'direction=up'; expected direction=d2h\|h2d"),
        ([H2D.replace(" seconds", " threads=2 seconds"), D2H], "line 3: found 'threads=2'; expected seconds=NUMBER"),
        ([H2D.replace("driver", "staged"), D2H], "line 3: found 'seconds=8e-06'; expected threads=NUMBER from 1 to"),
        (
            [H2D.replace("driver", "staged threads=0 chunk=4096 stores=ordinary"), D2H],
            "found 'threads=0'; expected threads=NUMBER from 1 to 4096",
        ),
        (
            [H2D.replace("driver", "staged threads=1 chunk=4095 stores=ordinary"), D2H],
            "found 'chunk=4095'; expected chunk=NUMBER from 4096",
        ),
        ([H2D.replace("8e-06", "0"), D2H], "line 3: found 'seconds=0'; expected seconds=NUMBER above 0"),
        ([H2D.replace("8e-06", "nan"), D2H], "line 3: found 'seconds=nan'"),
        ([H2D.replace("8e-06", "-1"), D2H], "line 3: found 'seconds=-1'"),
        ([H2D.replace("8e-06", "inf"), D2H], "line 3: found 'seconds=inf'"),
        ([H2D.replace(" seconds=8e-06", ""), D2H], "line 3: found the end of the line; expected seconds"),
        ([H2D + " more=1", D2H], "line 3: found 'more=1'; expected the end of the line"),
        ([H2D.replace("from=0", "from=99999999999999999999"), D2H], "line 3: found 'from=99999999999999999999'"),
        ([H2D.replace("from=0", "from=-1"), D2H], "line 3: found 'from=-1'"),
        ([H2D, D2H, PIECES.replace("copies", "teleport")], "line 5: found 'method=teleport'; expected method=waited"),
        ([H2D, D2H, PIECES.replace("width=256", "width=0")], "line 5: found 'width=0'; expected width=NUMBER from 1"),
        ([H2D, D2H, PIECES.replace("pageable", "paged")], "line 5: found 'memory=paged'"),
        ([H2D, D2H, PIECES.replace("copies", "pack_threads")], "line 5: found 'seconds=1e-05'; expected threads"),
        ([H2D, D2H, "buffers"], "line 5: found 'buffers'; expected a line that begins with origin, buffer, direct"),
        ([H2D, D2H, "kernel direction=up blocks=2"], "line 5: found 'direction=up'"),
        ([H2D, D2H, "kernel direction=h2d blocks=0"], "line 5: found 'blocks=0'; expected blocks=NUMBER from 1 to"),
        ([H2D, D2H, "kernel direction=h2d"], "line 5: found the end of the line; expected blocks=NUMBER"),
        ([H2D, D2H, *["kernel direction=d2h blocks=2"] * 2], "line 6: found a second line for kernels with direction"),
        ([H2D, D2H, "end", H2D], "line 6: found more; expected nothing after 'end'"),
    ],
)
def test_what_is_wrong_is_said_with_its_line(lines: list[str], message: str) -> None:
    with pytest.raises(UsageError, match=message.replace("|", r"\|").replace(r"\\|", r"\|")):
        table(*lines)


def test_another_version_of_the_format_says_what_to_run() -> None:
    with pytest.raises(UsageError, match="found version '2' of the format; expected 1; run `isthmus calibrate`"):
        _native.parse_transfer_table("isthmus transfer table 2\nend\n")


@given(st.integers(0, 2**45), st.lists(st.integers(1, 2**45), min_size=1, max_size=8, unique=True))
def test_the_last_rule_that_has_begun_is_used(size: int, begins: list[int]) -> None:
    froms = [0, *sorted(begins)]
    lines = [f"buffer direction=d2h from={begin} method=driver seconds={i + 1}e-6" for i, begin in enumerate(froms)]
    found = table(H2D, *lines).buffer("d2h", size)
    assert found["from_bytes"] == max(begin for begin in froms if begin <= size)


def test_a_buffer_between_two_rules_takes_a_time_between_theirs() -> None:
    later = "buffer direction=h2d from=1000 method=driver seconds=18e-06"
    of = table(H2D, later, D2H)
    assert of.buffer("h2d", 0)["seconds"] == pytest.approx(8e-6)
    assert of.buffer("h2d", 500)["seconds"] == pytest.approx(13e-6)
    assert of.buffer("h2d", 1000)["seconds"] == pytest.approx(18e-6)
    assert of.buffer("h2d", 3000)["seconds"] == pytest.approx(54e-6)
    assert of.buffer("d2h", 3000)["seconds"] == pytest.approx(9e-6)


@given(
    st.lists(st.tuples(st.integers(1, 2**30), st.integers(1, 2**30)), min_size=1, max_size=12, unique=True),
    st.integers(1, 2**30),
    st.integers(1, 2**30),
)
def test_the_nearest_rule_is_used(measured: list[tuple[int, int]], width: int, pieces: int) -> None:
    found = ask(table(H2D, D2H, *(piece_line(width=w, count=n) for w, n in measured)), width=width, pieces=pieces)

    def far(w: int, n: int) -> float:
        widths, counts = math.log2(w / width), math.log2(n / pieces)
        return widths**2 + counts**2 + (widths + counts) ** 2

    assert found is not None
    assert far(found["width_bytes"], found["pieces"]) == pytest.approx(min(far(*point) for point in measured))


def test_rules_of_like_pieces_come_before_nearer_ones_of_others() -> None:
    lines = [
        piece_line(layout="scattered", method="pack_threads", width=64, count=16),
        piece_line(layout="regular", method="section", width=2**20, count=2**20),
    ]
    of = table(H2D, D2H, *lines)
    regular = ask(of, width=64, scattered=False)
    assert regular is not None
    assert regular["method"] == "section"
    scattered = ask(of, width=2**20, pieces=2**20)
    assert scattered is not None
    assert scattered["method"] == "pack_threads", "a section cannot be scattered, however near it is"


@pytest.mark.parametrize("backend", ["cuda", "opencl", "host"])
@given(
    direction=st.sampled_from(["h2d", "d2h"]),
    pageable=st.booleans(),
    apart=st.sampled_from(["host", "device", "both"]),
    scattered=st.booleans(),
    width=st.integers(1, 2**40),
    pieces=st.integers(1, 2**40),
)
def test_built_in_tables_know_every_shape_and_name_only_what_can_move_it(
    backend: str, direction: str, pageable: bool, apart: str, scattered: bool, width: int, pieces: int
) -> None:
    of = _native.default_transfer_table(backend)
    found = ask(
        of, direction=direction, pageable=pageable, apart=apart, scattered=scattered, width=width, pieces=pieces
    )
    assert found is not None
    assert found["seconds"] > 0
    method = found["method"]
    assert method != "section" or not scattered
    assert method != "kernel" or not pageable
    assert method != "device_pack" or apart == "device"
    assert not method.startswith("pack") or pageable or apart != "device"


def test_page_locked_memory_takes_a_time_between_those_measured() -> None:
    line = "direct direction=h2d bytes={} seconds={}".format
    of = table(H2D, D2H, line(1000, 1e-5), line(3000, 3e-5))
    expected = {0: 1e-5, 1000: 1e-5, 1500: 1.5e-5, 3000: 3e-5, 6000: 6e-5}
    assert {size: of.direct_seconds("h2d", size) for size in expected} == pytest.approx(expected)
    assert of.direct_seconds("d2h", 1000) == 0
    assert _native.parse_transfer_table(of.text()).direct == of.direct
    with pytest.raises(UsageError, match=r"line 6: found bytes=1000; expected more than the 1000 of the rule before"):
        table(H2D, D2H, line(1000, 1e-5), line(1000, 2e-5))


def test_a_rule_that_cannot_move_the_pieces_is_not_used() -> None:
    of = table(H2D, D2H, piece_line(memory="pinned", apart="host", method="pack"))
    assert ask(of, pageable=False, apart="device") is None
    assert ask(of, pageable=False, apart="host") is not None
    assert ask(of, pageable=True) is None
    assert ask(of, pageable=False, direction="d2h") is None


def test_more_pieces_take_longer() -> None:
    of = _native.default_transfer_table("cuda")
    times = []
    for pieces in (4096, 65536, 2**20):
        found = ask(of, width=4096, pieces=pieces)
        assert found is not None
        times.append(found["seconds"])
    assert times == sorted(times)
    assert times[-1] > 8 * times[-2], "in proportion beyond what was measured"


@pytest.mark.parametrize("backend", ["cuda", "opencl", "host"])
def test_built_in_tables_say_that_they_are(backend: str) -> None:
    of = _native.default_transfer_table(backend)
    assert of.built_in
    assert of.origin.startswith("built in: ")


def host() -> _native.Device:
    return _native.open_device("host", 0, "", [])


@pytest.mark.parametrize("name", ["NVIDIA H100", "NVIDIA H100 80GB HBM3", "NVIDIA H100 PCIe"])
def test_a_device_with_a_table_of_its_own_has_it(name: str) -> None:
    own = _native.default_transfer_table("cuda", name)
    assert own.origin.startswith("built in: NVIDIA H100")
    assert _native.parse_transfer_table(own.text()).text() == own.text()
    shared = _native.default_transfer_table("cuda")
    assert own.buffers != shared.buffers
    assert own.buffer("h2d", 1 << 20)["method"] == "staged"
    assert own.kernels == [{"direction": "h2d", "blocks": 4}, {"direction": "d2h", "blocks": 2}]
    # Only CUDA's devices: elsewhere the name says nothing of the way that copies take.
    assert _native.default_transfer_table("opencl", name).text() == _native.default_transfer_table("opencl").text()


@pytest.mark.parametrize("name", ["", "NVIDIA", "NVIDIA H10", "NVIDIA H200", "nvidia h100", "AMD NVIDIA H100"])
def test_a_device_without_one_has_that_of_its_backend(name: str) -> None:
    assert _native.default_transfer_table("cuda", name).text() == _native.default_transfer_table("cuda").text()


def test_tables_are_kept_in_the_users_cache(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    path = Path(_native.transfer_table_path(host()))
    assert path.parent == tmp_path / "isthmus" / "tables"
    assert path.name.startswith("host-")
    assert path.suffix == ".table"


@pytest.mark.parametrize("cache", [None, "", "relative/cache", "/absolute/cache"])
@pytest.mark.parametrize("home", [None, "", "relative", "/absolute/home"])
def test_the_library_and_the_package_have_one_cache(
    monkeypatch: pytest.MonkeyPatch, cache: str | None, home: str | None
) -> None:
    for name, value in (("XDG_CACHE_HOME", cache), ("HOME", home)):
        monkeypatch.delenv(name, raising=False)
        if value is not None:
            monkeypatch.setenv(name, value)
    root = cache_root()
    assert root is not None
    assert Path(_native.transfer_table_path(host())).parent == root / "tables"


@pytest.fixture
def machine_table(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Path:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    cache_folder("tables")
    return Path(_native.transfer_table_path(host()))


def test_a_machine_that_was_calibrated_has_its_own_table(machine_table: Path) -> None:
    assert _native.machine_transfer_table(host()).text() == _native.default_transfer_table("host").text()
    machine_table.write_text(table(H2D, D2H).text())
    found = _native.machine_transfer_table(host())
    assert not found.built_in
    assert found.origin == "test"


@pytest.mark.parametrize("part", ["..", "."])
@pytest.mark.parametrize("how", ["writable", "owned by another", "a link of another"])
def test_a_table_that_may_be_anothers_is_not_used(machine_table: Path, part: str, how: str) -> None:
    """Native and Python say so of the same folders."""
    machine_table.write_text(table(H2D, D2H).text())
    folder = (machine_table.parent / part).resolve()
    if how != "writable" and os.geteuid() != 0:
        pytest.skip("needs the rights to give files away")
    machine_table.parents[1].chmod(0o755)
    if how == "writable":
        folder.chmod(0o775)
    elif how == "owned by another":
        os.chown(folder, 12345, -1)
    else:
        folder.symlink_to(folder.rename(folder.with_name("elsewhere")))
        os.chown(folder, 12345, -1, follow_symlinks=False)
    found = _native.machine_transfer_table(host())
    assert found.built_in
    assert f"{folder}: " in found.origin
    with pytest.raises(CacheRefused) as refused:
        cache_folder("tables")
    assert refused.value.filename == str(folder)


def test_a_table_that_others_may_write_to_is_used_where_they_cannot_reach_it(machine_table: Path) -> None:
    machine_table.write_text(table(H2D, D2H).text())
    machine_table.chmod(0o666)
    assert not _native.machine_transfer_table(host()).built_in
    machine_table.parent.parent.chmod(0o755)
    machine_table.parent.chmod(0o755)
    found = _native.machine_transfer_table(host())
    assert found.built_in
    assert f"{machine_table}: others may write to it" in found.origin


def test_a_table_that_cannot_be_used_is_told_and_does_no_harm(machine_table: Path) -> None:
    machine_table.write_text("isthmus transfer table 99\n")
    found = _native.machine_transfer_table(host())
    assert found.built_in
    assert found.buffers == _native.default_transfer_table("host").buffers
    assert f"{machine_table}: line 1: found version '99'" in found.origin


def test_a_file_is_named_with_what_is_wrong_in_it(tmp_path: Path) -> None:
    path = tmp_path / "one.table"
    with pytest.raises(UsageError, match=r"one\.table: No such file"):
        _native.read_transfer_table(str(path))
    path.write_text(TITLE)
    with pytest.raises(UsageError, match=r"one\.table: line 2: found the end of the text"):
        _native.read_transfer_table(str(path))
    path.write_bytes(b"\0" * (5 << 20))
    with pytest.raises(UsageError, match="more than 4 MiB"):
        _native.read_transfer_table(str(path))
    with pytest.raises(UsageError, match="not a file"):
        _native.read_transfer_table(str(tmp_path))
    os.mkfifo(tmp_path / "pipe")
    with pytest.raises(UsageError, match="not a file"):
        _native.read_transfer_table(str(tmp_path / "pipe"))


@pytest.mark.parametrize("backend", ["cuda", "opencl", "host"])
def test_sessions_run_the_chunks_that_built_in_tables_name(backend: str) -> None:
    for rule in _native.default_transfer_table(backend).buffers:
        if rule["method"] == "staged":
            plan = _native.ring_plan(rule["direction"], rule["chunk_bytes"])
            assert plan["chunk_bytes"] == rule["chunk_bytes"]


def test_a_budget_without_room_has_no_plan() -> None:
    with pytest.raises(UsageError, match="65536 bytes hold no ring"):
        _native.ring_plan("h2d", pinned_budget=1 << 16)
