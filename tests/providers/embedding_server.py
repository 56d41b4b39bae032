"""A service with OpenAI's /v1/embeddings on this machine, which does what a test tells it to."""

from __future__ import annotations

import json
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any


@dataclass(kw_only=True)
class Answer:
    """`body` None: vectors of `dimension` for the texts asked, in reverse order, as the protocol allows."""

    status: int = 200
    body: bytes | None = None
    headers: dict[str, str] = field(default_factory=dict)
    dimension: int = 8
    hang: bool = False


@dataclass(kw_only=True)
class EmbeddingServer:
    """`answers` are given first, in order, then `usual` for ever; `requests` and `keys` are what came."""

    address: str = ""
    answers: list[Answer] = field(default_factory=list)
    usual: Answer = field(default_factory=Answer)
    requests: list[dict[str, Any]] = field(default_factory=list)
    keys: list[str | None] = field(default_factory=list)
    released: threading.Event = field(default_factory=threading.Event)


@contextmanager
def running() -> Iterator[EmbeddingServer]:
    served = EmbeddingServer()

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            served.requests.append(json.loads(self.rfile.read(int(self.headers["content-length"]))) | {"path": self.path})
            served.keys.append(self.headers["authorization"])
            answer = served.answers.pop(0) if served.answers else served.usual
            if answer.hang:
                served.released.wait(30)
                return
            body = _vectors(served.requests[-1]["input"], answer.dimension) if answer.body is None else answer.body
            self.send_response(answer.status)
            for name, value in {"content-length": str(len(body)), **answer.headers}.items():
                self.send_header(name, value)
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, *_: object) -> None:
            return

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    server.daemon_threads = True
    served.address = f"http://127.0.0.1:{server.server_port}/v1"
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
    thread.start()
    try:
        yield served
    finally:
        served.released.set()
        server.shutdown()
        server.server_close()
        thread.join(10)


def _vectors(texts: list[str], dimension: int) -> bytes:
    """Longer than 1, so that a caller who does not normalise is noticed; they differ by the text's length."""
    rows = [{"index": at, "embedding": [3.0, float(len(text))] + [0.0] * (dimension - 2)} for at, text in enumerate(texts)]
    return json.dumps({"object": "list", "data": rows[::-1]}).encode()
