"""isthmus.h on the host: what it refuses and how it says so, its options, its faults, its sessions."""

from __future__ import annotations

import ctypes
import os
from collections.abc import Callable
from ctypes import byref, c_size_t, c_void_p
from pathlib import Path
from typing import Any

import pytest

import isthmus
from tests.processes import python

Open = Callable[..., c_void_p]


def test_it_is_of_the_package_s_version(library: Any) -> None:
    assert library["isthmus_version"]().decode() == isthmus.__version__


def test_codes_have_the_names_that_the_header_gives_them(library: Any) -> None:
    names = [library["isthmus_code_name"](code).decode() for code in range(9)]
    assert names == [
        "ISTHMUS_OK",
        "ISTHMUS_LIBRARY_ABSENT",
        "ISTHMUS_FUNCTION_ABSENT",
        "ISTHMUS_DEVICE_ABSENT",
        "ISTHMUS_CALL_FAILED",
        "ISTHMUS_TIMED_OUT",
        "ISTHMUS_OUT_OF_MEMORY",
        "ISTHMUS_UNSUPPORTED",
        "ISTHMUS_INVALID_ARGUMENT",
    ]
    assert library["isthmus_code_name"](99) == b"an unknown code"


@pytest.mark.parametrize(
    ("name", "code", "said"),
    [
        ("gpu", "INVALID", "no device is called 'gpu'; expected cuda:0, opencl:0, host"),
        ("", "INVALID", "no device is called ''"),
        ("cuda:", "ABSENT", ""),
        ("cuda:one", "INVALID", "a number is expected, such as cuda:0"),
        ("opencl:-1", "INVALID", "a number is expected, such as opencl:0"),
        ("cuda:99999999999999999999", "INVALID", "a number is expected"),
        ("cuda:4096", "ABSENT", ""),
        ("opencl:4096", "ABSENT", ""),
        ("host:speed=3", "INVALID", "cannot read 'speed=3'"),
    ],
)
def test_devices_that_are_not_there(c: Any, library: Any, name: str, code: str, said: str) -> None:
    session = c_void_p(1)
    status = library.call("open", name.encode(), None, byref(session))
    if name == "cuda:" and status.code == c.OK:
        library.must("close", session)
        pytest.skip("there is a cuda:0 here, which a name without a number stands for")
    assert status.code in (c.ABSENT if code == "ABSENT" else (c.INVALID,))
    assert said in status.message.decode()
    assert not session, "what could not be opened is null"


def test_long_messages_end_between_characters(c: Any, library: Any) -> None:
    for letters in range(4):
        name = "x" * letters + "\N{GREEK SMALL LETTER ALPHA}\N{EURO SIGN}\N{WATER BUFFALO}" * 300
        status = library.call("open", name.encode(), None, byref(c_void_p()))
        assert status.code == c.INVALID
        assert 955 < len(status.message) < 960
        assert name.startswith(status.message.decode().removeprefix("no device is called '"))


def test_the_best_device_needs_no_name(opened: Open, library: Any) -> None:
    assert library["isthmus_pinned_budget_bytes"](opened(None)) == 64 << 20


