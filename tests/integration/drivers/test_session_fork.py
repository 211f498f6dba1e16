"""A process that copied, and one that was forked from it."""

from __future__ import annotations

import os
import traceback
from pathlib import Path

import numpy as np
import pytest

import isthmus
from isthmus.errors import CallFailed
from tests.synthetic.tables import transfer_table


@pytest.mark.parametrize("size", [100, 3 << 20], ids=["before its threads", "with its threads"])
def test_the_child_is_told_and_may_open_its_own(tmp_path: Path, size: int) -> None:
    path = tmp_path / "table.txt"
    path.write_text(transfer_table())
    session = isthmus.Session("host", pinned_budget="4MiB", threads=3, table=path)
    data = np.frombuffer(np.random.default_rng(0).bytes(size), np.uint8)
    on_device = session.to_device(data)
    under_way = session.copy_async(on_device, data)
    under_way.wait()
    child = os.fork()
    if child == 0:
        status = 1
        try:
            with pytest.raises(CallFailed, match=r"forked.*spawn"):
                session.copy(on_device, data)
            with isthmus.Session("host", pinned_budget="4MiB", threads=3, table=path) as own:
                assert (own.to_host(own.to_device(data)) == data).all()
            assert under_way.done()
            del session, on_device, under_way
            status = 0
        except BaseException:  # The child must end here, whatever happened.
            traceback.print_exc()
        finally:
            os._exit(status)
    assert os.waitpid(child, 0)[1] == 0
    session.copy(on_device, data)
    assert (session.to_host(on_device) == data).all()
    session.close()
