"""Remembering, finding and changing from the command line."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.surfaces.cli.conftest import Shell

ODD = "a\r\n---\n\tb \u202e\x1b[31m\U0001f525 漢\n\n"


def test_a_capture_answers_the_id_and_shows_what_was_given(shell: Shell) -> None:
    ran = shell("capture", "We chose RS256", "--kind", "decision", "--project", "shop", "--tag", "auth", "--tag", "jwt")
    assert ran.code == 0
    memory = shell.told("show", ran.text.strip())
    assert (memory["kind"], memory["project_slug"], memory["tags"]) == ("decision", "shop", ["auth", "jwt"])


def test_content_from_a_pipe_comes_back_to_the_byte(shell: Shell) -> None:
    assert shell("show", shell.capture(ODD)).out == ODD.encode()


def test_on_a_terminal_control_characters_are_visible_and_drive_nothing(shell: Shell) -> None:
    ran = shell("show", shell.capture(ODD), terminal=True)
    assert "\x1b" not in ran.text
    assert "\u202e" not in ran.text
    assert "\\u001b[31m" in ran.text
    assert ran.text.endswith("\n")


def test_en2_text_of_any_script_is_captured_found_and_shown(shell: Shell) -> None:
    memory_id = shell.capture("Ödeme ekibi Çarşamba günü toplanıyor", "--title", "Müşteri notları", "--project", "Müşteri")
    assert shell("show", memory_id).text == "Ödeme ekibi Çarşamba günü toplanıyor"
    assert memory_id in shell("search", "müşteri").text
    assert "Müşteri notları" in shell("recent").text


def test_every_flag_of_a_capture_is_stored(shell: Shell, tmp_home: Path) -> None:
    handoff = tmp_home / "handoff.json"
    handoff.write_text('{"next_action": "Rotate the keys", "completed": ["Read the code"]}')
    memory_id = shell.capture(
        "Stopping here", "--type", "handoff", "--project", "shop", "--session", "s1", "--agent", "me", "--file", "src/auth.js",
        "--language", "en", "--confidence", "high", "--occurred-at", "2026-08", "--expires", "90d", "--channel", "team",
        "--handoff", str(handoff), "--privacy", "team", "--title", "Auth",
    )  # fmt: skip
    memory = shell.told("show", memory_id)
    assert memory["handoff"]["next_action"] == "Rotate the keys"
    assert (memory["occurred_at"], memory["confidence"], memory["privacy"]) == ("2026-08", 0.9, "team")
    assert (memory["agent"], memory["session_id"], memory["channel"], memory["language"]) == ("me", "s1", "team", "en")
    assert (memory["title"], memory["files"], memory["expires_at"] is None) == ("Auth", ["src/auth.js"], False)


def test_a_capture_tells_of_redaction_and_of_a_retry(shell: Shell) -> None:
    secret = "the key is AKIA" + "Q3EGRZ7WJ5KX2MND"
    first = shell("capture", secret)
    assert "Redacted" in first.err
    again = shell("capture", secret)
    assert (again.text, "same memory" in again.err) == (first.text, True)


def test_a_blank_capture_and_a_bad_handoff_are_refused(shell: Shell, tmp_home: Path) -> None:
    assert "content" in shell.refused("capture", " ", code="invalid_input")
    bad = tmp_home / "bad.json"
    bad.write_text("{")
    assert "is not JSON" in shell.refused("capture", "x", "--handoff", str(bad), code="invalid_input")
    assert "not UTF-8" in shell.refused("capture", "-", code="invalid_input", stdin=b"\xff")
    assert shell("capture", stdin_terminal=True).code == 2


def test_ingest_reads_the_template_and_keeps_an_unknown_one_as_text(shell: Shell) -> None:
    shell("ingest", "/decision: prices are kept in cents", "--project", "shop")
    assert [m["kind"] for m in shell.told("recent")["items"]] == ["decision"]
    assert "is no template" in shell("ingest", "/nosuch: text").err
    assert "content" in shell.refused("ingest", "", code="invalid_input")


def test_ingest_answers_like_capture(shell: Shell) -> None:
    text = "the key is AKIA" + "Q3EGRZ7WJ5KX2MND"
    captured, ingested = shell.told("capture", text), shell.told("ingest", text)
    assert ingested == {**captured, "existing": True}
    ran = shell("ingest", text)
    assert ran.text == f"{captured['id']}\n"
    assert len(ran.err.splitlines()) == 2


def test_a_capture_names_the_command_line_as_its_client(shell: Shell) -> None:
    assert shell.told("show", shell.capture("text"))["client"] == "perdure-cli"


def test_a_text_that_begins_with_a_dash_is_told_where_it_goes(shell: Shell) -> None:
    for words in (("capture", "- dash"), ("search", "-x"), ("context", "--x"), ("ingest", "-y")):
        ran = shell(*words)
        assert (ran.code, f"perdure {words[0]} -- " in ran.err) == (2, True)
    assert "stands after `--`" in shell.refused("capture", "- dash", code="usage", exit_code=2)
    assert shell("show", shell("capture", "--", "- dash").text.strip()).text == "- dash"
    assert "stands after" not in shell("recent", "-x").err


def test_errors_name_options_and_commands(shell: Shell) -> None:
    assert shell.refused("capture", "x", "--type", "handoff", code="invalid_input") == (
        "--handoff, --project, --session: are required when --type is handoff"
    )
    assert "--session: must have" in shell.refused("capture", "x", "--session", "s" * 201, code="invalid_input")
    assert "--file: each path" in shell.refused("capture", "x", "--file", "f" * 1025, code="invalid_input")
    assert "--expires: " in shell.refused("capture", "x", "--expires", "never", code="invalid_input")
    assert "`perdure projects` lists them" in shell.refused("search", "x", "--project", "nosuch", code="project_missing")
    assert "--superseded-by: " in shell.refused("review", shell.capture("x"), "superseded", code="invalid_input")


def test_the_brief_names_commands_and_leaves_what_is_remembered(shell: Shell) -> None:
    shell.capture("thought_type and cortexa_search are words of the tools")
    brief = shell("context", "tools", "words", "--project", "nosuch").text
    assert "thought_type and cortexa_search are words" in brief
    assert "`perdure show ID` gives the whole" in brief
    assert "`perdure projects` lists them" in brief


def test_an_empty_query_finds_nothing_and_is_no_error(shell: Shell) -> None:
    shell.capture("text")
    ran = shell("search", "")
    assert (ran.code, ran.out, ran.err) == (0, b"", "No memory matches the query.\n")
    assert shell.told("search", "")["hits"] == []
    assert "No relevant memories" in shell("context", "").text


def test_a_search_tells_score_and_reason_and_explains_on_demand(shell: Shell) -> None:
    memory_id = shell.capture("The refresh token rotates", "--kind", "decision", "--project", "shop")
    shell.capture("Nothing of the kind")
    heading, row = shell("search", "refresh", "token", "--kind", "decision", "--explain").text.splitlines()
    assert heading.split()[:2] == ["score", "kind"]
    assert memory_id in row
    assert "keyword" in row
    assert "relevance 1.000" in row
    hit = shell.told("search", "refresh", "--project", "shop")["hits"][0]
    assert {"memory", "score", "parts", "why"} <= set(hit)
    nothing = shell("search", "zebra")
    assert (nothing.code, nothing.out, nothing.err) == (0, b"", "No memory matches the query.\n")
    shell.refused("search", "x", "--project", "nosuch", code="project_missing")


def test_context_shows_the_brief_of_the_tool(shell: Shell) -> None:
    shell.capture("Tokens are RS256", "--kind", "decision", "--project", "shop", "--file", "src/auth.js")
    ran = shell("context", "rotate", "the", "tokens", "--project", "shop", "--file", "src/auth.js", "--limit", "5")
    assert "Tokens are RS256" in ran.text
    told = shell.told("context", "tokens")
    assert "Tokens are RS256" in told["text"]
    assert told["results"][0]["project"] == "shop"
    assert shell("context").code == 2


def test_recent_is_newest_first_narrowed_and_says_how_to_go_on(shell: Shell) -> None:
    ids = [shell.capture(f"text {n}", "--tag", "odd" if n % 2 else "even") for n in range(4)]
    assert [m["id"] for m in shell.told("recent")["items"]] == ids[::-1]
    assert [m["id"] for m in shell.told("recent", "--tag", "odd")["items"]] == [ids[3], ids[1]]
    page = shell("recent", "--limit", "3")
    assert len(page.text.splitlines()) == 4
    assert "3 of 4 shown; --offset 3" in page.err
    shell.refused("recent", "--from", "yesterday", code="invalid_input")


def test_an_edit_makes_a_version_and_refuses_a_stale_one(shell: Shell) -> None:
    memory_id = shell.capture("HS256")
    assert shell("edit", memory_id, "--content", "-", "--tag", "jwt", stdin=b"RS256\n").text == "Version 2.\n"
    assert shell("show", memory_id).text == "RS256\n"
    assert [v["content"] for v in shell.told("versions", memory_id)["items"]] == ["HS256", "RS256\n"]
    shell("edit", memory_id, "--title", "How tokens are signed")
    assert [line.split()[-1] for line in shell("versions", memory_id).text.splitlines()] == ["text", "HS256", "RS256", "RS256"]
    shell.refused("edit", memory_id, "--title", "x", "--expected-version", "1", code="conflict")
    assert shell("edit", memory_id).code == 2
    shell.refused("versions", "nosuch", code="item_missing")


def test_review_archive_and_restore_change_what_is_found(shell: Shell) -> None:
    old, new = shell.capture("the cache is on"), shell.capture("the cache is off")
    assert shell("review", new, "reviewed", "--note", "measured").code == 0
    assert shell.told("review", old, "superseded", "--superseded-by", new)["superseded_by"] == new
    assert [hit["memory"]["id"] for hit in shell.told("search", "cache")["hits"]] == [new]
    assert shell("archive", new).code == 0
    assert shell.told("search", "cache")["hits"] == []
    assert shell("restore", new).text == "Restored.\n"
    assert shell.told("show", new)["archived_at"] is None
    shell.refused("review", old, "superseded", code="invalid_input")
    assert shell.refused("review", new, "superseded", "--superseded-by", new, code="invalid_input") == (
        "--superseded-by: a memory cannot supersede itself"
    )
    assert shell("review", old, "wonderful").code == 2
    shell.refused("archive", "nosuch", code="item_missing")
    shell.refused("restore", "nosuch", code="item_missing")


def test_a_purge_asks_twice_and_erases_for_ever(shell: Shell) -> None:
    memory_id = shell.capture("never again")
    asked = shell("purge", memory_id, stdin=b"n\n")
    assert (asked.code, "this note and its one version for ever" in asked.err) == (130, True)
    assert shell("purge", memory_id, stdin=b"y\nwrong\n").code == 1
    assert shell("show", memory_id).code == 0
    assert shell("purge", memory_id, stdin=f"y\n{memory_id}\n".encode()).text.endswith("Erased.\n")
    shell.refused("show", memory_id, code="item_missing")
    other = shell.capture("nor this")
    shell.refused("purge", other, "--confirm", "wrong", code="refused")
    assert shell.told("purge", other, "--confirm", other) == {"purged": other}


def test_projects_are_listed_with_their_counts(shell: Shell) -> None:
    assert shell("projects").err == "No projects; a capture with --project makes one.\n"
    shell.capture("a", "--project", "Shop Front")
    assert shell("projects").text.splitlines()[1].split()[:4] == ["Shop", "Front", "shop-front", "1"]
    assert shell.told("projects")["items"][0]["memories"] == 1


@pytest.mark.parametrize("memory_id", ["nosuch", "../../vault", "a/b?c", ""])
def test_pt1_an_id_is_never_a_path(shell: Shell, memory_id: str) -> None:
    ran = shell("show", memory_id, "--json")
    assert ran.code == 1
    assert json.loads(ran.err)["error"]["code"] in ("item_missing", "not_found")
