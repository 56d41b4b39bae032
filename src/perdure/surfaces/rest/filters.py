"""Which memories a list, a search or a bulk change means: the same names as a query and as a body."""

from __future__ import annotations

from typing import Annotated

from pydantic import Field

from perdure.domain.instants import parse_period
from perdure.domain.kinds import Kind
from perdure.domain.memory import MAX_FILES, MAX_TAGS, ReviewState
from perdure.domain.retrieval import Filter
from perdure.surfaces.rest.endpoint import Call, Given

Text = Annotated[str, Field(min_length=1, max_length=1024)]
AKind = Annotated[Kind, Field(strict=False)]
AReview = Annotated[ReviewState, Field(strict=False)]
Limit = Annotated[int, Field(ge=1, le=100)]
MaxChars = Annotated[int, Field(ge=0, le=20_000, description="Each content is cut to so many characters.")]


class FilterGiven(Given):
    project: Text | None = Field(None, description="A project's id, slug or name.")
    kind: list[AKind] = Field([], max_length=len(Kind), description="Any of these stored kinds.")
    tag: list[Text] = Field([], max_length=MAX_TAGS, description="All of these tags.")
    file: list[Text] = Field([], max_length=MAX_FILES, description="Any of these paths.")
    agent: Text | None = None
    session_id: Text | None = None
    source: Text | None = None
    channel: Text | None = None
    review: list[AReview] = Field([], max_length=len(ReviewState), description="Any of these review states.")
    since: Text | None = Field(None, alias="from", description="Happened then or later: a time, a day or a month.")
    until: Text | None = Field(None, alias="to", description="Happened before then; a day or month counts whole.")


class ListGiven(FilterGiven):
    archived: bool = Field(False, description="Archived and superseded ones too.")
    limit: Limit = 20
    offset: Annotated[int, Field(ge=0, le=10_000_000)] = 0
    max_chars: MaxChars = 2000


class SearchGiven(FilterGiven):
    query: Annotated[str, Field(max_length=100_000)]
    limit: Limit = 10
    max_chars: MaxChars = 2000


async def where(call: Call, given: FilterGiven, *, archived: bool = False) -> Filter:
    """The filter in the caller's spaces. Raises ProjectMissing, InvalidInput for a time that is none."""
    project = await call.app.scopes.require_project(call.caller, given.project) if given.project else None
    return Filter(
        spaces=call.caller.spaces,
        kinds=tuple(given.kind),
        project_id=project.id if project else None,
        session_id=given.session_id,
        agent=given.agent,
        source=given.source,
        channel=given.channel,
        tags=tuple(given.tag),
        files=tuple(given.file),
        reviews=tuple(given.review),
        occurred_from=parse_period(given.since, "from").start if given.since else None,
        occurred_to=parse_period(given.until, "to").end if given.until else None,
        archived=archived,
    )
