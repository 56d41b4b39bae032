"""One bridge's MCP connection: lines in, lines out, and the SDK's server between."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import AsyncIterator
from typing import Any

import anyio
import mcp_types as types
from anyio.streams.memory import MemoryObjectReceiveStream, MemoryObjectSendStream
from mcp.server.lowlevel import Server
from mcp.shared.message import ServerMessageMetadata, SessionMessage
from pydantic import ValidationError
from pydantic_core import PydanticSerializationError

from perdure.surfaces.bridge.messages import INVALID_REQUEST, MAX_LINE_BYTES, failure, parse, request_key

INTERNAL = -32603
PARSE_ERROR = -32700
_CHUNK_BYTES = 65_536
logger = logging.getLogger(__name__)


class Connection:
    """A bad line is answered by an error and the connection lives; when the bridge goes away, what it asked is cancelled."""

    def __init__(self, server: Server[Any], reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self._server = server
        self._reader = reader
        self._writer = writer
        self._open: set[types.RequestId] = set()
        self._all_answered = asyncio.Event()
        self._reading = anyio.CancelScope()

    async def run(self) -> None:
        """Until the bridge says no more, or `stop_reading` was called and everything is answered."""
        inbound, messages = anyio.create_memory_object_stream[SessionMessage | Exception](0)
        answers, outbound = anyio.create_memory_object_stream[SessionMessage](0)
        async with anyio.create_task_group() as group:
            group.start_soon(self._read, inbound)
            group.start_soon(self._write, outbound)
            await self._server.run(messages, answers, self._server.create_initialization_options())

    def stop_reading(self) -> None:
        """Take no more requests: the daemon is about to end."""
        self._reading.cancel()

    async def _read(self, inbound: MemoryObjectSendStream[SessionMessage | Exception]) -> None:
        async with inbound:
            with self._reading:
                async for line in split_lines(self._reader):
                    await self._take(line, inbound)
            if self._reading.cancelled_caught:
                self._settle(None)
                await self._all_answered.wait()

    async def _take(self, line: bytes | None, inbound: MemoryObjectSendStream[SessionMessage | Exception]) -> None:
        message = parse_line(line)
        if isinstance(message, bytes):
            await self._say(message)
            return
        metadata = None
        if isinstance(message, types.JSONRPCRequest):
            request_id = message.id
            self._open.add(request_id)

            async def unanswered() -> None:
                self._settle(request_id)

            metadata = ServerMessageMetadata(on_request_unanswered=unanswered)
        await inbound.send(SessionMessage(message, metadata))

    async def _write(self, outbound: MemoryObjectReceiveStream[SessionMessage]) -> None:
        async with outbound:
            async for item in outbound:
                await self._say(encode(item.message))
                if isinstance(item.message, types.JSONRPCResponse | types.JSONRPCError):
                    self._settle(item.message.id)

    async def _say(self, line: bytes) -> None:
        """Waits while the bridge takes nothing; what a bridge that is gone can no longer hear is dropped."""
        if self._writer.is_closing():
            return
        try:
            self._writer.write(line)
            await self._writer.drain()
        except OSError:
            self._writer.close()

    def _settle(self, request_id: types.RequestId | None) -> None:
        if request_id is not None:
            self._open.discard(request_id)
        if self._reading.cancel_called and not self._open:
            self._all_answered.set()


def parse_line(line: bytes | None) -> types.JSONRPCMessage | bytes:
    """The message, or the error that answers what is none; None stands for a line that was too long."""
    if line is None:
        text = f"too_large: a message may have {MAX_LINE_BYTES // 2**20} MiB"
        return failure("null", text, reason="too_large", code=INVALID_REQUEST)
    try:
        return types.jsonrpc_message_adapter.validate_json(line, by_name=False)
    except ValidationError as error:
        # The id is read where it can be: a client that waits for its answer is better served than by `null`.
        key = request_key(parse(line)) or "null"
        if error.errors(include_input=False, include_context=False, include_url=False)[0]["type"] == "json_invalid":
            return failure(key, "Parse error: the line is not valid JSON in UTF-8", reason="parse_error", code=PARSE_ERROR)
        return failure(key, "Invalid request: not a JSON-RPC 2.0 message", reason="invalid_request", code=INVALID_REQUEST)


def encode(message: types.JSONRPCMessage) -> bytes:
    """The message as the SDK's own stdio server writes it."""
    try:
        return message.model_dump_json(by_alias=True, exclude_unset=True).encode() + b"\n"
    except PydanticSerializationError:
        logger.error("an answer could not be written as JSON")
        key = request_key({"id": getattr(message, "id", None)}) or "null"
        return failure(key, "The answer could not be written as JSON.", reason="internal", code=INTERNAL)


async def split_lines(reader: asyncio.StreamReader) -> AsyncIterator[bytes | None]:
    """Each line that is not blank; None for one that is too long, of which nothing is kept."""
    kept, too_long = bytearray(), False
    while chunk := await reader.read(_CHUNK_BYTES):
        *ended, rest = chunk.split(b"\n")
        for part in ended:
            kept += part
            if too_long or len(kept) > MAX_LINE_BYTES:
                yield None
            elif kept.strip():
                yield bytes(kept)
            kept, too_long = bytearray(), False
        kept += rest
        if len(kept) > MAX_LINE_BYTES:
            kept, too_long = bytearray(), True
