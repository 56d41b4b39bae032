"""Ways in which a vault's file comes to harm; each answers the key to open it with."""

from __future__ import annotations

import sqlite3
from pathlib import Path

from tests.engines.stores import KEY, OTHER_KEY


def wrong_key(path: Path) -> bytes:
    return OTHER_KEY


def no_key(path: Path) -> bytes:
    return bytes(32)


def part_page_gone(path: Path) -> bytes:
    path.write_bytes(path.read_bytes()[:-100])
    return KEY


def half_gone(path: Path) -> bytes:
    data = path.read_bytes()
    path.write_bytes(data[: len(data) // 8192 * 4096])
    return KEY


def emptied(path: Path) -> bytes:
    path.write_bytes(b"")
    return KEY


def garbled_head(path: Path) -> bytes:
    path.write_bytes(b"\xff" * 512 + path.read_bytes()[512:])
    return KEY


def schema_garbled(path: Path) -> bytes:
    data = bytearray(path.read_bytes())
    for page in range(1, len(data) // 4096):
        data[page * 4096 + 1000] ^= 1
    path.write_bytes(data)
    return KEY


def made_plain(path: Path) -> bytes:
    path.unlink()
    plain = sqlite3.connect(path)
    plain.execute("CREATE TABLE memories (id)")
    plain.close()
    return KEY
