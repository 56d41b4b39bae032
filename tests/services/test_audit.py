from __future__ import annotations

from perdure.app import App
from perdure.domain.access import Caller
from perdure.domain.records import AuditEntry
from tests.services.conftest import Play


def entry(tool: str, status: str = "ok", duration_ms: float = 10.0) -> AuditEntry:
    return AuditEntry(
        tool_name=tool,
        agent="cursor",
        session_id="s",
        input_summary="content:5 chars",
        output_status=status,
        duration_ms=duration_ms,
        tokens=3,
    )


def test_metrics_count_every_call_recorded_before_they_are_read(play: Play) -> None:
    async def scenario(app: App, me: Caller) -> None:
        for status, duration_ms in (("ok", 10.0), ("ok", 20.0), ("invalid_input", 30.0)):
            app.audit.record(entry("search", status, duration_ms))
        app.audit.record(entry("recent"))
        search, recent = await app.audit.metrics()
        assert (search.tool_name, search.total_calls, search.successful_calls) == ("search", 3, 2)
        assert (round(search.error_rate, 3), search.avg_duration_ms, search.total_tokens) == (0.333, 20.0, 9)
        assert (recent.tool_name, recent.total_calls, recent.error_rate) == ("recent", 1, 0.0)

    play(scenario)


def test_recent_entries_come_newest_first_with_increasing_times(play: Play) -> None:
    async def scenario(app: App, me: Caller) -> None:
        for tool in ("a", "b", "c"):
            app.audit.record(entry(tool))
        found = await app.audit.recent(2)
        assert [one.tool_name for one, _ in found] == ["c", "b"]
        assert found[0][1] > found[1][1]

    play(scenario)


def test_only_entries_older_than_the_days_named_are_pruned(play: Play) -> None:
    async def scenario(app: App, me: Caller) -> None:
        app.audit.record(entry("a"))
        assert await app.audit.prune(1) == 0
        assert await app.audit.prune(-1) == 1
        assert await app.audit.recent(9) == []

    play(scenario)


def test_a_call_while_the_vault_is_locked_is_not_recorded_and_harms_nothing(play: Play) -> None:
    async def scenario(app: App, me: Caller) -> None:
        await app.vault.close()
        app.audit.record(entry("a"))
        await app.vault.unlock()
        assert await app.audit.recent(9) == []

    play(scenario)
