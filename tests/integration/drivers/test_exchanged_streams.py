"""Copies of tensors that are taken by DLPack's functions in C begin after the work of their producer's stream."""

from collections.abc import Callable
from typing import Any

import pytest

PROGRAM = """
import json
import numpy as np
import isthmus
from tests.fake_driver import calls, enter, memory_of, stream
from tests.synthetic.dlpack import CUDA, UINT, Exchange

session = isthmus.Session("cuda:0")
enter()
PIECES, BYTES = 6, 96
there = session.empty((PIECES, BYTES), np.uint8)
memory = memory_of(there)
memory[:] = np.arange(PIECES * BYTES).reshape(PIECES, BYTES) % 251
host = np.zeros((PIECES, BYTES), np.uint8)

def copied(copy):
    host[:] = 0
    return calls(copy), int((host == memory).all(axis=1).sum())

producer, asked = stream(), stream()
found = {}
for name, current in (("own", producer), ("default", None)):
    exchange = Exchange(stream=current or 0)
    kind = exchange.tensor_type()
    tensors = [kind(row, kind=CUDA, code=UINT) for row in memory]
    batch = session.batch(list(host), tensors)
    for way, given in (("", None), (" on its stream", current), (" on another", asked)):
        found[f"{name}{way}"] = copied(lambda: session.copy(host[0], tensors[0], stream=given))
        found[f"{name}, batch{way}"] = copied(lambda: session.copy_batch(list(host), tensors, stream=given))
        def begin():
            session.copy_batch_async(list(host), tensors, stream=given).wait()
        found[f"{name}, async{way}"] = copied(begin)
        found[f"{name}, kept{way}"] = copied(lambda: batch.copy(stream=given))
        found[f"{name}, kept async{way}"] = copied(lambda: batch.copy_async(stream=given, check=False).wait())
    found[f"{name} asked"] = exchange.streams, exchange.viewed, exchange.held
print(json.dumps(found))
"""


@pytest.fixture(scope="module")
def found(told: Callable[..., Any]) -> Any:
    """By the name of a copy, the driver's functions that it called, and how many rows arrived."""
    return told(PROGRAM)


@pytest.mark.parametrize("stream", ["own", "default"])
@pytest.mark.parametrize(
    ("kind", "rows"), [("", 1), (", batch", 6), (", async", 6), (", kept", 6), (", kept async", 6)]
)
@pytest.mark.parametrize("way", ["", " on its stream", " on another"])
def test_rows_arrive(found: Any, stream: str, kind: str, rows: int, way: str) -> None:
    assert found[f"{stream}{kind}{way}"][1] == rows


@pytest.mark.parametrize("kind", ["", ", batch"])
def test_the_stream_of_the_producer_waits_for_nothing(found: Any, kind: str) -> None:
    for name in (f"own{kind} on its stream", f"default{kind} on its stream", f"default{kind}"):
        assert "cuEventRecord" not in found[name][0]


@pytest.mark.parametrize("kind", ["", ", batch", ", async", ", kept", ", kept async"])
def test_without_a_stream_the_default_one_waits_once_for_the_producer_s(found: Any, kind: str) -> None:
    calls = found[f"own{kind}"][0]
    assert calls.count("cuStreamWaitEvent") == 1


@pytest.mark.parametrize("kind", ["", ", batch", ", async", ", kept", ", kept async"])
@pytest.mark.parametrize("stream", ["own", "default"])
def test_another_stream_waits_once_for_all_pieces(found: Any, stream: str, kind: str) -> None:
    calls = found[f"{stream}{kind} on another"][0]
    assert calls.count("cuStreamWaitEvent") == 1
    assert calls.index("cuEventRecord") < calls.index("cuStreamWaitEvent") < len(calls) - 1


@pytest.mark.parametrize("stream", ["own", "default"])
def test_the_producer_is_asked_once_a_call(found: Any, stream: str) -> None:
    streams, viewed, held = found[f"{stream} asked"]
    assert streams == [[2, 0]] * (1 + 3 * 5)
    assert (viewed, held) == (6 + 3 * (1 + 6 + 6), 6 + 3 * 6)