def test_every_function_says_which_argument_is_null(c: Any, library: Any, opened: Open) -> None:
    session = opened("host")
    expected = {
        "open": ((None, None, None), "session"),
        "allocate": ((None, c.HOST, 1, byref(c_void_p())), "session"),
        "free": ((None, 1), "session"),
        "pinned_alloc": ((session, 1, None), "memory"),
        "pinned_free": ((None, 1), "session"),
        "copy": ((None, 1, 1, 1, c.H2D, None), "session"),
        "copy_array": ((session, None, None, None), "destination"),
        "copy_batch": ((session, 1, None, None, None, c.H2D, None), "destinations"),
        "copy_rows": ((session, 1, None, None, None, None, None), "destinations"),
        "copy_rows_async": ((session, 1, None, None, None, None, None, byref(c_void_p())), "destinations"),
        "copy_async": ((session, 1, 1, 1, c.H2D, None, None), "transfer"),
        "copy_array_async": ((session, None, None, None, byref(c_void_p())), "destination"),
        "copy_batch_async": ((session, 1, None, None, None, c.H2D, None, byref(c_void_p())), "destinations"),
        "wait": ((None,), "transfer"),
        "hold_stream": ((None, None), "transfer"),
        "explain": ((session, None, None, byref(c.Explanation())), "destination"),
        "explain_batch": ((session, 1, None, None, None, c.H2D, byref(c.Explanation())), "destinations"),
        "trim": ((None,), "session"),
    }
    no_mistake = {"close", "finish"}
    assert {f"isthmus_{name}" for name in {*expected, *no_mistake}} == set(library.checked)
    for name, (arguments, null) in expected.items():
        status = library.call(name, *arguments)
        assert (name, status.code) == (name, c.INVALID)
        assert f"{null} is null" in status.message.decode()
    for name in no_mistake:
        library.must(name, None)
    library.must("free", session, None)
    assert library["isthmus_done"](None) == 1
    assert library["isthmus_pinned_bytes"](None) == library["isthmus_pinned_budget_bytes"](None) == 0
    assert library["isthmus_context"](None) is None
    pieces = ((c_void_p * 1)(), (c_void_p * 1)(), (c_size_t * 1)(8))
    refused = library.call("copy_batch", session, 1, *pieces, c.H2D, None)
    assert refused.message == b"destinations[0] is null; it must be given"
    for address in ("destination", "source"):
        refused = library.call("copy", session, address == "source", address != "source", 8, c.H2D, None)
        assert refused.message.decode() == f"{address} is null; it must be given"


@pytest.mark.parametrize(
    ("make", "said"),
    [
        (lambda c: c.Array(dimensions=1), "source->shape is null"),
        (lambda c: c.Array(), "source->element_bytes is 0"),
        (lambda c: c.Array(element_bytes=1 << 63), "source->element_bytes is 9223372036854775808"),
        (lambda c: c.array(None, (8,)), "source->address is null"),
        (
            lambda c: c.array(b"12345678", (1 << 40, 1 << 40)),
            "source: an array of this shape is larger than any memory",
        ),
        (lambda c: c.array(b"12345678", (7,)), ""),
        (lambda c: c.array(b"12345678", (4,), 2), ""),
    ],
    ids=["no shape", "no elements", "huge elements", "null", "huge", "another shape", "other elements"],
)
def test_arrays_that_make_no_sense_are_refused(
    c: Any, library: Any, opened: Open, make: Callable[[Any], Any], said: str
) -> None:
    wrong = make(c)
    session = opened("host")
    device = c.array(library.allocate(session, 8), (8,), side=c.DEVICE)
    for name, rest in (("copy_array", ()), ("copy_array_async", (byref(c_void_p()),))):
        refused = library.call(name, session, byref(device), byref(wrong), None, *rest)
        assert refused.code == c.INVALID
        assert said in refused.message.decode()
    refused = library.call("explain", session, byref(device), byref(wrong), byref(c.Explanation(struct_bytes=376)))
    assert refused.code == c.INVALID


@pytest.mark.parametrize("size", [1 << 63, (1 << 64) - 1])
def test_sizes_that_no_memory_has_are_refused(c: Any, library: Any, opened: Open, size: int) -> None:
    session = opened("host")
    device, transfer = library.allocate(session, 8), byref(c_void_p())
    pieces = 1, byref(device), byref(c_void_p(device.value)), byref(c_size_t(size)), c.D2D
    explanation = byref(c.Explanation(struct_bytes=ctypes.sizeof(c.Explanation)))
    for name, arguments in (
        ("copy", (device, b"12345678", size, c.H2D, None)),
        ("copy_async", (device, b"12345678", size, c.BY_ADDRESS, None, transfer)),
        ("copy_batch", (*pieces, None)),
        ("copy_batch_async", (*pieces, None, transfer)),
        ("explain_batch", (*pieces, explanation)),
    ):
        refused = library.call(name, session, *arguments)
        assert refused.code == c.INVALID
        assert f" is {size}, more than any memory holds; expected at most {(1 << 63) - 1}" in refused.message.decode()


