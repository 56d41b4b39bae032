"""Which records of an export are meant; the projects of those that remain go with them."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from perdure.domain.instants import Period, parse_period


@dataclass(frozen=True, slots=True, kw_only=True)
class Narrow:
    """What is None or empty narrows nothing. `kinds`: any of them; `tags`: all of them."""

    project: str | None = None
    kinds: tuple[str, ...] = ()
    tags: tuple[str, ...] = ()
    since: Period | None = None
    until: Period | None = None

    @classmethod
    def of(cls, *, project: str | None, kind: tuple[str, ...], tag: tuple[str, ...], **dates: str | None) -> Narrow:
        """From the options of the command line. Raises InvalidInput for a date that is none."""
        since, until = dates.get("from"), dates.get("to")
        return cls(
            project=project,
            kinds=kind,
            tags=tag,
            since=parse_period(since, "from") if since else None,
            until=parse_period(until, "to") if until else None,
        )

    def takes(self, memory: Mapping[str, Any]) -> bool:
        return (
            (self.project is None or self._is_in_project(memory))
            and (not self.kinds or memory["kind"] in self.kinds)
            and set(self.tags) <= set(memory.get("tags", ()))
            and self._happened(parse_period(memory["occurred_at"]))
        )

    def _is_in_project(self, memory: Mapping[str, Any]) -> bool:
        names = (memory.get("project_id"), memory.get("project_slug"), memory.get("project_name"))
        return str(self.project).casefold() in [str(name).casefold() for name in names if name]

    def _happened(self, occurred: Period) -> bool:
        """The periods overlap; an end that is an instant is not included, as in every other filter."""
        after = self.since is None or occurred.end > self.since.start or occurred.start >= self.since.start
        return after and (self.until is None or occurred.start < self.until.end)


def narrowed(records: Iterable[dict[str, Any]], narrow: Narrow) -> Iterator[dict[str, Any]]:
    """The records meant, each project just before its first memory; all of them, in their order, where nothing is narrowed."""
    if narrow == Narrow():
        yield from records
        return
    projects: dict[str, dict[str, Any]] = {}
    for record in records:
        if record["type"] == "project":
            projects[record["id"]] = record
        elif narrow.takes(record):
            project = projects.pop(record.get("project_id", ""), None)
            if project is not None:
                yield project
            yield record
