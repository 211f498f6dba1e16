"""Sessions as Python sees them: what they are made with, what is passed beside them, and those that are kept."""

import os
import subprocess
import sys
from collections.abc import Iterator
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

import isthmus
from isthmus.errors import DeviceAbsent, LibraryAbsent, OutOfMemory, UsageError, WrongType
from isthmus.machine.devices import probe


@pytest.fixture
def session() -> Iterator[isthmus.Session]:
    with isthmus.Session("host") as opened:
        yield opened


class TestOptions:
    @pytest.mark.parametrize(
        ("options", "message"),
        [
            ({"pinned_budget": 1e6}, r"pinned_budget is of type float, 1000000\.0; expected bytes .* such as '64MiB'"),
            ({"pinned_budget": True}, "pinned_budget is of type bool, True"),
            ({"threads": 2.5}, r"threads is of type float, 2\.5; expected an int of at least 1, or None"),
            ({"threads": "4"}, "threads is of type str, '4'"),
            ({"kernel_blocks": 1.0}, r"kernel_blocks is of type float, 1\.0; expected an int of at least 1, or None"),
            ({"device": True}, "device is of type bool, True; expected a name such as 'cuda:0'"),
            ({"table": 3}, "table is of type int, 3; expected a path"),
            (
                {"paths": 3},
                r"paths is of type int, 3; expected 'own', 'all', or a list of devices such as \['cuda:1'\]",
            ),
        ],
    )
    def test_of_another_type(self, options: dict[str, Any], message: str) -> None:
        with pytest.raises(WrongType, match=message):
            isthmus.Session(**{"device": "host"} | options)

    @pytest.mark.parametrize(
        "options",
        [
            {"pinned_budget": 1 << 70},
            {"pinned_budget": -1},
            {"threads": 1 << 70},
            {"kernel_blocks": 0},
            {"kernel_blocks": 1 << 32},
        ],
    )
    def test_that_no_machine_has(self, options: dict[str, Any]) -> None:
        with pytest.raises(UsageError, match=r"is -?\d+; expected [01] or more"):
            isthmus.Session("host", **options)

    def test_whole_numbers_of_any_library(self) -> None:
        with isthmus.Session("host", pinned_budget=np.int64(1 << 20), threads=np.uint8(1)) as session:
            assert session.pinned_budget_bytes == 1 << 20

    @pytest.mark.parametrize("paths", ["own", "", [], ()])
    def test_paths_that_are_passed_go_before_the_environment(
        self, monkeypatch: pytest.MonkeyPatch, paths: str | list[str]
    ) -> None:
        monkeypatch.setenv("ISTHMUS_PATHS", "a link to nowhere")
        isthmus.Session("host", paths=paths).close()
        with pytest.raises(UsageError, match=r"^ISTHMUS_PATHS: found 'a link to nowhere'"):
            isthmus.Session("host")

    def test_a_name_that_no_backend_has(self) -> None:
        with pytest.raises(UsageError, match=r"^no backend 'cpu'; there are cuda, opencl, host$"):
            isthmus.to_device(b"abc", "cpu")
        for spec in (0.0, b"host"):
            with pytest.raises(WrongType, match=r"device is of type"):
                isthmus.to_device(b"abc", spec)
        assert isthmus.to_device(b"abc", "HOST").device == "host"


