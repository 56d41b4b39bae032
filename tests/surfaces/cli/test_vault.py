"""The vault, its keys, tokens and settings from the command line."""

from __future__ import annotations

from pathlib import Path

import pytest

from perdure.surfaces.cli import doctor
from perdure.surfaces.cli.client import whole_id
from perdure.surfaces.cli.failure import Failure
from tests.surfaces.cli.conftest import Shell


def test_the_status_tells_state_file_and_what_opens_it(shell: Shell) -> None:
    told = shell.told("vault", "status")
    assert (told["state"], told["cipher"]) == ("open", "aegis")
    assert [slot["kind"] for slot in told["slots"]] == ["key_file"]
    assert "opens with:   key_file" in shell("vault", "status").text


def test_nothing_locks_a_vault_that_nothing_could_open_again(shell: Shell) -> None:
    assert "passphrase" in shell.refused("vault", "lock", code="conflict")


def test_a_locked_vault_answers_with_exit_code_3_until_the_passphrase_comes(shell: Shell, tmp_home: Path) -> None:
    memory_id = shell.capture("text")
    shell("vault", "key", "add", "passphrase", stdin=b"correct horse\n")
    key_file = next(slot for slot in shell.told("vault", "key", "list")["items"] if slot["kind"] == "key_file")
    assert shell.told("vault", "key", "remove", key_file["id"])["items"][0]["kind"] == "passphrase"
    assert shell("vault", "lock").text == "Locked.\n"
    shell.refused("show", memory_id, code="vault_locked", exit_code=3)
    shell.refused("export", str(tmp_home / "memories.jsonl"), code="vault_locked", exit_code=3)
    assert shell("token", "revoke", shell.told("token", "create", "--kind", "integration", "--name", "ci")["id"]).code == 0
    assert [path.name for path in tmp_home.iterdir()] == ["home"]
    shell.refused("vault", "unlock", code="vault_locked", exit_code=3, stdin=b"wrong\n")
    shell.refused("vault", "unlock", code="invalid_input", stdin=b"\n")
    assert shell("vault", "unlock", stdin=b"correct horse\n").text == "Open.\n"
    assert shell("show", memory_id).text == "text"


def test_a_passphrase_from_the_environment_is_taken_before_anybody_is_asked(shell: Shell) -> None:
    shell("vault", "key", "add", "passphrase", stdin=b"correct horse\n")
    shell("vault", "lock")
    shell.environ["PERDURE_PASSPHRASE"] = "correct horse"
    assert shell.told("vault", "unlock") == {"state": "open"}


def test_a_recovery_key_is_shown_once_and_opens_the_vault(shell: Shell) -> None:
    ran = shell("vault", "key", "add", "recovery")
    assert "this once" in ran.err
    shell("vault", "lock")
    assert shell("vault", "unlock", stdin=ran.out).code == 0


def test_a_key_of_an_unknown_kind_and_the_last_key_are_refused(shell: Shell) -> None:
    assert shell("vault", "key", "add", "magic").code == 2
    slots = shell.told("vault", "key", "list")["items"]
    assert "key_file" in shell("vault", "key", "list").text
    shell.refused("vault", "key", "remove", slots[0]["id"], code="conflict")
    shell.refused("vault", "key", "remove", "nosuch", code="not_found")


def test_the_beginning_of_an_id_is_enough_where_one_alone_begins_so(shell: Shell) -> None:
    shell("vault", "key", "add", "passphrase", stdin=b"correct horse\n")
    slots = {slot["kind"]: slot["id"] for slot in shell.told("vault", "key", "list")["items"]}
    length = next(n for n in range(1, 37) if slots["key_file"][:n] != slots["passphrase"][:n])
    assert [slot["kind"] for slot in shell.told("vault", "key", "remove", slots["passphrase"][:length])["items"]] == ["key_file"]
    token = shell.told("token", "create", "--kind", "integration", "--name", "ci")["id"]
    shell("token", "create", "--kind", "integration", "--name", "other")
    assert shell("token", "revoke", token[:-1]).text == "Revoked.\n"
    assert "`perdure token list`" in shell.refused("token", "revoke", "", code="not_found")


def test_the_beginning_of_several_ids_is_ambiguous() -> None:
    items = [{"id": "3f2a"}, {"id": "3f2b"}, {"id": "3f"}]
    assert [whole_id(items, given, "key") for given in ("3f2a", "3f", "3F2B")] == ["3f2a", "3f", "3f2b"]
    with pytest.raises(Failure, match="2 keys have an id that begins so; give more of it"):
        whole_id(items, "3f2", "key")


def test_a_backup_is_made_beside_the_work_and_restored_after_a_question(shell: Shell, tmp_home: Path) -> None:
    kept = shell.capture("before")
    folder = tmp_home / "backup"
    assert shell.told("vault", "backup", str(folder)) == {"folder": str(folder)}
    shell.refused("vault", "backup", str(folder), code="conflict")
    lost = shell.capture("after")
    assert shell("vault", "restore", str(folder), stdin=b"n\n").code == 130
    assert shell("show", lost).code == 0
    assert shell("vault", "restore", str(folder), "--yes").code == 0
    assert shell("show", kept).text == "before"
    shell.refused("show", lost, code="item_missing")
    shell.refused("vault", "restore", str(tmp_home / "nosuch"), "--yes", code="vault_missing")


