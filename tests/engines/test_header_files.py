"""The key header's file and tokens: found at once, changed whole, lost by no crash and no other process."""

from __future__ import annotations

import errno
import os
import subprocess
import sys
import threading
from pathlib import Path

import pytest

from perdure.domain.access import Token, TokenKind
from perdure.domain.vault import SlotKind
from perdure.engines.header import header as header_module
from perdure.engines.header.files import create_file
from perdure.engines.header.tokens import token_digest
from perdure.errors import Conflict, DiskFull, DiskReadOnly, NotFound, PerdureError, VaultDamaged, VaultMissing
from tests.engines.headers import NOW, PASSPHRASE, full_header, header_in

_CHILD = """
import os, sys
from pathlib import Path
from perdure.domain.access import TokenKind
from tests.engines.headers import header_in

header = header_in(Path(sys.argv[1]))
"""
_ROOT = Path(__file__).parents[2]


@pytest.fixture
def home(tmp_path: Path) -> Path:
    return tmp_path / "home"


def _start(home: Path, code: str) -> subprocess.Popen[bytes]:
    return subprocess.Popen([sys.executable, "-c", _CHILD + code, str(home)], cwd=_ROOT)


# Tokens


def test_a_token_is_found_by_its_secret_and_the_secret_is_kept_nowhere(home: Path) -> None:
    header = header_in(home)
    header.create()
    made = {kind: header.add_token(kind, kind.value, user_id="u1") for kind in TokenKind}
    prefixes = {TokenKind.PRIMARY: "pdr_", TokenKind.INTEGRATION: "pdi_", TokenKind.USER: "cnxt_"}
    for kind, (token, secret) in made.items():
        assert header_in(home).find_token(secret) == header.find_token(secret) == token
        assert token == Token(
            id=token.id, kind=kind, name=kind.value, digest=token_digest(secret), created_at=NOW, user_id="u1"
        )  # fmt: skip
        assert secret.startswith(prefixes[kind])
        assert len(secret) >= 43 + 4
        assert secret.encode() not in header.path.read_bytes()
    assert header.tokens()[1:] == tuple(token for token, _ in made.values())


@pytest.mark.parametrize("secret", ["", "pdr_", "pdr_" + "A" * 43, "ключ", "\udcff", "\0"])
def test_an_unknown_secret_finds_nothing(home: Path, secret: str) -> None:
    header = header_in(home)
    header.create()
    assert header.find_token(secret) is None


def test_tokens_work_while_nothing_opens_the_vault(home: Path) -> None:
    header = header_in(home)
    header.create()
    (home / "vault.key").unlink()
    token, secret = header.add_token(TokenKind.INTEGRATION, "agent")
    assert header.find_token(secret) == token
    header.revoke_token(token.id)
    assert header.find_token(secret) is None


def test_a_token_revoked_by_another_process_is_not_found_any_more(home: Path) -> None:
    header, other = header_in(home), header_in(home)
    header.create()
    token, secret = header.add_token(TokenKind.USER, "person")
    assert header.find_token(secret) is not None
    revoked = other.revoke_token(token.id)
    assert revoked.revoked_at == NOW
    assert header.find_token(secret) is None
    assert header.revoke_token(token.id) == revoked, "revoking again changes nothing"
    assert header.tokens()[-1] == revoked
    with pytest.raises(NotFound):
        header.revoke_token("no such token")


