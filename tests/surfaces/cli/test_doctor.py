"""`perdure doctor` finds what is wrong with a home and says how to mend it."""

from __future__ import annotations

import importlib.metadata
import os
import socket
import sys
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from perdure.surfaces.cli import diagnosis, doctor, proof
from perdure.surfaces.cli.failure import Failure
from tests.surfaces.cli.conftest import Ran, Shell


def _wrong(ran: Ran) -> dict[str, str]:
    """What is wrong, with how to mend it."""
    return {finding["what"]: finding["mend"] for finding in ran.json["findings"] if finding["state"] == "wrong"}


def test_a_home_that_is_well_is_told_so_with_what_its_keys_do_not_protect(shell: Shell) -> None:
    ran = shell("doctor", "--quick")
    assert ran.code == 0, ran.text
    assert "All is well." in ran.text
    assert "the key lies beside the vault" in ran.text
    told = shell("doctor", "--quick", "--json").json
    assert told["well"] is True
    assert {"part", "state", "what", "mend"} == set(told["findings"][0])


def test_dl11_the_data_lies_outside_the_program_and_its_path_is_told(shell: Shell, tmp_home: Path) -> None:
    assert f"everything lies in {tmp_home / 'home'}" in shell("doctor", "--quick").text
    inside = Shell(Path(sys.prefix) / "memories")
    ran = inside("doctor", "--quick", "--json")
    assert ran.code == 1
    assert any("inside the installed program" in what and "--home" in mend for what, mend in _wrong(ran).items())


def test_an_empty_home_is_no_fault_and_stays_empty(lone_shell: Shell, tmp_home: Path) -> None:
    ran = lone_shell("doctor", "--quick")
    assert ran.code == 0, ran.text
    assert "there is none yet" in ran.text
    assert list(tmp_home.iterdir()) == []


def test_files_that_others_can_read_are_named_with_the_command_that_mends_them(shell: Shell, tmp_home: Path) -> None:
    token = tmp_home / "home" / "token"
    token.chmod(0o644)
    ran = shell("doctor", "--quick", "--json")
    assert ran.code == 1
    assert _wrong(ran) == {f"{token} can be read by others": f"chmod go= {token}"}


def test_a_plain_vault_and_missing_files_are_wrong(shell: Shell, tmp_home: Path) -> None:
    home = tmp_home / "home"
    copy = tmp_home / "copy"
    shell("vault", "backup", str(copy / "vault"))
    lone = Shell(copy)
    (copy / "vault" / "vault.db").write_bytes(b"SQLite format 3\0")
    wrong = _wrong(lone("doctor", "--quick", "--json"))
    assert any("is not encrypted" in what for what in wrong)
    assert any("token is missing" in what for what in wrong)
    (copy / "vault" / "vault.db").unlink()
    assert any("vault.db is missing" in what for what in _wrong(lone("doctor", "--quick", "--json")))
    assert (home / "vault" / "vault.db").exists()


def test_what_cannot_be_written_is_wrong(shell: Shell, tmp_home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    shut = {tmp_home / "home" / "vault", tmp_home / "home" / "logs", tmp_home / "home" / "run"}
    for folder in shut:
        folder.mkdir(mode=0o700, exist_ok=True)
    monkeypatch.setattr(os, "access", lambda path, mode: path not in shut)  # the superuser may write everywhere
    wrong = _wrong(shell("doctor", "--quick", "--json"))
    assert {f"{folder} cannot be written" for folder in shut} == set(wrong)
    assert all("chmod" in mend for mend in wrong.values())


def test_a_missing_key_file_is_wrong(shell: Shell, tmp_home: Path) -> None:
    (tmp_home / "home" / "vault.key").unlink()
    wrong = _wrong(shell("doctor", "--quick", "--json"))
    assert [what for what in wrong if "vault.key is missing" in what]
    assert "perdure vault unlock" in next(iter(wrong.values()))


def test_a_key_file_of_another_vault_is_wrong(shell: Shell, tmp_home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(doctor, "prove", lambda _: [])
    shell("vault", "key", "add", "recovery")
    assert shell("doctor").code == 0
    shell("vault", "lock")
    (tmp_home / "home" / "vault.key").write_bytes(bytes(range(32)))
    assert any("its own key does not open it" in what for what in _wrong(shell("doctor", "--json")))


def test_a_vault_that_a_person_must_open_is_told_as_unread(shell: Shell, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(doctor, "prove", lambda _: [])
    shell("vault", "key", "add", "passphrase", stdin=b"correct horse\n")
    shell("vault", "key", "remove", next(s["id"] for s in shell.told("vault", "key", "list")["items"] if s["kind"] == "key_file"))
    assert "was read and is sound" in shell("doctor").text
    shell("vault", "lock")
    ran = shell("doctor")
    assert (ran.code, "was not read, because it is locked" in ran.text) == (0, True)


def test_the_plain_driver_beside_the_encrypting_one_is_wrong(lone_shell: Shell, monkeypatch: pytest.MonkeyPatch) -> None:
    installed = list(importlib.metadata.distributions())
    plain = SimpleNamespace(metadata={"Name": "apsw"})
    monkeypatch.setattr(importlib.metadata, "distributions", lambda: [*installed, plain])
    assert any("plain apsw" in what for what in _wrong(lone_shell("doctor", "--quick", "--json")))
    monkeypatch.setattr(importlib.metadata, "distributions", lambda: [])
    assert any("not installed" in what for what in _wrong(lone_shell("doctor", "--quick", "--json")))


def test_a_port_that_another_program_holds_and_a_full_disk_are_told(lone_shell: Shell, monkeypatch: pytest.MonkeyPatch) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        lone_shell.environ["PERDURE_PORT"] = str(taken.getsockname()[1])
        assert "another program holds port" in lone_shell("doctor", "--quick").text
    monkeypatch.setattr(diagnosis, "ALMOST_NONE_BYTES", 1 << 60)
    assert any("GB free" in what for what in _wrong(lone_shell("doctor", "--quick", "--json")))


def test_a_loop_that_does_not_hold_is_told_by_its_step(shell: Shell, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*_: Any) -> Any:
        raise Failure("internal", "no daemon today")

    monkeypatch.setattr(proof, "reach", refuse)
    ran = shell("doctor", "--json")
    assert ran.code == 1
    assert any("'start' failed: no daemon today" in what for what in _wrong(ran))