def test_two_sessions_know_nothing_of_each_other(c: Any, library: Any, opened: Open) -> None:
    first, second = opened("host:memory=1MiB"), opened("host:memory=2MiB")
    memory = library.allocate(second, 1 << 21)
    assert library.call("allocate", first, c.DEVICE, 1 << 21, byref(c_void_p())).code == 6
    refused = library.call("free", first, memory)
    assert refused.code == c.INVALID
    assert refused.message == b"not memory that isthmus_allocate or isthmus_pinned_alloc gave out for this session"
    library.must("free", second, memory)
    assert library.call("free", second, memory).code == c.INVALID


def test_options_of_older_and_of_newer_headers_are_read(c: Any, library: Any, opened: Open) -> None:
    older = c.Options(struct_bytes=16, budget=8 << 20, threads=1 << 60, table=b"/nonexistent")
    assert library["isthmus_pinned_budget_bytes"](opened("host", older)) == 8 << 20
    newer = c.LaterOptions(c.Options(struct_bytes=ctypes.sizeof(c.LaterOptions), budget=4 << 20))
    assert library["isthmus_pinned_budget_bytes"](opened("host", newer)) == 4 << 20
    newer.unknown = 1
    refused = library.call("open", b"host", byref(newer), byref(c_void_p()))
    assert refused.code == c.UNSUPPORTED
    assert f"this library, {isthmus.__version__}, does not know" in refused.message.decode()
    refused = library.call("open", b"host", byref(c.Options(budget=4 << 20)), byref(c_void_p()))
    assert refused.code == c.INVALID
    assert refused.message == b"isthmus_options->struct_bytes is 0; set it to sizeof(isthmus_options)"
    refused = library.call("open", b"host", byref(c.Options(struct_bytes=1 << 40)), byref(c_void_p()))
    assert refused.code == c.INVALID


def test_a_table_that_cannot_be_read_is_named(c: Any, library: Any, tmp_path: Path) -> None:
    options = c.Options(struct_bytes=ctypes.sizeof(c.Options), table=str(tmp_path / "absent").encode())
    refused = library.call("open", b"host", byref(options), byref(c_void_p()))
    assert refused.code == c.INVALID
    assert f"{tmp_path / 'absent'}: No such file or directory" in refused.message.decode()
    path = tmp_path / "table"
    path.write_text("no table\n", "utf-8")
    options.table = str(path).encode()
    refused = library.call("open", b"host", byref(options), byref(c_void_p()))
    assert refused.code == c.INVALID
    assert refused.message.decode().startswith(f"{path}: ")


def test_page_locked_memory_stays_within_the_budget_and_goes_when_asked(c: Any, library: Any, opened: Open) -> None:
    session = opened("host", c.Options(struct_bytes=ctypes.sizeof(c.Options), budget=4 << 20))
    assert library["isthmus_pinned_bytes"](session) == 0
    data = os.urandom(16 << 20)
    device = library.allocate(session, len(data))
    library.must("copy", session, device, data, len(data), c.H2D, None)
    assert library["isthmus_pinned_bytes"](session) <= 4 << 20
    library.must("trim", session)
    assert library["isthmus_pinned_bytes"](session) == 0


@pytest.mark.parametrize("size", [64, 8 << 20])
def test_a_copy_that_fails_says_what_and_how_far_it_came(c: Any, library: Any, opened: Open, size: int) -> None:
    session = opened("host:fault=copy:fail@2")
    device = library.allocate(session, size)
    library.must("copy", session, device, b"." * 64, 64, c.H2D, None)
    for _ in range(2):
        failed = library.call("copy", session, device, b"." * size, size, c.H2D, None)
        assert failed.code == c.CALL_FAILED
        assert "fault injected" in failed.message.decode()
        assert failed.bytes_completed < size
    library.must("trim", session)
    library.must("free", session, device)


def test_a_copy_that_was_begun_says_each_time_that_it_failed(c: Any, library: Any, opened: Open) -> None:
    session = opened("host:fault=copy:fail@2")
    data = b"." * (8 << 20)
    device = library.allocate(session, len(data))
    library.must("copy", session, device, data, 64, c.H2D, None)
    transfer = c_void_p()
    begun = library.call("copy_async", session, device, data, len(data), c.H2D, None, byref(transfer))
    # A driver may say no at once, or later.
    assert bool(transfer) == (begun.code == c.OK)
    endings = [library.call("wait", transfer), library.call("finish", transfer)] if transfer else [begun]
    for ending in endings:
        assert ending.code == c.CALL_FAILED
        assert "fault injected" in ending.message.decode()
        assert ending.bytes_completed < len(data)