class TestEmpty:
    def test_shapes(self, session: isthmus.Session) -> None:
        shapes: list[Any] = [3, np.int64(3), (2, np.uint8(3)), [2, 3], (), np.array([2, 3])]
        assert [session.empty(shape).shape for shape in shapes] == [(3,), (3,), (2, 3), (2, 3), (), (2, 3)]

    @pytest.mark.parametrize("shape", ["3", 2.0, (2.0,), None, ("3",), (True,)])
    def test_what_is_no_shape(self, session: isthmus.Session, shape: Any) -> None:
        with pytest.raises(WrongType, match=r"shape is of type .*; expected an int, or a sequence of ints"):
            session.empty(shape)

    @pytest.mark.parametrize("shape", [-1, (2, -1), 1 << 70])
    def test_lengths_that_cannot_be(self, session: isthmus.Session, shape: Any) -> None:
        with pytest.raises(UsageError, match=r"expected 0 or more"):
            session.empty(shape)

    def test_more_than_the_device_has(self) -> None:
        with isthmus.Session("host:memory=1MiB") as session, pytest.raises(OutOfMemory) as caught:
            session.to_device(bytes(1 << 22))
        assert (caught.value.operation, caught.value.code, caught.value.bytes_completed) == (
            "allocate", "out_of_memory", 0,
        )  # fmt: skip


class TestPassedBeside:
    def test_the_session_that_is_passed_is_used(self, session: isthmus.Session) -> None:
        device = isthmus.to_device(b"abc", session=session)
        assert device.device == "host"
        assert isthmus.device_empty(3, session=session).device == "host"
        assert isthmus.to_host(device, session=session).tobytes() == b"abc"
        session.close()
        for attempt in (
            lambda: isthmus.to_device(b"abc", session=session),
            lambda: isthmus.device_empty(3, session=session),
            lambda: isthmus.to_host(b"abc", session=session),
        ):
            with pytest.raises(UsageError, match=r"closed"):
                attempt()

    def test_a_device_and_a_session(self, session: isthmus.Session) -> None:
        with pytest.raises(UsageError, match=r"pass one of them"):
            isthmus.to_device(b"abc", "host", session=session)
        with pytest.raises(WrongType, match=r"isthmus\.Session"):
            isthmus.device_empty(3, session="host")  # type: ignore[arg-type]

    def test_nothing_is_no_array(self) -> None:
        with pytest.raises(WrongType, match=r"the source .NoneType. is no array"):
            isthmus.to_host(None)

    @pytest.mark.parametrize("data", [[1, 2], (1, 2), 2.5, 3, 1j])
    def test_what_numpy_makes_an_array_of(self, data: object) -> None:
        with pytest.raises(WrongType, match=r"; np\.asarray\(x\) makes one$"):
            isthmus.to_device(data, "host")
        with pytest.raises(WrongType, match=r"that isthmus.to_device made$"):
            isthmus.copy(data, b"x")

    def test_numpy_s_words_are_for_numpy_s_arrays(self) -> None:
        frozen = np.zeros(3, np.uint8)
        frozen.flags.writeable = False
        with pytest.raises(UsageError, match=r"flags\.writeable"):
            isthmus.copy(frozen, b"abc")
        with pytest.raises(UsageError, match=r"a bytearray in place of bytes$"):
            isthmus.copy(b"abc", b"abc")

    def test_a_piece_that_is_no_array_is_told_apart(self) -> None:
        pieces = [bytearray(1), bytearray(1), bytearray(1)]
        with pytest.raises(WrongType, match=r"^piece 2: the source"):
            isthmus.copy_batch(pieces, [b"x", b"y", 3])
        frozen = [bytearray(1), b"", bytearray(1)]
        with pytest.raises(UsageError, match=r"^piece 1: the destination .* may not be written to"):
            isthmus.copy_batch(frozen, [b"x", b"", b"z"])

    def test_a_batch_of_nothing_is_explained(self, session: isthmus.Session) -> None:
        for pieces in ([], [np.zeros(0)]):
            assert isthmus.explain_batch(pieces, pieces).method == "nothing"
            assert session.explain_batch(pieces, pieces).method == "nothing"

    def test_a_wait_has_an_end_or_none(self, session: isthmus.Session) -> None:
        future = session.copy_async(bytearray(1), b"x")
        for wait in (future.wait, future.exception):
            with pytest.raises(UsageError, match=r"a timeout of nan; expected"):
                wait(float("nan"))
        future.wait(float("inf"))

    @pytest.mark.skipif(bool(probe()[0].library), reason="a CUDA driver is here")
    def test_memory_of_a_driver_that_is_not_here(self) -> None:
        interface = {"shape": (3,), "typestr": "<f4", "data": (4096, False), "version": 3}
        array = SimpleNamespace(__cuda_array_interface__=interface)
        with pytest.raises(LibraryAbsent, match=r"the source says that it is CUDA memory, .*: libcuda.*--gpus all$"):
            isthmus.to_host(array)
        with pytest.raises(DeviceAbsent, match=r"the destination says"):
            isthmus.copy(array, np.zeros(3, "f4"))


