"""No translation stays as it was when its English text changed."""

from tests.layout.translated import REFRESH, Digests, current, recorded, stale


def test_no_translation_is_older_than_its_english_text() -> None:
    record, texts = recorded(), current()
    old = stale(record, texts)
    assert not old, f"translate anew, or run `{REFRESH} KEY...` if the translation holds: {', '.join(old)}"
    changed = sorted(key for key in record.keys() | texts.keys() if record.get(key) != texts.get(key))
    assert not changed, f"run `{REFRESH}`, which records: {', '.join(changed)}"


def test_a_translation_that_was_left_behind_is_stale() -> None:
    was: Digests = {"en": "a", "ja": "b", "zh": "c"}
    now: Digests = {"en": "A", "ja": "B", "zh": "c"}
    assert stale({"some.key": was}, {"some.key": now}) == ["zh some.key"]
    assert stale({"some.key": was}, {"some.key": was, "new.key": now}) == []