def test_an_unchanged_header_is_not_read_again(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    header = header_in(home)
    header.create()
    secret = header.primary_secret()
    assert secret is not None
    found = header.find_token(secret)
    monkeypatch.setattr(header_module, "read_file", lambda path: pytest.fail("read again"))
    assert header.find_token(secret) is found


def test_the_primary_secret_lies_in_its_own_file_until_it_is_revoked(home: Path) -> None:
    header = header_in(home)
    assert header.primary_secret() is None
    header.create()
    first = header.primary_secret()
    assert first is not None
    old = header.find_token(first)
    assert old is not None
    assert (old.kind, old.name) == (TokenKind.PRIMARY, "primary")
    new, second = header.add_token(TokenKind.PRIMARY, "primary")
    assert header.primary_secret() == second
    header.revoke_token(old.id)
    assert header.primary_secret() == second, "only a revoked secret leaves the file"
    header.revoke_token(new.id)
    assert header.primary_secret() is None
    assert not (home / "primary.token").exists()


# Two at once


def test_dl7_two_processes_and_two_threads_that_add_tokens_lose_none(home: Path) -> None:
    header = header_in(home)
    header.create()
    code = 'for n in range(20): header.add_token(TokenKind.USER, f"{sys.argv[1]}-{n}")'
    processes = [_start(home, code) for _ in range(2)]
    threads = [
        threading.Thread(target=lambda: [header.add_token(TokenKind.USER, f"thread-{n}") for n in range(20)]) for _ in range(2)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(60)
    assert [process.wait(60) for process in processes] == [0, 0]
    assert len({token.id for token in header.tokens()}) == 81


def test_of_two_processes_that_create_one_wins_and_the_other_changes_nothing(home: Path) -> None:
    code = "from perdure.errors import Conflict\ntry: header.create()\nexcept Conflict: sys.exit(3)"
    processes = [_start(home, code) for _ in range(2)]
    assert sorted(process.wait(60) for process in processes) == [0, 3]
    assert len(header_in(home).unlock()) == 1


# Crashes and disks


@pytest.mark.parametrize("moment", ["replace", "fsync"])
def test_a_crash_before_the_rename_leaves_the_old_header_and_a_later_change_sweeps_up(home: Path, moment: str) -> None:
    header, master, _, _ = full_header(home)
    before = header.path.read_bytes()
    process = _start(home, f'os.{moment} = lambda *args: os._exit(9)\nheader.add_token(TokenKind.USER, "lost")')
    assert process.wait(60) == 9
    assert (home / "header.json.new").exists()
    assert header.path.read_bytes() == before
    assert header_in(home).unlock(PASSPHRASE) == (master,)
    _, secret = header.add_token(TokenKind.USER, "kept")
    assert header_in(home).find_token(secret) is not None
    assert not (home / "header.json.new").exists()


def test_a_change_is_on_the_disk_before_it_is_renamed_and_the_folder_after(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    header = header_in(home)
    header.create()
    calls: list[str] = []
    fsync, replace = os.fsync, os.replace

    def noted_fsync(descriptor: int) -> None:
        calls.append("folder" if os.path.isdir(f"/dev/fd/{descriptor}") else "file")
        fsync(descriptor)

    def noted_replace(source: Path, target: Path) -> None:
        calls.append("rename")
        replace(source, target)

    monkeypatch.setattr(os, "fsync", noted_fsync)
    monkeypatch.setattr(os, "replace", noted_replace)
    header.add_token(TokenKind.USER, "person")
    assert calls == ["file", "rename", "folder"]


@pytest.mark.parametrize(("number", "expected"), [(errno.ENOSPC, DiskFull), (errno.EROFS, DiskReadOnly)])
def test_a_full_or_read_only_disk_is_named_and_nothing_is_half_done(
    home: Path, monkeypatch: pytest.MonkeyPatch, number: int, expected: type[PerdureError]
) -> None:
    header, master, keyring, _ = full_header(home)
    before = {path: path.read_bytes() for path in home.iterdir()}
    entries = dict(keyring.entries)

    def fail(descriptor: int) -> None:
        raise OSError(number, "as the system says it")

    def refused() -> None:
        with pytest.raises(expected):
            header.add_token(TokenKind.PRIMARY, "lost")
        with pytest.raises(expected):
            header.remove_slot(header.slots()[1].id)
        with pytest.raises(expected):
            header.add_slot(master, SlotKind.PASSPHRASE, PASSPHRASE)
        with pytest.raises(expected):
            header_in(home.with_name("new")).create()

    with monkeypatch.context() as patch:
        patch.setattr(os, "fsync", fail)
        refused()
    assert {path: path.read_bytes() for path in home.iterdir()} == before
    assert keyring.entries == entries
    assert [path.name for path in home.with_name("new").iterdir()] == ["header.json.lock"]
    assert header_in(home.with_name("new")).create(), "once there is space, it is as if nothing had been"


def test_a_keyring_entry_of_a_slot_that_could_not_be_written_is_forgotten(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    header, master, keyring, _ = full_header(home)
    header.remove_slot(next(slot.id for slot in header.slots() if slot.kind is SlotKind.KEYRING))
    with monkeypatch.context() as patch:
        patch.setattr(header_module, "replace_file", lambda path, content: create_file(path, content))
        with pytest.raises(FileExistsError):
            header.add_slot(master, SlotKind.KEYRING)
    assert keyring.entries == {}


# Backups


def test_a_copy_opens_like_the_header_and_never_overwrites(home: Path) -> None:
    header, master, _, recovery_key = full_header(home)
    backup = home.with_name("backup")
    backup.mkdir()
    header.copy_to(backup / "header.json")
    assert (backup / "header.json").stat().st_mode & 0o777 == 0o600
    assert header_in(backup).unlock(recovery_key) == (master,)
    with pytest.raises(Conflict, match="already"):
        header.copy_to(backup / "header.json")


def test_a_restored_header_keeps_the_present_tokens_and_revokes_what_was_revoked_since(home: Path) -> None:
    header, old, _, _ = full_header(home)
    leaked, leaked_secret = header.add_token(TokenKind.USER, "leaked")
    backup = home / "backup.json"
    header.copy_to(backup)
    header.revoke_token(leaked.id)
    _, later_secret = header.add_token(TokenKind.USER, "later")
    header.finish_rekey(header.begin_rekey(old))
    header.merge_into(backup, home / "staged.json")
    (home / "staged.json").replace(header.path)
    assert header.unlock(PASSPHRASE) == (old,)
    assert header.find_token(leaked_secret) is None
    assert header.find_token(later_secret) is not None
    assert header.find_token(header.primary_secret() or "") is not None


@pytest.mark.parametrize("present", [None, b"garbled"])
def test_a_header_restored_where_none_is_left_has_a_working_primary_token(home: Path, present: bytes | None) -> None:
    source, master, _, _ = full_header(home)
    target = header_in(home.with_name("new"))
    if present is not None:
        target.path.parent.mkdir()
        target.path.write_bytes(present)
    target.path.parent.mkdir(exist_ok=True)
    target.merge_into(source.path, target.path.with_name("staged.json"))
    target.path.with_name("staged.json").replace(target.path)
    target.ensure_primary()
    assert target.unlock(PASSPHRASE) == (master,)
    found = target.find_token(target.primary_secret() or "")
    assert found is not None
    assert found.kind is TokenKind.PRIMARY


def test_what_is_no_header_is_not_restored(home: Path) -> None:
    header, _, _, _ = full_header(home)
    before = header.path.read_bytes()
    (home / "garbled.json").write_bytes(before[:-2])
    with pytest.raises(VaultDamaged):
        header.merge_into(home / "garbled.json", home / "staged.json")
    with pytest.raises(VaultMissing):
        header.merge_into(home / "nowhere.json", home / "staged.json")
    assert header.path.read_bytes() == before
    assert not (home / "staged.json").exists()
