"""The sockets that perdure is reached at."""

from __future__ import annotations

import asyncio
import socket

from perdure.surfaces.daemon.listeners import listen, port_of


def test_an_answer_leaves_at_once_and_waits_for_no_acknowledgement() -> None:
    async def body() -> None:
        first, *others = listen(None, 0)
        for other in others:
            other.close()
        at_once: asyncio.Future[int] = asyncio.get_running_loop().create_future()

        async def accepted(_: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
            at_once.set_result(writer.get_extra_info("socket").getsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY))
            writer.close()

        async with await asyncio.start_server(accepted, sock=first):
            _, writer = await asyncio.open_connection("127.0.0.1", port_of(first))
            assert await asyncio.wait_for(at_once, 10)
            writer.close()
            await writer.wait_closed()

    asyncio.run(body())
