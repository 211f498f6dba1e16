"""In which column of the map each device of a host stands: the same device in the same column on every host."""

from collections import Counter

from isthmus.fleet import Survey, natural


def columns_of(survey: Survey) -> tuple[list[str], dict[str, list[int]]]:
    """The names of columns, and for each machine the column of each of its devices.

    A device's number says where it stands. Processes that see one device each all call it 0: then its address does,
    among those that most hosts have; and where that tells nothing, its place among the host's devices.
    """
    named = {machine: _specs(survey, places) for machine, places in survey.hosts.items()}
    usual = _usual_addresses(survey)
    for machine, specs in named.items():
        if len(set(specs)) < len(specs):
            addresses = [survey.gathered.devices[place].pci_address for place in survey.hosts[machine]]
            by_address = len(set(addresses)) == len(addresses) and set(addresses) <= usual.keys()
            numbers = [usual[address] for address in addresses] if by_address else range(len(specs))
            named[machine] = [f"{_backend(spec)}:{number}" for spec, number in zip(specs, numbers, strict=True)]
    columns = sorted({spec for specs in named.values() for spec in specs}, key=natural)
    at = {spec: column for column, spec in enumerate(columns)}
    one_kind = len({_backend(spec) for spec in columns}) == 1
    names = [spec.partition(":")[2] or "0" for spec in columns] if one_kind else columns
    return names, {machine: [at[spec] for spec in specs] for machine, specs in named.items()}


def _specs(survey: Survey, places: list[int]) -> list[str]:
    return [survey.gathered.devices[place].spec for place in places]


def _usual_addresses(survey: Survey) -> dict[str, int]:
    """The addresses that most hosts have, of those with most devices, each with its number."""
    devices = survey.gathered.devices
    found = Counter(
        tuple(sorted({devices[place].pci_address for place in places} - {""})) for places in survey.hosts.values()
    )
    usual = max(found, key=lambda addresses: (found[addresses] * len(addresses), addresses), default=())
    return {address: number for number, address in enumerate(usual)}


def _backend(spec: str) -> str:
    return spec.partition(":")[0]
