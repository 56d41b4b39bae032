"""What is checked and cleaned before anything is stored: limits, kinds that need more, secrets."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterable

from perdure.domain.handoff import Handoff, Verification
from perdure.domain.kinds import Kind
from perdure.domain.memory import MAX_LABEL_CHARS, MAX_NOTE_CHARS, MAX_TITLE_CHARS, Changes, Draft, clean_files, clean_tags
from perdure.domain.secrets import redact
from perdure.errors import InvalidInput


def check_draft(draft: Draft) -> Draft:
    """The draft with its lists cleaned. Raises InvalidInput, naming the argument, for what may not be stored."""
    _check_text(draft.content, "content")
    if len(draft.title) > MAX_TITLE_CHARS:
        raise InvalidInput(f"title: may have {MAX_TITLE_CHARS} characters, has {len(draft.title)}", argument="title")
    if draft.kind is Kind.HANDOFF:
        needed = {"handoff": draft.handoff, "project": draft.project, "session_id": draft.session_id}
        missing = [argument for argument, value in needed.items() if not value]
        if missing:
            verb = "is" if len(missing) == 1 else "are"
            raise InvalidInput(f"{', '.join(missing)}: {verb} required when thought_type is handoff", argument=missing[0])
    elif draft.handoff is not None:
        raise InvalidInput("handoff: goes with thought_type handoff only", argument="handoff")
    for argument in ("agent", "session_id", "channel", "language", "source"):
        value = getattr(draft, argument)
        if value is not None and not 0 < len(value) <= MAX_LABEL_CHARS:
            raise InvalidInput(f"{argument}: must have 1 to {MAX_LABEL_CHARS} characters", argument=argument)
    return dataclasses.replace(draft, tags=clean_tags(draft.tags), files=clean_files(draft.files))


def _check_text(text: str, argument: str) -> None:
    if not text.strip():
        raise InvalidInput(f"{argument}: must hold text, is blank", argument=argument)
    try:
        text.encode()
    except UnicodeEncodeError as error:
        raise InvalidInput(f"{argument}: holds half a surrogate pair, which is no text", argument=argument) from error


def redact_draft(draft: Draft, *, refuse: bool) -> tuple[Draft, tuple[str, ...]]:
    """The draft without secrets, and the kinds of those found; nothing of it was stored, indexed or logged before.

    Raises InvalidInput when a secret is found and the setting says refuse.
    """
    masked = _Masked()
    clean = dataclasses.replace(
        draft,
        content=masked.text(draft.content),
        title=masked.text(draft.title),
        project=masked.optional(draft.project),
        agent=masked.optional(draft.agent),
        session_id=masked.optional(draft.session_id),
        channel=masked.optional(draft.channel),
        language=masked.optional(draft.language),
        tags=masked.each(draft.tags),
        files=masked.each(draft.files),
        handoff=None if draft.handoff is None else _redact_handoff(draft.handoff, masked),
    )
    _refuse(masked.kinds(), refuse)
    return clean, masked.kinds()


def redact_changes(changes: Changes, *, refuse: bool) -> Changes:
    """Like redact_draft, for a revision."""
    if changes.content is not None:
        _check_text(changes.content, "content")
    if changes.title is not None and len(changes.title) > MAX_TITLE_CHARS:
        raise InvalidInput(f"title: may have {MAX_TITLE_CHARS} characters, has {len(changes.title)}", argument="title")
    masked = _Masked()
    clean = dataclasses.replace(
        changes,
        content=masked.optional(changes.content),
        title=masked.optional(changes.title),
        tags=None if changes.tags is None else masked.each(changes.tags),
        files=None if changes.files is None else masked.each(changes.files),
    )
    _refuse(masked.kinds(), refuse)
    return clean


def redact_note(note: str, *, refuse: bool) -> str:
    """A remark about a memory without secrets. Raises InvalidInput over 2,000 characters, or where secrets are refused."""
    if len(note) > MAX_NOTE_CHARS:
        raise InvalidInput(f"note: may have {MAX_NOTE_CHARS} characters, has {len(note)}", argument="note")
    clean, found = redact(note)
    _refuse(found, refuse)
    return clean


def _redact_handoff(handoff: Handoff, masked: _Masked) -> Handoff:
    return Handoff(
        completed=masked.each(handoff.completed),
        verification=tuple(
            Verification(check=masked.text(v.check), status=v.status, details=masked.optional(v.details))
            for v in handoff.verification
        ),
        blockers=masked.each(handoff.blockers),
        next_action=masked.text(handoff.next_action),
    )


class _Masked:
    """Replaces secrets in one text after another and gathers the kinds found."""

    def __init__(self) -> None:
        self._kinds: dict[str, None] = {}

    def text(self, text: str) -> str:
        clean, found = redact(text)
        self._kinds.update(dict.fromkeys(found))
        return clean

    def optional(self, text: str | None) -> str | None:
        return None if text is None else self.text(text)

    def each(self, texts: Iterable[str]) -> tuple[str, ...]:
        return tuple(self.text(text) for text in texts)

    def kinds(self) -> tuple[str, ...]:
        return tuple(self._kinds)


def _refuse(found: tuple[str, ...], refuse: bool) -> None:
    if found and refuse:
        raise InvalidInput(
            f"content: holds what looks like a secret ({', '.join(found)}); take it out, or allow masking with "
            "`perdure settings set secrets redact`",
            argument="content",
        )
