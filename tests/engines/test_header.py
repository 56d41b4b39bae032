"""The key header: ways to open a vault, what each wrong way says, and how the ways and the key change."""

from __future__ import annotations

import stat
import tempfile
import unicodedata
from pathlib import Path

import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from perdure.domain.access import TokenKind
from perdure.domain.vault import SlotKind
from perdure.engines.header.document import decode
from perdure.engines.header.recovery import format_recovery_key, parse_recovery_key
from perdure.errors import (
    Conflict,
    InvalidInput,
    NotFound,
    PerdureError,
    ProviderUnavailable,
    VaultDamaged,
    VaultLocked,
    VaultMissing,
    WrongKey,
)
from perdure.ports.vault import KeyHeader
from tests.engines.headers import NOW, PASSPHRASE, full_header, header_in


@pytest.fixture
def home(tmp_path: Path) -> Path:
    return tmp_path / "home"


def _slot_id(header: KeyHeader, kind: SlotKind) -> str:
    return next(slot.id for slot in header.slots() if slot.kind is kind)


def _mode(path: Path) -> int:
    return stat.S_IMODE(path.stat().st_mode)


# Ways in


def test_a_new_header_opens_by_its_key_file_and_nobody_else_may_read_it(home: Path) -> None:
    header: KeyHeader = header_in(home)
    master = header.create()
    assert len(master) == 32
    assert header_in(home).unlock() == (master,)
    assert _mode(home) == 0o700
    assert {_mode(path) for path in home.iterdir()} == {0o600}
    assert [slot.kind for slot in header.slots()] == [SlotKind.KEY_FILE]
    assert header.slots()[0].created_at == NOW
    assert header_in(home).vault_id() == header.vault_id()


def test_every_kind_of_slot_opens_the_same_master_key(home: Path) -> None:
    header, master, keyring, recovery_key = full_header(home)
    assert header.unlock(PASSPHRASE) == header.unlock(recovery_key) == header.unlock() == (master,)
    (home / "vault.key").unlink()
    assert header.unlock() == (master,), "the keyring is left"
    keyring.reachable = False
    with pytest.raises(VaultLocked, match="give its passphrase"):
        header.unlock()


def test_a_given_secret_is_tried_alone_so_that_a_wrong_one_is_told(home: Path) -> None:
    header, _, _, _ = full_header(home)
    with pytest.raises(WrongKey):
        header.unlock("not the passphrase")


def test_a_mistyped_recovery_key_is_told_as_such(home: Path) -> None:
    header, _, _, recovery_key = full_header(home)
    mistyped = ("1" if recovery_key[0] == "0" else "0") + recovery_key[1:]
    with pytest.raises(WrongKey, match="mistyped"):
        header.unlock(mistyped)


@given(secret=st.binary(min_size=20, max_size=20), data=st.data())
def test_a_recovery_key_survives_case_spaces_dashes_and_lookalikes(secret: bytes, data: st.DataObject) -> None:
    text = format_recovery_key(secret)
    typed = text.lower().replace("-", data.draw(st.sampled_from(["", " ", "-", "–", " - ", "\n"])))
    typed = typed.replace("0", data.draw(st.sampled_from("0oO"))).replace("1", data.draw(st.sampled_from("1iIlL")))
    assert parse_recovery_key(typed) == secret
    assert parse_recovery_key(text[:-1]) is None


_passphrases = st.text(min_size=8, max_size=40).filter(lambda text: len(unicodedata.normalize("NFKC", text).strip()) >= 8)


@settings(deadline=None, max_examples=40)
@given(passphrase=_passphrases, other=_passphrases)
def test_any_passphrase_opens_however_its_letters_are_composed_and_no_other_does(passphrase: str, other: str) -> None:
    assume(unicodedata.normalize("NFKC", passphrase) != unicodedata.normalize("NFKC", other))
    with tempfile.TemporaryDirectory() as folder:
        header = header_in(Path(folder))
        master = header.create()
        header.add_slot(master, SlotKind.PASSPHRASE, passphrase)
        for form in ("NFC", "NFD", "NFKC", "NFKD"):
            typed = unicodedata.normalize(form, passphrase)
            assert header.unlock(typed) == (master,)
        with pytest.raises(WrongKey):
            header.unlock(other)


@pytest.mark.parametrize("passphrase", ["", "short", "      seven", None])
def test_a_passphrase_under_eight_characters_is_refused_with_what_is_allowed(home: Path, passphrase: str | None) -> None:
    header = header_in(home)
    with pytest.raises(InvalidInput, match="at least 8 characters"):
        header.add_slot(header.create(), SlotKind.PASSPHRASE, passphrase)


def test_a_secret_for_a_slot_that_makes_its_own_is_refused(home: Path) -> None:
    header = header_in(home)
    with pytest.raises(InvalidInput, match="makes its own"):
        header.add_slot(header.create(), SlotKind.RECOVERY, "my own recovery key")


# Wrong ways


def test_dl14_missing_wrong_locked_and_damaged_are_four_answers_and_none_creates_a_file(home: Path) -> None:
    header = header_in(home)
    with pytest.raises(VaultMissing, match="nothing was created"):
        header.unlock()
    with pytest.raises(VaultMissing):
        header.add_token(TokenKind.USER, "x")
    assert not home.exists()
    header.create()
    right = (home / "vault.key").read_bytes()

    def refusal(expected: type[PerdureError]) -> str:
        before = {path: path.read_bytes() for path in home.iterdir()}
        with pytest.raises(expected) as caught:
            header_in(home).unlock()
        assert {path: path.read_bytes() for path in home.iterdir()} == before
        assert type(caught.value) is expected
        assert "init" not in caught.value.message
        assert "create" not in caught.value.message
        return caught.value.message

    (home / "vault.key").write_bytes(bytes(32))
    messages = {refusal(WrongKey)}
    (home / "vault.key").unlink()
    messages.add(refusal(VaultLocked))
    (home / "vault.key").write_bytes(right)
    (home / "header.json").write_text("{}")
    messages.add(refusal(VaultDamaged))
    assert len(messages) == 3


