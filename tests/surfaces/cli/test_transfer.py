"""Export and import: nothing is lost, nothing doubles, a bad record stops no other."""

from __future__ import annotations

import errno
import io
import json
import os
import socket
import stat
import threading
from pathlib import Path
from typing import Any

import pytest

from perdure.surfaces.cli import files
from tests.surfaces.cli.conftest import Shell, serving

ODD = "---\r\nkey: 1\n---\n\n\x00\u2028\U0001f525 Müşteri\n"


def _records(path: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in path.read_bytes().splitlines()]


def _fill(shell: Shell) -> list[str]:
    ids = [
        shell.capture(ODD, "--kind", "decision", "--project", "Shop Ä", "--tag", "auth", "--occurred-at", "2026-08"),
        shell.capture("Tokens", "--project", "Shop Ä", "--tag", "auth", "--tag", "jwt", "--occurred-at", "2026-09-15"),
        shell.capture("No project", "--kind", "todo"),
    ]
    shell("edit", ids[0], "--title", "Better")
    shell("archive", ids[2])
    return ids


@pytest.mark.parametrize("form", ["jsonl", "markdown"])
def test_ie1_an_export_imported_elsewhere_and_exported_again_is_identical(shell: Shell, tmp_home: Path, form: str) -> None:
    _fill(shell)
    first = tmp_home / "first"
    assert shell.told("export", str(first), "--format", form) == {
        "target": str(first), "format": form, "memories": 3, "projects": 1,
    }  # fmt: skip
    with serving(tmp_home / "other") as state:
        other = Shell(tmp_home / "other", state)
        assert other.told("import", str(first)) == {"added": 4, "existing": 0, "with_secrets": 0, "refused": []}
        assert other.told("import", str(first)) == {"added": 0, "existing": 4, "with_secrets": 0, "refused": []}
        other("export", str(tmp_home / "again.jsonl"))
    shell("export", str(tmp_home / "truth.jsonl"))
    assert _records(tmp_home / "again.jsonl") == _records(tmp_home / "truth.jsonl")


@pytest.mark.parametrize("form", ["jsonl", "markdown"])
@pytest.mark.parametrize(
    ("narrow", "count", "projects"),
    [
        (("--tag", "auth"), 2, 1),
        (("--tag", "auth", "--tag", "jwt"), 1, 1),
        (("--project", "shop ä"), 2, 1),
        (("--kind", "todo", "--kind", "decision"), 2, 1),
        (("--from", "2026-08-20", "--to", "2026-09-14"), 1, 1),
        (("--from", "2026-09-15", "--to", "2026-09-15"), 1, 1),
        (("--project", "nosuch"), 0, 0),
    ],
)
def test_ie2_a_filtered_export_comes_back_with_the_same_counts(
    shell: Shell, tmp_home: Path, form: str, narrow: tuple[str, ...], count: int, projects: int
) -> None:
    _fill(shell)
    target = str(tmp_home / "some")
    told = shell.told("export", target, "--format", form, *narrow)
    assert (told["memories"], told["projects"]) == (count, projects)
    with serving(tmp_home / "other") as state:
        assert Shell(tmp_home / "other", state).told("import", target)["added"] == count + projects


def test_an_export_to_standard_output_is_the_records_and_nothing_else(shell: Shell) -> None:
    _fill(shell)
    ran = shell("export", "-")
    assert [json.loads(line)["type"] for line in ran.out.splitlines()] == ["project", "memory", "memory", "memory"]
    assert shell("export", "-", "--json").code == 2
    assert shell("import", "-", stdin=ran.out).text == "0 added, 4 were there already, 0 refused.\n"


def test_an_export_is_private_and_replaces_nothing_unasked(shell: Shell, tmp_home: Path) -> None:
    shell.capture("text")
    target = tmp_home / "memories.jsonl"
    shell("export", str(target))
    assert stat.S_IMODE(target.stat().st_mode) == 0o600
    shell.refused("export", str(target), code="conflict")
    assert shell("export", str(target), "--force").code == 0
    folder = tmp_home / "notes"
    shell("export", str(folder), "--format", "markdown")
    assert stat.S_IMODE(folder.stat().st_mode) == 0o700
    assert [stat.S_IMODE(path.stat().st_mode) for path in folder.rglob("*.md")] == [0o600]
    shell.refused("export", str(folder), "--format", "markdown", code="conflict")
    assert sorted(path.name for path in tmp_home.iterdir()) == ["home", "memories.jsonl", "notes"]


def test_pt4_an_export_never_leaves_its_folder_and_an_import_follows_no_link(shell: Shell, tmp_home: Path) -> None:
    memory = _export_one(shell, tmp_home, "content")
    project = {"perdure": 1, "type": "project", "id": "p", "slug": "../../evil", "name": "x", "created_at": memory["recorded_at"]}
    path = tmp_home / "evil.jsonl"
    path.write_text(json.dumps(project) + "\n")
    shell("import", str(path))
    folder = tmp_home / "deep" / "notes"
    shell("export", str(folder), "--format", "markdown")
    assert [p.relative_to(folder).as_posix() for p in sorted(tmp_home.rglob("project-*"))] == ["evil/project-p.md"]
    outside = tmp_home / "outside.md"
    outside.write_text("---\n---\nsecret")
    os.symlink(outside, folder / "link.md")
    assert shell.told("import", str(folder))["refused"] == []