def test_a_child_after_fork_is_told_so(library: Any) -> None:
    code = f"""
import ctypes, os
library = ctypes.CDLL({str(library.path)!r})
session = ctypes.c_void_p()
message = ctypes.create_string_buffer(1040)
assert library.isthmus_open(b"host", None, ctypes.byref(session), None) == 0
memory = ctypes.c_void_p()
assert library.isthmus_allocate(session, 2, ctypes.c_size_t(64), ctypes.byref(memory), None) == 0
copy = (session, memory, b"." * 64, ctypes.c_size_t(64), 1, None)
assert library.isthmus_copy(*copy, None) == 0
child = os.fork()
if child == 0:
    calls = [("copy", copy), ("free", (session, memory)), ("close", (session,))]
    codes = [getattr(library, f"isthmus_{{name}}")(*arguments, message) for name, arguments in calls]
    os._exit(0 if codes == [4, 4, 4] and b"fork" in message.raw else 1)
assert os.waitpid(child, 0)[1] == 0
assert library.isthmus_copy(*copy, None) == 0
assert library.isthmus_close(session, None) == 0
"""
    done = python(code)
    assert done.returncode == 0, done.stderr


@pytest.mark.parametrize("wrong", ["destination", "source"])
@pytest.mark.parametrize("address", [1, 7, 8, 4095, (1 << 64) - 4])
def test_what_is_no_memory_is_named_by_its_side(c: Any, library: Any, opened: Open, wrong: str, address: int) -> None:
    """By each function that is left to find the sides; the first page's first word is no address to the kernel."""
    session = opened("host")
    there, nowhere = library.allocate(session, 64), c_void_p(address)
    to, source = (nowhere, there) if wrong == "destination" else (there, nowhere)
    pointers = (c_void_p * 1)(to), (c_void_p * 1)(source), (c_size_t * 1)(64)
    calls = {
        "copy": (session, to, source, 64, c.BY_ADDRESS, None),
        "copy_array": (session, byref(c.array(to, (64,))), byref(c.array(source, (64,))), None),
        "copy_batch": (session, 1, *pointers, c.BY_ADDRESS, None),
    }
    for name, arguments in calls.items():
        status = library.call(name, *arguments)
        assert status.code == c.INVALID, name
        assert wrong in status.message.decode(), (name, status.message)
        assert ({"destination", "source"} - {wrong}).pop() not in status.message.decode(), (name, status.message)


@pytest.mark.parametrize(
    ("said", "to", "source", "wrong"),
    [
        ("H2D", "device", "device", "source"),
        ("D2H", "device", "device", "destination"),
        ("H2H", "device", "host", "destination"),
        ("H2H", "host", "device", "source"),
    ],
)
def test_a_side_that_was_said_wrongly_is_named(
    c: Any, library: Any, opened: Open, said: str, to: str, source: str, wrong: str
) -> None:
    session, size = opened("host"), 1 << 20
    block = ctypes.create_string_buffer(2 * size)
    sides = {"device": [library.allocate(session, size) for _ in range(2)]}
    sides["host"] = [c_void_p(ctypes.addressof(block) + at) for at in (0, size)]
    pair = sides[to][0], sides[source][1]
    direction = getattr(c, said)
    one = tuple((c_void_p * 1)(address) for address in pair)
    for name, arguments in {
        "copy": (session, *pair, size, direction, None),
        "copy_batch": (session, 1, *one, (c_size_t * 1)(size), direction, None),
    }.items():
        status = library.call(name, *arguments)
        assert status.code == c.INVALID, (name, status.message)
        assert wrong in status.message.decode(), (name, status.message)
        assert ({"destination", "source"} - {wrong}).pop() not in status.message.decode(), (name, status.message)


def test_an_absent_opencl_loader_says_what_to_install(library: Any) -> None:
    try:
        ctypes.CDLL("libOpenCL.so.1")
    except OSError:
        status = library.call("open", b"opencl:0", None, byref(c_void_p()))
        assert "libOpenCL.so.1" in status.message.decode()
        assert "install the OpenCL loader" in status.message.decode()
    else:
        pytest.skip("has libOpenCL")