@pytest.mark.parametrize("content", [b"", b"{", b"\xff\xfe", b"null", b"[]", b"[" * 100_000, b'{"format": 0}', b'{"format": 1}'])
def test_a_garbled_header_is_damaged(home: Path, content: bytes) -> None:
    home.mkdir()
    (home / "header.json").write_bytes(content)
    with pytest.raises(VaultDamaged, match="damaged"):
        header_in(home).slots()


def test_a_header_of_a_newer_format_says_so(home: Path) -> None:
    home.mkdir()
    (home / "header.json").write_text('{"format": 2, "what": "nobody knows"}')
    with pytest.raises(VaultDamaged, match=r"newer perdure.*Install the newer version"):
        header_in(home).unlock()


def test_a_header_that_is_a_folder_is_damaged(home: Path) -> None:
    (home / "header.json").mkdir(parents=True)
    with pytest.raises(VaultDamaged, match="cannot be read"):
        header_in(home).unlock()


# Changing slots


def test_nothing_is_created_over_a_header_or_a_key_file(home: Path) -> None:
    header = header_in(home)
    master = header.create()
    with pytest.raises(Conflict, match="key header already"):
        header.create()
    (home / "header.json").unlink()
    with pytest.raises(Conflict, match="may open another vault"):
        header.create()
    assert not header.exists()
    assert len((home / "vault.key").read_bytes()) == len(master)


def test_the_last_slot_stays(home: Path) -> None:
    header = header_in(home)
    header.create()
    with pytest.raises(Conflict, match="Add another one first"):
        header.remove_slot(header.slots()[0].id)
    with pytest.raises(NotFound):
        header.remove_slot("no such slot")


def test_a_removed_slot_opens_nothing_and_leaves_no_secret_behind(home: Path) -> None:
    header, master, keyring, recovery_key = full_header(home)
    for kind in (SlotKind.KEY_FILE, SlotKind.KEYRING, SlotKind.PASSPHRASE):
        header.remove_slot(_slot_id(header, kind))
    assert not (home / "vault.key").exists()
    assert keyring.entries == {}
    with pytest.raises(WrongKey):
        header.unlock(PASSPHRASE)
    with pytest.raises(VaultLocked, match="give its recovery key"):
        header.unlock()
    assert header.unlock(recovery_key) == (master,)
    header.add_slot(master, SlotKind.KEY_FILE)
    assert header.unlock() == (master,)


def test_removing_a_key_file_slot_spares_a_key_file_of_another_vault(home: Path) -> None:
    header, _, _, _ = full_header(home)
    (home / "vault.key").write_bytes(b"k" * 32)
    header.remove_slot(_slot_id(header, SlotKind.KEY_FILE))
    assert (home / "vault.key").read_bytes() == b"k" * 32


def test_only_a_holder_of_the_master_key_adds_a_slot_or_rekeys(home: Path) -> None:
    header = header_in(home)
    header.create()
    before = header.path.read_bytes()
    for attempt in (
        lambda: header.add_slot(bytes(32), SlotKind.RECOVERY),
        lambda: header.begin_rekey(bytes(32)),
        lambda: header.finish_rekey(bytes(32)),
    ):
        with pytest.raises(WrongKey):
            attempt()
    assert header.path.read_bytes() == before


def test_a_second_automatic_slot_of_a_kind_is_refused_and_a_missing_keyring_is_named(home: Path) -> None:
    header, master, keyring, _ = full_header(home)
    for kind in (SlotKind.KEY_FILE, SlotKind.KEYRING):
        with pytest.raises(Conflict, match="already"):
            header.add_slot(master, kind)
    assert len(keyring.entries) == 1
    other = header_in(home.with_name("other"))
    with pytest.raises(ProviderUnavailable, match="key file or a passphrase"):
        other.add_slot(other.create(), SlotKind.KEYRING)


# Rekey


def test_a_rekey_gives_every_slot_a_new_master_key_without_its_secret(home: Path) -> None:
    header, old, _, recovery_key = full_header(home)
    new = header.begin_rekey(old)
    ways: tuple[str | None, ...] = (None, PASSPHRASE, recovery_key)
    assert [header.unlock(secret) for secret in ways] == [(new, old)] * 3, "newest first"
    for refused in (lambda: header.begin_rekey(new), lambda: header.add_slot(old, SlotKind.RECOVERY)):
        with pytest.raises(Conflict, match="unfinished"):
            refused()
    header.finish_rekey(new)
    assert [header.unlock(secret) for secret in ways] == [(new,)] * 3
    with pytest.raises(WrongKey):
        header.finish_rekey(old)
    assert len(decode(header.path.read_bytes()).slots[0].seals) == 1


def test_a_rekey_that_never_reached_the_vault_is_finished_with_the_old_key(home: Path) -> None:
    header, old, _, _ = full_header(home)
    header.begin_rekey(old)
    header.finish_rekey(old)
    assert header.unlock(PASSPHRASE) == (old,)
    header.finish_rekey(header.begin_rekey(old))
