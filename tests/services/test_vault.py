from __future__ import annotations

import asyncio
import shutil
from pathlib import Path

import pytest

from perdure.app import App
from perdure.bootstrap.build import build_app
from perdure.bootstrap.settings import read_launch
from perdure.domain.access import Caller
from perdure.domain.kinds import Kind
from perdure.domain.memory import Draft
from perdure.domain.retrieval import Filter
from perdure.domain.vault import SlotKind, VaultState
from perdure.errors import Conflict, DiskFull, VaultDamaged, VaultLocked, VaultMissing, WrongKey
from tests.services.conftest import Play

PASSPHRASE = "four random words here"


async def add_note(app: App, me: Caller, content: str) -> str:
    return (await app.memories.capture(me, Draft(content=content, kind=Kind.NOTE))).id


def cut_off(home: Path, left: set[str]) -> None:
    """The home as a kill during its creation leaves it: the mark, and those files."""
    for path in [path for path in home.rglob("*") if path.is_file() and path.name not in left]:
        path.unlink()
    (home / "vault" / "creating").touch()


async def only_passphrase(app: App) -> None:
    await app.vault.add_key(SlotKind.PASSPHRASE, secret=PASSPHRASE)
    for slot in app.vault.slots():
        if slot.kind is SlotKind.KEY_FILE:
            await app.vault.remove_key(slot.id)


def reopened(home: Path) -> App:
    return build_app(read_launch(home=home, environ={}))


def test_a_new_home_gets_a_vault_that_opens_again_by_itself(play: Play, tmp_home: Path) -> None:
    async def scenario(app: App, me: Caller) -> None:
        item = await add_note(app, me, "kept")
        await app.vault.close()
        again = reopened(tmp_home)
        assert await again.vault.start() is VaultState.OPEN
        assert (await again.memories.get(me, item)).content == "kept"
        await again.vault.close()

    play(scenario)


def test_a_vault_that_nobody_could_open_again_is_not_locked(play: Play) -> None:
    async def scenario(app: App, me: Caller) -> None:
        with pytest.raises(Conflict, match="passphrase"):
            await app.vault.lock()

    play(scenario)


def test_a_locked_vault_answers_vault_locked_until_the_right_passphrase_comes(play: Play) -> None:
    async def scenario(app: App, me: Caller) -> None:
        item = await add_note(app, me, "secret plan")
        await only_passphrase(app)
        await app.vault.lock()
        with pytest.raises(VaultLocked):
            await app.memories.get(me, item)
        with pytest.raises(WrongKey):
            await app.vault.unlock("not the right words")
        await app.vault.unlock(PASSPHRASE)
        assert (await app.memories.get(me, item)).content == "secret plan"

    play(scenario)


def test_a_vault_with_a_passphrase_alone_starts_locked(play: Play, tmp_home: Path) -> None:
    async def scenario(app: App, me: Caller) -> None:
        await only_passphrase(app)
        await app.vault.close()
        assert await reopened(tmp_home).vault.start() is VaultState.LOCKED

    play(scenario)


def test_dl14_a_missing_half_of_a_vault_is_named_and_nothing_is_created(play: Play, tmp_home: Path) -> None:
    async def scenario(app: App, me: Caller) -> None:
        await app.vault.close()
        vault = tmp_home / "vault" / "vault.db"
        vault.rename(tmp_home / "elsewhere.db")
        with pytest.raises(VaultMissing, match=r"vault\.db"):
            await reopened(tmp_home).vault.start()
        assert not vault.exists()
        (tmp_home / "elsewhere.db").rename(vault)
        (tmp_home / "vault" / "header.json").unlink()
        with pytest.raises(VaultMissing, match=r"header\.json"):
            await reopened(tmp_home).vault.start()
        assert not (tmp_home / "vault" / "header.json").exists()

    play(scenario)


