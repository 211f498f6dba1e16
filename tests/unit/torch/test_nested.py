"""Values with tensors in them: each tensor is changed, containers keep their types, and the rest is what it was."""

import dataclasses
from collections import OrderedDict, UserDict, defaultdict, namedtuple
from types import MappingProxyType
from typing import Any

import pytest

torch = pytest.importorskip("torch", reason="needs torch: pip install torch")
from isthmus.torch.nested import mapped, tensors  # noqa: E402 - torch may be absent

Pair = namedtuple("Pair", ["x", "y"])


@dataclasses.dataclass
class Batch:
    x: Any
    note: str = "kept"
    unset: Any = dataclasses.field(init=False)


@dataclasses.dataclass(frozen=True, slots=True)
class Frozen:
    x: Any


class Words(list[Any]):
    language = "en"


class Named(tuple[Any, ...]):
    __slots__ = ()


def one() -> Any:
    return torch.ones(2)


@pytest.mark.parametrize(
    "value",
    [
        one(),
        {"a": one(), "b": [one(), 5]},
        OrderedDict(a=one(), b=one()),
        defaultdict(list, a=one()),
        UserDict(a=one()),
        MappingProxyType({"a": one()}),
        [one(), "text", None],
        Words([one()]),
        (one(), (one(),)),
        Named((one(),)),
        Pair(one(), 3),
        Batch({"deep": (one(),)}),
        Frozen(one()),
    ],
    ids=lambda value: type(value).__name__,
)
def test_tensors_are_changed_wherever_they_are(value: Any) -> None:
    changed = mapped(value, lambda tensor: tensor + 1)
    assert type(changed) is type(value)
    before, after = dict(tensors(value)), dict(tensors(changed))
    if not isinstance(value, torch.Tensor):
        assert changed is not value
    assert before.keys() == after.keys()
    assert all(torch.equal(tensor, torch.full((2,), 2.0)) for tensor in after.values())
    assert all(torch.equal(tensor, torch.ones(2)) for tensor in before.values()), "the original has changed"


def test_what_containers_have_beside_their_items_is_kept() -> None:
    counts: Any = mapped(defaultdict(list, a=one()), lambda tensor: tensor + 1)
    assert counts["new"] == []
    assert mapped(Words([one()]), lambda tensor: tensor + 1).language == "en"
    state = torch.nn.Linear(2, 2).state_dict()
    assert mapped(state, lambda tensor: tensor + 1)._metadata == state._metadata
    assert mapped(Batch(one()), lambda tensor: tensor + 1).note == "kept"


@pytest.mark.parametrize(
    "value",
    [5, "text", None, {1, 2}, {"a": [1, (2,)]}, [one()], Batch(one()), object(), Batch],
    ids=lambda value: type(value).__name__,
)
def test_what_does_not_change_is_itself(value: Any) -> None:
    assert mapped(value, lambda tensor: tensor) is value


def test_the_sizes_of_packed_sequences_stay() -> None:
    packed = torch.nn.utils.rnn.pack_sequence([torch.ones(3), torch.ones(2)])
    changed = mapped(packed, lambda tensor: tensor + 1)
    assert torch.equal(changed.data, packed.data + 1)
    assert changed.batch_sizes is packed.batch_sizes


def test_paths_lead_to_the_tensors() -> None:
    value = {"a": [one(), Batch(one())], 5: Pair(0, one())}
    assert [path for path, _ in tensors(value)] == [("a", 0), ("a", 1, "x"), (5, 1)]
