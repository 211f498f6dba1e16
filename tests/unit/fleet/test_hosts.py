"""Names of hosts in order and in brackets."""

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from isthmus.fleet import host_list, is_host_name
from isthmus.fleet.sorting import natural


@pytest.mark.parametrize(
    ("names", "text"),
    [
        ([], ""),
        (["node7"], "node7"),
        (["host1", "host3", "host2", "host7"], "host[1-3,7]"),
        (["n08", "n09", "n10", "n11"], "n[08-11]"),
        (["n8", "n9", "n10"], "n[8-10]"),
        (["n1", "n01"], "n01,n1"),
        (["login", "n1", "n2"], "n[1-2],login"),
        (["r1n1-ib", "r1n2-ib", "r2n1-ib"], "r1n[1-2]-ib,r2n1-ib"),
        (["a1", "a1"], "a1"),
        (["n100", "n099", "n101"], "n[099-101]"),
    ],
)
def test_host_list(names: list[str], text: str) -> None:
    assert host_list(names) == text


def expanded(text: str) -> set[str]:
    """What scontrol show hostnames makes of a list."""
    found = set()
    for part in re.findall(r"[^,\[]*(?:\[[^\]]*\][^,]*)?", text):
        match = re.fullmatch(r"(.*)\[(.*)\](.*)", part)
        for numbers in match[2].split(",") if match else []:
            first, _, last = numbers.partition("-")
            for number in range(int(first), int(last or first) + 1):
                found.add(f"{match[1]}{number:0{len(first)}}{match[3]}")  # type: ignore[index]
        if part and not match:
            found.add(part)
    return found


@given(st.sets(st.from_regex(r"[a-c]{1,2}(0|[0-9]{1,4})?(-ib)?", fullmatch=True)))
def test_a_host_list_means_the_same_hosts(names: set[str]) -> None:
    assert expanded(host_list(names)) == names


@pytest.mark.parametrize(
    "name", ["", "-oProxyCommand=x", "a b", "n[1-3]", "<script>", "a;b", "a,b", "$(x)", "n\n", "é", "a" * 300]
)
def test_what_is_no_host_name(name: str) -> None:
    assert not is_host_name(name)


@given(st.text())
def test_any_name_can_be_put_in_order(name: str) -> None:
    assert natural("node2") < natural("node10")
    assert natural(name) == natural(name)
    sorted([name, "node1", "1"], key=natural)