def test_dl14_a_wrong_key_file_and_a_damaged_vault_are_told_apart(play: Play, tmp_home: Path) -> None:
    async def scenario(app: App, me: Caller) -> None:
        await app.vault.close()
        key_file, vault = tmp_home / "vault.key", tmp_home / "vault" / "vault.db"
        right, size = key_file.read_bytes(), vault.stat().st_size
        key_file.write_bytes(bytes(reversed(right)))
        with pytest.raises(VaultLocked):
            await reopened(tmp_home).vault.unlock()
        key_file.write_bytes(right)
        vault.write_bytes(b"garbage" * (size // 7))
        with pytest.raises(VaultDamaged):
            await reopened(tmp_home).vault.unlock()

    play(scenario)


def test_a_backup_is_restored_over_a_later_state_and_the_later_one_is_kept_aside(play: Play, tmp_home: Path) -> None:
    async def scenario(app: App, me: Caller) -> None:
        await add_note(app, me, "before")
        await app.vault.backup(tmp_home / "copy")
        await add_note(app, me, "after")
        kept = await app.vault.restore(tmp_home / "copy")
        assert [m.content for m in await app.memories.list(Filter(spaces=me.spaces), limit=9)] == ["before"]
        again = await app.vault.restore(tmp_home / "copy")
        assert (kept / "vault.db").exists()
        assert (again / "vault.db").exists()
        await add_note(app, me, "goes on")

    play(scenario)


def test_a_backup_never_overwrites(play: Play, tmp_home: Path) -> None:
    async def scenario(app: App, me: Caller) -> None:
        await app.vault.backup(tmp_home / "copy")
        with pytest.raises(Conflict):
            await app.vault.backup(tmp_home / "copy")

    play(scenario)


def test_a_damaged_backup_changes_nothing(play: Play, tmp_home: Path) -> None:
    async def scenario(app: App, me: Caller) -> None:
        await add_note(app, me, "present")
        await app.vault.backup(tmp_home / "copy")
        copy = tmp_home / "copy" / "vault.db"
        data = bytearray(copy.read_bytes())
        data[len(data) // 2] ^= 0xFF
        copy.write_bytes(data)
        with pytest.raises(VaultDamaged):
            await app.vault.restore(tmp_home / "copy")
        with pytest.raises(VaultMissing):
            await app.vault.restore(tmp_home / "nowhere")
        assert [m.content for m in await app.memories.list(Filter(spaces=me.spaces), limit=9)] == ["present"]

    play(scenario)


def test_a_rekeyed_vault_keeps_its_rows_and_opens_by_every_slot(play: Play, tmp_home: Path) -> None:
    async def scenario(app: App, me: Caller) -> None:
        item = await add_note(app, me, "same as ever")
        recovery = await app.vault.add_key(SlotKind.RECOVERY)
        before = (tmp_home / "vault" / "vault.db").read_bytes()[:4096]
        await app.vault.rekey()
        assert (await app.memories.get(me, item)).content == "same as ever"
        await app.vault.close()
        assert (tmp_home / "vault" / "vault.db").read_bytes()[:4096] != before
        (tmp_home / "vault.key").unlink()
        again = reopened(tmp_home)
        assert await again.vault.start() is VaultState.LOCKED
        await again.vault.unlock(recovery)
        assert (await again.memories.get(me, item)).content == "same as ever"
        await again.vault.close()

    play(scenario)


def test_an_idle_vault_locks_itself_only_when_a_person_can_open_it(tmp_home: Path) -> None:
    async def body() -> None:
        app = reopened(tmp_home)
        await app.vault.start()
        await app.settings.put("auto_lock_minutes", "5")
        now = [0.0]
        app.vault._monotonic = lambda: now[0]
        app.vault.touch()
        now[0] = 301.0
        assert not await app.vault.lock_if_idle(), "an automatic key would open it again at once"
        await only_passphrase(app)
        app.vault.touch()
        now[0] += 299.0
        assert not await app.vault.lock_if_idle()
        now[0] += 2.0
        assert await app.vault.lock_if_idle()
        assert app.vault.state is VaultState.LOCKED

    asyncio.run(body())


def test_status_and_tokens_answer_while_the_vault_is_locked(play: Play) -> None:
    async def scenario(app: App, me: Caller) -> None:
        await only_passphrase(app)
        await app.vault.lock()
        assert (await app.vault.status()).state is VaultState.LOCKED
        assert app.access.authenticate(app.access.primary_secret()).is_primary
        assert (await app.health.health()).memories is None

    play(scenario)


def test_a_vault_copied_to_another_home_with_its_key_opens_there(play: Play, tmp_home: Path) -> None:
    async def scenario(app: App, me: Caller) -> None:
        item = await add_note(app, me, "moved house")
        await app.vault.close()
        other = tmp_home / "other"
        other.mkdir()
        shutil.copytree(tmp_home / "vault", other / "vault")
        shutil.copy(tmp_home / "vault.key", other / "vault.key")
        again = reopened(other)
        await again.vault.start()
        assert (await again.memories.get(me, item)).content == "moved house"
        await again.vault.close()

    play(scenario)


@pytest.mark.parametrize("left", [{"vault.key", "token"}, {"vault.key", "token", "header.json"}, set()])
def test_lk7_a_creation_cut_off_at_any_point_goes_on_at_the_next_start(play: Play, tmp_home: Path, left: set[str]) -> None:
    async def scenario(app: App, me: Caller) -> None:
        await app.vault.close()
        cut_off(tmp_home, left)
        again = reopened(tmp_home)
        assert await again.vault.start() is VaultState.OPEN
        assert not (tmp_home / "vault" / "creating").exists()
        await again.vault.close()

    play(scenario)


def test_a_key_file_without_a_vault_is_never_overwritten(tmp_home: Path) -> None:
    tmp_home.mkdir(exist_ok=True)
    (tmp_home / "vault.key").write_bytes(b"of another vault")
    for _ in range(2):
        with pytest.raises(Conflict, match="key file"):
            asyncio.run(reopened(tmp_home).vault.start())
    assert (tmp_home / "vault.key").read_bytes() == b"of another vault"


def test_a_rekey_that_fails_leaves_the_old_key_valid_and_can_be_repeated(play: Play, monkeypatch: pytest.MonkeyPatch) -> None:
    async def scenario(app: App, me: Caller) -> None:
        item = await add_note(app, me, "still here")

        def fail(key: bytes) -> None:
            raise DiskFull

        with monkeypatch.context() as patch:
            patch.setattr(app.vault._engine, "rekey", fail)
            with pytest.raises(DiskFull):
                await app.vault.rekey()
        await app.vault.rekey()
        assert (await app.memories.get(me, item)).content == "still here"

    play(scenario)


def test_a_vault_that_only_its_lost_key_file_opens_says_so(play: Play, tmp_home: Path) -> None:
    async def scenario(app: App, me: Caller) -> None:
        await app.vault.close()
        (tmp_home / "vault.key").rename(tmp_home / "mislaid")
        with pytest.raises(VaultLocked, match="key file back"):
            await reopened(tmp_home).vault.start()

    play(scenario)
