"""Where the user's cache is, who may write to it, and what is used of it."""

import os
from collections.abc import Callable
from pathlib import Path

import pytest

from isthmus.cache import CacheRefused, cache_folder, cache_root, found_folder, kept

Environment = dict[str, str]


@pytest.fixture
def environment(tmp_path: Path) -> Environment:
    return {"XDG_CACHE_HOME": str(tmp_path / "cache"), "HOME": str(tmp_path / "home")}


def put(text: str) -> Callable[[Path], None]:
    def make(folder: Path) -> None:
        (folder / "file").write_text(text)

    return make


def test_it_is_the_users_alone(environment: Environment, tmp_path: Path) -> None:
    assert found_folder("runs", environment) is None
    folder = cache_folder("runs", environment)
    assert folder == tmp_path / "cache" / "isthmus" / "runs" == found_folder("runs", environment)
    for each in (folder, folder.parent, folder.parent.parent):
        assert each.stat().st_mode & 0o777 == 0o700


def test_one_that_others_can_read_is_closed(environment: Environment) -> None:
    folder = cache_folder("runs", environment)
    folder.parent.chmod(0o755)
    assert cache_folder("runs", environment) == folder
    assert folder.parent.stat().st_mode & 0o777 == 0o700


def test_a_relative_place_counts_for_nothing(tmp_path: Path) -> None:
    home = str(tmp_path)
    assert cache_root({"XDG_CACHE_HOME": "here", "HOME": home}) == tmp_path / ".cache" / "isthmus"
    of_the_account = cache_root({})
    assert of_the_account is not None
    assert cache_root({"XDG_CACHE_HOME": "~/cache", "HOME": "home"}) == of_the_account


def test_an_account_without_a_home_has_none(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("os.getuid", lambda: 4_000_000_001)
    assert cache_root({}) is None
    assert found_folder("runs", {}) is None
    with pytest.raises(FileNotFoundError, match="no home directory"):
        cache_folder("runs", {})


@pytest.mark.parametrize("part", ["..", "."])
def test_one_of_another_user_is_refused(environment: Environment, monkeypatch: pytest.MonkeyPatch, part: str) -> None:
    folder = cache_folder("runs", environment)
    theirs = (folder / part).resolve()
    real = Path.stat

    def stat(self: Path, **options: bool) -> os.stat_result:
        found = real(self, **options)
        return os.stat_result((*found[:4], 12345, *found[5:])) if self == theirs else found

    monkeypatch.setattr(Path, "stat", stat)
    for use in (cache_folder, found_folder):
        with pytest.raises(
            CacheRefused, match=f"user 12345, .* user {os.geteuid()}'s; remove it, or set XDG_CACHE_HOME"
        ):
            use("runs", environment)


@pytest.mark.parametrize("mode", [0o770, 0o702, 0o1777])
def test_one_that_others_may_write_to_is_refused(environment: Environment, mode: int) -> None:
    cache_folder("runs", environment).parent.chmod(mode)
    with pytest.raises(CacheRefused, match=f"its mode is {mode:o}") as refused:
        cache_folder("runs", environment)
    assert refused.value.filename == environment["XDG_CACHE_HOME"] + "/isthmus"


def test_a_link_of_the_users_own_is_followed(environment: Environment, tmp_path: Path) -> None:
    (tmp_path / "elsewhere").mkdir(mode=0o700)
    (tmp_path / "cache").mkdir(mode=0o700)
    (tmp_path / "cache" / "isthmus").symlink_to(tmp_path / "elsewhere")
    assert cache_folder("runs", environment).resolve() == tmp_path / "elsewhere" / "runs"


def test_what_was_kept_is_made_once_and_again_when_it_changed(environment: Environment) -> None:
    first = kept("made", "key", put("one"), environment)
    assert kept("made", "key", put("two"), environment) == first
    assert (first / "file").read_text() == "one"
    assert kept("made", "other", put("two"), environment) != first
    (first / "file").write_text("planted")
    assert (kept("made", "key", put("three"), environment) / "file").read_text() == "three"
    assert not first.exists()


def test_what_is_no_plain_file_of_the_users_was_not_kept(environment: Environment, tmp_path: Path) -> None:
    """The hash is right, but what the link leads to may be another's and change at any time."""
    (tmp_path / "other").write_text("one")
    first = kept("made", "key", put("one"), environment)
    (first / "file").unlink()
    (first / "file").symlink_to(tmp_path / "other")
    assert not (kept("made", "key", put("one"), environment) / "file").is_symlink()


def test_what_failed_leaves_nothing(environment: Environment) -> None:
    def fail(folder: Path) -> None:
        put("half")(folder)
        raise OSError(28, "No space left on device")

    with pytest.raises(OSError, match="No space"):
        kept("made", "key", fail, environment)
    assert list(cache_folder("made", environment).iterdir()) == []


@pytest.mark.parametrize(("mode", "refused"), [(0o777, True), (0o775, True), (0o1777, False), (0o755, False)])
def test_what_is_run_has_a_folder_that_nobody_else_can_replace(reachable: Path, mode: int, refused: bool) -> None:
    """Measured figures may stand where others could only take them away."""
    shared = reachable / "shared"
    shared.mkdir()
    shared.chmod(mode)
    environment = {"XDG_CACHE_HOME": str(shared)}
    cache_folder("runs", environment)
    if refused:
        with pytest.raises(CacheRefused, match=f"they may write to {shared}"):
            kept("made", "key", put("one"), environment)
    else:
        kept("made", "key", put("one"), environment)
