"""Ranks and what they agree on: one alone is its own neighbour, a silent partner is no reason to wait for ever."""

from typing import Any, cast

import numpy as np
import pytest

from isthmus.errors import CallFailed, DeviceAbsent, IsthmusError, UsageError, exit_code
from isthmus.experiment.engine.options import Options
from isthmus.experiment.fleet import agreement
from isthmus.experiment.fleet.agreement import first_trouble, open_for_rank
from isthmus.experiment.mpi.ranks import ALONE, Ranks, RanksBroken, join_ranks
from isthmus.machine import devices
from isthmus.machine.devices import open_device
from isthmus.record import Device
from tests.synthetic.runs import probe_of


class Silent:
    """A request that is never done, and a communicator that makes nothing else."""

    def Test(self) -> bool:  # noqa: N802 - as MPI calls it
        return False

    def __getattr__(self, _name: str) -> Any:
        return lambda *_, **__: self

    def iprobe(self, *_: object) -> bool:
        return False


class Silenced(Ranks):
    """The second of two ranks, of which the first says nothing any more."""

    def __init__(self, rank: int) -> None:
        super().__init__(patience_seconds=0.0)
        self._comm = cast(Any, Silent())
        self.rank, self.count = rank, 2


class Several(Ranks):
    """A rank that has heard already what the others have to say."""

    def __init__(self, *others: Any) -> None:
        super().__init__()
        self.count = 1 + len(others)
        self._others = others

    def all_gather(self, own: Any) -> list[Any]:
        return [own, *(other if isinstance(other, tuple) else own._replace(**other) for other in self._others)]


def test_one_rank_is_its_own_neighbour_on_both_sides() -> None:
    outgoing, incoming = np.array([[[1.0]], [[2.0]]]), np.zeros((2, 1, 1))
    ALONE.exchange(list(outgoing), list(incoming), [0, 0])
    assert incoming.ravel().tolist() == [2.0, 1.0], "what leaves to the left comes in from the right"
    assert ALONE.all_gather("own") == ["own"]
    ALONE.tell("nobody")
    ALONE.barrier()


@pytest.mark.parametrize(
    ("rank", "wait", "whom"),
    [
        (1, lambda ranks: ranks.listen(), "rank 0"),
        (0, lambda ranks: ranks.gather("own"), "rank 1"),
        (1, lambda ranks: ranks.gather("own"), "rank 0"),
        (0, lambda ranks: ranks.tell("end"), "the other ranks"),
        (0, lambda ranks: ranks.barrier(), "the other ranks"),
        (0, lambda ranks: ranks.exchange(np.zeros((2, 1, 1)), np.zeros((2, 1, 1)), [1, 1]), "rank 1 or rank 1"),
    ],
)
def test_no_wait_is_for_ever(rank: int, wait: Any, whom: str) -> None:
    with pytest.raises(RanksBroken, match=f"no message from {whom} for 0 s, so it has died or hangs"):
        wait(Silenced(rank))


def test_an_error_that_leaves_one_rank_ends_all(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    codes: list[int] = []
    ended: list[int] = []
    monkeypatch.setattr("os._exit", ended.append)
    ranks = Silenced(1)
    cast(Any, ranks)._comm.__dict__["Abort"] = codes.append
    with pytest.raises(CallFailed), ranks:
        raise CallFailed("the copy failed")
    with pytest.raises(ZeroDivisionError), ranks:
        _ = 1 // 0
    assert codes == [1, 1]
    assert ended == codes, "whatever Abort does"
    told = capsys.readouterr().err
    assert f"isthmus: rank 1 ({ranks.host}): the copy failed; all ranks end" in told
    assert "ZeroDivisionError" in told, "a mistake of the program shows where it was made"


def test_without_a_launcher_there_is_one_rank(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("os.environ", {})
    assert join_ranks() is ALONE


def test_exit_codes_are_those_of_the_errors() -> None:
    errors = (UsageError(), DeviceAbsent(), CallFailed(), RanksBroken(), KeyboardInterrupt())
    assert list(map(exit_code, errors)) == [2, 3, 1, 1, 130]


@pytest.mark.parametrize(
    ("difference", "message"),
    [
        ({"host": "b", "version": "9.9"}, r"different versions of isthmus: rank 0 .*, rank 1 \(b\) 9\.9; install"),
        ({"host": "b", "device": "NVIDIA V100"}, r"different devices: .*, rank 1 \(b\) NVIDIA V100; name one"),
        ({"host": "b", "driver": "1"}, r"different drivers: rank 0 \(.*\) none, rank 1 \(b\) 1; choose"),
        ({"host": "b", "options": "Options()"}, r"different options: .*rank 1 \(b\) Options\(\); give all"),
        ({"host": "b", "trouble": DeviceAbsent("no device at all")}, r"^rank 1 \(b\): no device at all$"),
    ],
)
def test_ranks_that_differ_cannot_measure_together(difference: dict[str, Any], message: str) -> None:
    options = Options(sides=[7])
    trouble = first_trouble(Several(difference), open_device("host"), options, None)
    assert isinstance(trouble, IsthmusError)
    with pytest.raises(type(trouble), match=message):
        raise trouble


def test_what_all_ranks_fail_with_is_said_as_one_would() -> None:
    trouble = first_trouble(Several({}), None, None, UsageError("no such side"))
    assert isinstance(trouble, UsageError)
    assert str(trouble) == "no such side"


def test_ranks_that_are_alike_can_begin() -> None:
    assert first_trouble(Several({}, {"host": "b"}), open_device("host"), Options(), None) is None


@pytest.mark.parametrize(("local_rank", "spec"), [(0, "cuda:0"), (1, "cuda:1"), (2, "cuda:0")])
def test_each_rank_takes_a_device_in_turn(monkeypatch: pytest.MonkeyPatch, local_rank: int, spec: str) -> None:
    gpus = [Device(backend="cuda", index=index, name="GPU", pci_address=f"0000:0{index}:00.0") for index in (0, 1)]
    opened: list[str | None] = []
    host = open_device("host")

    def open_named(name: str | None, bind: bool) -> Any:
        opened.append(name)
        return host

    monkeypatch.setattr(devices, "probe", probe_of(*gpus))
    monkeypatch.setattr(agreement, "open_device", open_named)
    ranks = Several({}, {})
    ranks.local_rank = local_rank
    assert open_for_rank(None, ranks) is host
    open_for_rank("cuda", ranks)
    open_for_rank("cuda:1", ranks)
    assert opened == [spec, spec, "cuda:1"]