class TestDefaults:
    def test_one_that_was_closed_is_opened_anew(self) -> None:
        with isthmus.default_session("host") as first:
            assert not first.closed
        assert first.closed
        with pytest.raises(UsageError, match=r"closed; open another one"):
            first.empty(3)
        out = bytearray(3)
        isthmus.copy(out, b"abc")
        assert out == b"abc"
        assert isthmus.to_device(b"abc", "host").to_host().tobytes() == b"abc"
        assert isthmus.default_session("host") is not first


def test_a_session_that_copies_loads_nothing_of_what_measures() -> None:
    code = (
        "import sys, isthmus, numpy\n"
        "with isthmus.Session('host') as session:\n"
        "    session.to_host(session.to_device(numpy.ones(3)))\n"
        "print(sorted({name.split('.')[1] for name in sys.modules if name.startswith('isthmus.')}))\n"
    )
    environment = os.environ | {"PYTHONPATH": os.pathsep.join(sys.path)}
    ran = subprocess.run([sys.executable, "-c", code], check=True, env=environment, capture_output=True, text=True)
    assert (
        ran.stdout
        == "['_native', 'c_interface', 'cache', 'errors', 'files', 'installing', 'machine', 'own_files', 'record', "
        "'transfer']\n"
    )


_FORKED = """
import os, signal, threading
import isthmus
from isthmus.transfer import sessions

# Of both kinds that are kept: of a device, and of the best one; and a thread opens another one just then.
kept, best = isthmus.to_device(b"abc", "host"), sessions.best_session()
held, done = threading.Event(), threading.Event()

def hold():
    with sessions._lock:
        held.set()
        done.wait()

threading.Thread(target=hold).start()
held.wait()
child = os.fork()
if child == 0:
    signal.alarm(60)
    there = isthmus.to_device(b"def", "host")
    out = bytearray(3)
    isthmus.copy(out, there)
    right = isthmus.to_host(there).tobytes() == out == b"def" and sessions.best_session() is not best
    os._exit(not right)
done.set()
status = os.waitpid(child, 0)[1]
assert isthmus.to_host(kept).tobytes() == b"abc" and sessions.best_session() is best
print(status)
"""


def test_sessions_that_are_kept_are_opened_anew_in_a_forked_child() -> None:
    # Without a GPU the best device is the host, which a child may use, too.
    alone = {"CUDA_VISIBLE_DEVICES": "", "OCL_ICD_VENDORS": "none"}
    environment = os.environ | {"PYTHONPATH": os.pathsep.join(sys.path)} | alone
    command = [sys.executable, "-W", "ignore::DeprecationWarning", "-c", _FORKED]
    ran = subprocess.run(command, check=False, env=environment, capture_output=True, text=True)
    assert (ran.returncode, ran.stdout) == (0, "0\n"), ran.stderr


def test_a_program_may_end_with_arrays_that_are_never_let_go_of(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("ISTHMUS_REPORT_LEAKS")
    program = """
import ctypes, numpy, isthmus
kept = isthmus.pinned_empty(1 << 20, numpy.uint8, device="host")
ctypes.pythonapi.Py_IncRef(ctypes.py_object(kept))
"""
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr) == (0, "")