def test_dl6_bad_lines_are_named_and_the_rest_is_imported(shell: Shell, tmp_home: Path) -> None:
    memory = _export_one(shell, tmp_home, "good")
    forged = {**memory, "id": "forged", "content": "other words"}
    odd = {**memory, "id": "odd", "version": "one"}
    shell("purge", memory["id"], "--confirm", memory["id"])
    renamed = _export_one(shell, tmp_home, "good too")
    path = tmp_home / "bad.jsonl"
    texts = [json.dumps(renamed), "{half", json.dumps(forged), "", "[]", json.dumps(odd), json.dumps(memory)]
    path.write_text("\ufeff" + "\n".join(texts))
    ran = shell("import", str(path), "--json")
    assert ran.code == 1
    assert (ran.json["added"], ran.json["existing"]) == (0, 1)
    assert [refused["at"] for refused in ran.json["refused"]] == ["line 2", "line 3", "line 5", "line 6", "line 7"]
    assert "line 3: " in shell("import", str(path)).err


def test_a_bad_markdown_file_is_named_by_its_path(shell: Shell, tmp_home: Path) -> None:
    shell.capture("good")
    folder = tmp_home / "notes"
    shell("export", str(folder), "--format", "markdown")
    (folder / "readme.md").write_text("# Notes")
    (folder / "latin.md").write_bytes(b"---\n\xff")
    ran = shell("import", str(folder), "--json")
    assert ran.code == 1
    assert [refused["at"] for refused in ran.json["refused"]] == ["latin.md", "readme.md"]
    single = next(folder.rglob("note-*.md"))
    assert shell.told("import", str(single))["existing"] == 1


def test_a_dry_run_tells_what_would_happen_and_stores_nothing(shell: Shell, tmp_home: Path) -> None:
    _fill(shell)
    path = tmp_home / "some.jsonl"
    shell("export", str(path))
    path.write_bytes(path.read_bytes() + b"{half\n")
    with serving(tmp_home / "other") as state:
        other = Shell(tmp_home / "other", state)
        ran = other("import", str(path), "--dry-run", "--json")
        assert ran.code == 1
        assert ran.json["records"] == {"project": 1, "decision": 1, "note": 1, "todo": 1}
        assert ran.json["refused"] == [{"at": "line 5", "why": "is no JSON"}]
        assert other.told("recent", "--archived")["total"] == 0


def test_se3_an_import_says_how_many_records_hold_secrets_and_nothing_shows_them(
    shell: Shell, tmp_home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with monkeypatch.context() as patch:
        patch.setattr("perdure.services.memories.checking.redact", lambda text: (text, ()))
        memory_id = shell.capture("deploy, password = hunter2zebra9")
    shell.capture("harmless")
    path = tmp_home / "all.jsonl"
    shell("export", str(path))
    assert b"hunter2zebra9" in path.read_bytes()
    with serving(tmp_home / "other") as state:
        other = Shell(tmp_home / "other", state)
        assert other.told("import", str(path), "--dry-run")["with_secrets"] == 1
        assert "1 record holds what looks like a secret" in other("import", str(path)).err
        for argv in (
            ("show", memory_id),
            ("show", memory_id, "--json"),
            ("recent",),
            ("search", "deploy"),
            ("context", "deploy"),
        ):
            ran = other(*argv)
            assert ran.code == 0
            assert "hunter2" not in ran.text + ran.err, argv
        other("export", str(tmp_home / "again.jsonl"))
    assert _records(tmp_home / "again.jsonl") == _records(path)


def test_a_source_that_is_not_there_is_a_usage_error(shell: Shell) -> None:
    assert shell("import", "/nosuch/file").code == 2


class _FullDisk(io.FileIO):
    def write(self, _: Any) -> int:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))


@pytest.mark.parametrize("form", ["jsonl", "markdown"])
def test_an_export_on_a_full_disk_names_the_file_and_leaves_none(
    shell: Shell, tmp_home: Path, monkeypatch: pytest.MonkeyPatch, form: str
) -> None:
    shell.capture("text")
    monkeypatch.setattr(files, "open", lambda fd, _: io.BufferedWriter(_FullDisk(fd, "wb")), raising=False)
    target = tmp_home / "out" / "memories"
    target.parent.mkdir()
    message = shell.refused("export", str(target), "--format", form, code="disk_full")
    assert str(target) in message
    assert "the disk is full" in message
    assert [path for path in target.parent.rglob("*") if path.is_file()] == []


def test_a_file_that_is_none_is_named_and_stops_no_import(shell: Shell, tmp_home: Path) -> None:
    shell.capture("good")
    folder = tmp_home / "notes"
    shell("export", str(folder), "--format", "markdown")
    os.mkfifo(folder / "pipe.md")
    with socket.socket(socket.AF_UNIX) as listener:
        listener.bind(os.path.relpath(folder / "socket.md"))
    for extra in ((), ("--dry-run",)):
        ran = shell("import", str(folder), "--json", *extra)
        assert ran.code == 1
        assert [refused["at"] for refused in ran.json["refused"]] == ["pipe.md", "socket.md"]
        assert {refused["why"] for refused in ran.json["refused"]} == {"is no regular file and was not read"}


def test_a_pipe_that_is_named_is_read_whole(shell: Shell, tmp_home: Path) -> None:
    shell.capture("good")
    shell("export", str(tmp_home / "all.jsonl"))
    pipe = tmp_home / "pipe"
    os.mkfifo(pipe)
    writer = threading.Thread(target=lambda: pipe.write_bytes((tmp_home / "all.jsonl").read_bytes()))
    writer.start()
    assert shell.told("import", str(pipe))["existing"] == 1
    writer.join()


def _export_one(shell: Shell, folder: Path, content: str) -> dict[str, Any]:
    shell.capture(content)
    path = folder / "one.jsonl"
    shell("export", str(path), "--force")
    return next(record for record in _records(path) if record.get("content") == content)