def test_a_new_key_keeps_every_memory_and_the_check_finds_it_whole(shell: Shell) -> None:
    memory_id = shell.capture("text")
    assert shell("vault", "rekey").code == 0
    assert shell("show", memory_id).text == "text"
    assert shell("vault", "check").text == "The vault is whole.\n"
    assert shell.told("vault", "check", "--quick") == {"faults": []}


def test_a_damaged_page_is_found_by_the_check_and_by_the_doctor(
    shell: Shell, tmp_home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for number in range(40):
        shell.capture(f"{number} " + "text " * 2_000)
    shell("vault", "rekey")  # writes every page from the log into the file
    file = tmp_home / "home" / "vault" / "vault.db"
    content = bytearray(file.read_bytes())
    content[len(content) // 2] ^= 1
    file.write_bytes(content)
    ran = shell("vault", "check")
    assert (ran.code, "perdure vault restore FOLDER" in ran.err) == (1, True)
    monkeypatch.setattr(doctor, "prove", lambda _: [])
    told = shell("doctor", "--json")
    assert told.code == 1
    assert "Vault, every page" in [finding["part"] for finding in told.json["findings"] if finding["state"] == "wrong"]


def test_a_copy_for_other_tools_takes_a_passphrase_and_replaces_nothing(shell: Shell, tmp_home: Path) -> None:
    target = tmp_home / "copy.db"
    assert shell("vault", "export-sqlcipher", str(target), stdin=b"other\n").code == 0
    assert not target.read_bytes().startswith(b"SQLite format 3")
    shell.refused("vault", "export-sqlcipher", str(target), code="conflict", stdin=b"other\n")


def test_the_primary_token_is_shown_without_a_daemon_where_there_is_one(shell: Shell, lone_shell: Shell, tmp_home: Path) -> None:
    secret = (tmp_home / "home" / "token").read_text().strip()
    assert shell("token", "show", "primary").text == secret + "\n"
    empty = Shell(tmp_home / "empty")
    assert "perdure serve" in empty.refused("token", "show", "primary", code="unauthorized")


def test_a_token_is_told_once_lets_an_agent_in_and_is_revoked(shell: Shell) -> None:
    created = shell.told("token", "create", "--kind", "integration", "--name", "ci")
    assert "valid" in shell("token", "list").text
    assert created["secret"] not in shell("token", "list").text
    shell.environ["PERDURE_TOKEN"] = created["secret"]
    assert shell("recent").code == 0
    shell.refused("token", "list", code="forbidden")
    shell.environ.clear()
    shell.told("token", "revoke", created["id"])
    shell.environ["PERDURE_TOKEN"] = created["secret"]
    shell.refused("recent", code="unauthorized")


def test_a_token_needs_a_name_and_a_known_kind(shell: Shell) -> None:
    assert shell("token", "create", "--kind", "integration").code == 2
    assert shell("token", "create", "--kind", "king", "--name", "x").code == 2
    shell.refused("token", "create", "--kind", "integration", "--name", " ", code="invalid_input")
    shell.refused("token", "revoke", "nosuch", code="not_found")


def test_a_setting_is_listed_changed_and_put_back(shell: Shell) -> None:
    assert "secrets" in [item["name"] for item in shell.told("settings", "list")["items"]]
    assert "redact" in shell("settings", "list").text
    assert shell("settings", "set", "secrets", "refuse").text == "secrets = refuse\n"
    assert shell("settings", "get", "secrets").text == "refuse\n"
    assert shell("settings", "reset", "secrets").text == "secrets = redact\n"
    assert shell.told("settings", "get", "auto_lock_minutes")["value"] == 0


def test_a_lock_that_cannot_come_by_itself_is_told(shell: Shell) -> None:
    assert "has no effect yet" in shell("settings", "set", "auto_lock_minutes", "10").err
    assert shell.told("settings", "set", "auto_lock_minutes", "10")["notes"]
    assert "never: auto_lock_minutes is 10" in shell("vault", "status").text
    shell("vault", "key", "add", "passphrase", stdin=b"correct horse\n")
    assert shell.told("vault", "status")["auto_locks"] is False
    shell("vault", "key", "remove", next(s["id"] for s in shell.told("vault", "key", "list")["items"] if s["kind"] == "key_file"))
    assert shell("settings", "set", "auto_lock_minutes", "20").err == ""
    assert "locks itself: after 20 idle minutes" in shell("vault", "status").text
    assert shell("settings", "set", "auto_lock_minutes", "0").err == ""


def test_an_unknown_setting_and_a_bad_value_are_refused_with_what_is_allowed(shell: Shell) -> None:
    assert "audit_days" in shell.refused("settings", "get", "nosuch", code="not_found")
    shell.refused("settings", "reset", "nosuch", code="not_found")
    assert "redact, refuse" in shell.refused("settings", "set", "secrets", "maybe", code="invalid_input")
