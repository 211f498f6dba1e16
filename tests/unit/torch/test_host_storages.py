"""Memory that is got ahead: each storage's once, in any order, and what fails is said where it is taken."""

from typing import Any

import numpy as np
import numpy.typing as npt
import pytest

torch = pytest.importorskip("torch", reason="storages are torch's")

from isthmus.errors import OutOfMemory, UsageError  # noqa: E402
from isthmus.torch import host_storages  # noqa: E402
from isthmus.torch.host_storages import LEAST_PINNED_BYTES, HostStorages, storages_in  # noqa: E402


@pytest.fixture
def asked(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """The sizes that page-locked memory is asked of, as if all storages were a device's; some sizes fail."""
    sizes: list[int] = []

    def pinned_empty(size: int, dtype: Any, device: str) -> npt.NDArray[np.uint8]:
        sizes.append(size)
        if size == 2 * LEAST_PINNED_BYTES:
            raise OutOfMemory("no more can be locked")
        if size == 3 * LEAST_PINNED_BYTES:
            raise UsageError("no such device")
        return np.empty(size, dtype)

    monkeypatch.setattr("isthmus.pinned_empty", pinned_empty)
    monkeypatch.setattr(host_storages, "is_pinned_for", lambda storage: storage.nbytes() >= LEAST_PINNED_BYTES)
    return sizes


def test_each_storage_is_got_once_in_whatever_order_it_is_taken(asked: list[int]) -> None:
    sizes = [LEAST_PINNED_BYTES + at for at in range(20)]
    state: dict[str, Any] = {
        "many": [torch.empty(size, dtype=torch.uint8) for size in sizes],
        "small": torch.empty(100),
    }
    state["view"] = state["many"][3][5:]
    with HostStorages(storages_in(state)) as storages:
        taken = [storages.take(tensor.untyped_storage()) for tensor in reversed(state["many"])]
        assert storages.take(state["small"].untyped_storage()).nbytes() == 400
        unforeseen = torch.empty(LEAST_PINNED_BYTES + 77, dtype=torch.uint8).untyped_storage()
        assert storages.take(unforeseen).nbytes() == unforeseen.nbytes()
    assert [storage.nbytes() for storage in taken] == sizes[::-1]
    assert len({storage.data_ptr() for storage in taken}) == len(sizes)
    assert sorted(asked) == [*sizes, LEAST_PINNED_BYTES + 77]


def test_ordinary_memory_serves_where_no_more_can_be_locked(asked: list[int]) -> None:
    state = torch.empty(2 * LEAST_PINNED_BYTES, dtype=torch.uint8)
    with HostStorages(storages_in(state)) as storages:
        assert storages.take(state.untyped_storage()).nbytes() == state.nbytes
    assert asked == [state.nbytes]


def test_what_fails_is_raised_where_it_is_taken_and_nowhere_else(asked: list[int]) -> None:
    state = [torch.empty(times * LEAST_PINNED_BYTES, dtype=torch.uint8) for times in (1, 3)]
    with HostStorages(storages_in(state)) as storages:
        assert storages.take(state[0].untyped_storage()).nbytes() == LEAST_PINNED_BYTES
    with HostStorages(storages_in(state)) as storages, pytest.raises(UsageError, match="no such device"):
        storages.take(state[1].untyped_storage())


def test_wrappers_have_no_storage_to_get_memory_for() -> None:
    class Wrapper(torch.Tensor):  # type: ignore[name-defined, misc, unused-ignore]
        """As quantized tensors are, whose own parts are staged."""

        @classmethod
        def __torch_dispatch__(cls, *_: object, **__: object) -> Any:
            raise NotImplementedError

    wrapper = torch.Tensor._make_wrapper_subclass(Wrapper, (1 << 20,), dtype=torch.float32, device="cuda")
    plain = torch.empty(5)
    addresses = [storage.data_ptr() for storage in storages_in([wrapper, plain, torch.empty(0)])]
    assert addresses == [plain.untyped_storage().data_ptr()]
