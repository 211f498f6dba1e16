"""Which functions of the driver a copy of rows calls, by the number of layers, and how they are allocated."""

from collections.abc import Callable
from typing import Any

import pytest

# What the rules for pageable memory say is not for these copies.
TABLE = "\n".join(
    ["isthmus transfer table 1", "origin test"]
    + [f"buffer direction={direction} from=0 method=driver seconds=1" for direction in ("h2d", "d2h")]
    + [
        f"pieces direction={direction} memory={memory} apart=both layout=scattered width=256 count=256 "
        f"method={method} seconds=1"
        for direction in ("h2d", "d2h")
        for memory, method in (("pageable", "pack_threads threads=1"), ("pinned", "kernel"))
    ]
    + ["end", ""]
)

PROGRAM = """
import json, sys
import numpy as np
import isthmus
from tests.fake_driver import calls, enter, pinned

session = isthmus.Session("cuda:0", table=sys.argv[1])
enter()
LAYERS, ROWS, WIDTH = 8, 64, 256

def there(*shape):
    return session.empty(shape, np.uint8)

def alone(make):
    return [make(ROWS, WIDTH) for _ in range(LAYERS)]

def together(make):
    whole = make(LAYERS, ROWS, WIDTH)
    return [whole[layer] for layer in range(LAYERS)]

to_rows, from_rows = np.arange(0, ROWS, 2), np.arange(ROWS)[::-2].copy()
found = {}
for name, allocated in (("alone", alone), ("together", together)):
    host, device = allocated(pinned), allocated(there)
    for number, layer in enumerate(host):
        layer[...] = (np.arange(layer.size) * 7 + number).reshape(layer.shape) % 251
    expected = [layer[from_rows].copy() for layer in host]
    for way in ("h2d", "d2h"):
        to, source = (device, host) if way == "h2d" else (host, device)
        lists = (to_rows, from_rows) if way == "h2d" else (from_rows, to_rows)
        session.copy_rows(to, lists[0], source, lists[1])
        found[f"{name} {way}"] = calls(lambda: session.copy_rows(to, lists[0], source, lists[1]))
        for layer in host if way == "h2d" else ():
            layer[...] = 0
    assert all((layer[from_rows] == rows).all() for layer, rows in zip(host, expected)), "all arrived"
print(json.dumps(found))
"""

LAYERS = 8
BEGIN, END = ["cuCtxGetId", "cuThreadExchangeStreamCaptureMode"], ["cuThreadExchangeStreamCaptureMode"]
MOVED = ["cuMemcpyHtoDAsync_v2", "cuLaunchKernel", "cuStreamSynchronize"]


@pytest.fixture(scope="module")
def calls(told: Callable[..., Any], tmp_path_factory: pytest.TempPathFactory) -> Any:
    """By allocation and direction, all that one copy called."""
    table = tmp_path_factory.mktemp("rows") / "own.table"
    table.write_text(TABLE)
    return told(PROGRAM, str(table))


@pytest.mark.parametrize("way", ["h2d", "d2h"])
@pytest.mark.parametrize(("allocated", "asked"), [("alone", 2 * LAYERS), ("together", 2)])
def test_one_kernel_moves_the_rows_of_all_layers_and_each_allocation_is_asked_about_once(
    calls: Any, allocated: str, asked: int, way: str
) -> None:
    made = [name for name in calls[f"{allocated} {way}"] if name != "cuStreamIsCapturing"]
    assert made == [*BEGIN, *["cuPointerGetAttributes"] * asked, *MOVED, *END]


BATCH = """
import json, sys
import numpy as np
import isthmus
from tests.fake_driver import calls, enter, pinned

session = isthmus.Session("cuda:0", table=sys.argv[1])
enter()
PIECES, WIDTH = 4000, 4096
host, there = pinned(PIECES, WIDTH), session.empty((PIECES, WIDTH), np.uint8)
numbers = np.random.default_rng(1)
host[...] = numbers.integers(0, 256, host.shape, np.uint8)
expected, places, order = host.copy(), numbers.permutation(PIECES), numbers.permutation(PIECES)
rows, pieces = [there[int(place)] for place in places], [host[number] for number in order]
found = {}
for way, batches in (("h2d", (rows, pieces)), ("d2h", (pieces, rows))):
    for count in (100, PIECES):
        batch = session.batch(*(side[:count] for side in batches))
        batch.copy()
        found[f"{way} {count}"] = calls(batch.copy)
    host[...] = 0 if way == "h2d" else host
assert (host == expected).all(), "all arrived"
print(json.dumps(found))
"""

OFFSETS, KERNEL, WAIT = MOVED


def test_offsets_of_a_kept_batch_are_sent_while_kernels_work(
    told: Callable[..., Any], tmp_path_factory: pytest.TempPathFactory
) -> None:
    table = tmp_path_factory.mktemp("batch") / "own.table"
    table.write_text(TABLE)
    calls = told(BATCH, str(table))
    for way in ("h2d", "d2h"):
        few, many = calls[f"{way} 100"], calls[f"{way} 4000"]
        # Behind what the default stream holds.
        assert [name for name in few if name in MOVED] == [WAIT, *MOVED]
        # Parts of 4 and 8 MiB, and what is left: the third takes the place of the first.
        parts = [OFFSETS, KERNEL] * 2 + [WAIT, OFFSETS, KERNEL] + [WAIT] * 2
        assert [name for name in many if name in MOVED] == [WAIT, *parts]
        # Nothing is asked of single pieces.
        assert [name for name in many if name not in MOVED] == [name for name in few if name not in MOVED]
