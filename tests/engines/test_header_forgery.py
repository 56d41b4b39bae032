"""What no accident and no forger can do to the key header."""

from __future__ import annotations

import base64
import hashlib
import json
import os
import tempfile
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from perdure.domain.access import TokenKind
from perdure.domain.vault import SlotKind
from perdure.engines.header.document import Document, Master, decode, encode
from perdure.engines.header.header import FileKeyHeader
from perdure.engines.header.recovery import parse_recovery_key
from perdure.engines.header.sealing import key_check, voucher, with_key_pair, with_seal
from perdure.errors import VaultDamaged, WrongKey
from tests.engines.headers import NOW, PASSPHRASE, full_header, header_in


@pytest.fixture
def home(tmp_path: Path) -> Path:
    return tmp_path / "home"


def test_any_flipped_bit_of_the_header_is_damage(home: Path) -> None:
    header, _, _, _ = full_header(home)
    raw = header.path.read_bytes()
    for place in range(len(raw)):
        for mask in (0x01, 0x20):  # 0x20 turns letters' case, and blanks into other characters
            with pytest.raises(VaultDamaged):
                decode(raw[:place] + bytes([raw[place] ^ mask]) + raw[place + 1 :])


@settings(deadline=None, max_examples=60)
@given(data=st.data())
def test_a_flipped_byte_in_the_file_never_opens_anything(data: st.DataObject) -> None:
    with tempfile.TemporaryDirectory() as folder:
        header, _, keyring, recovery_key = full_header(Path(folder))
        raw = bytearray(header.path.read_bytes())
        raw[data.draw(st.integers(0, len(raw) - 1))] ^= data.draw(st.integers(1, 255))
        header.path.write_bytes(raw)
        for secret in (None, PASSPHRASE, recovery_key):
            with pytest.raises(VaultDamaged):
                header_in(Path(folder), keyring).unlock(secret)


def _leaves(node: Any, path: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    items = node.items() if isinstance(node, dict) else enumerate(node) if isinstance(node, list) else ()
    for key, child in items:
        yield (*path, key)
        yield from _leaves(child, (*path, key))


def _forge(raw: bytes, change: Callable[[Any], None]) -> bytes:
    """The same header with a change and a checksum that fits again."""
    content = json.loads(raw)
    change(content)
    content["checksum"] = ""
    content["checksum"] = hashlib.sha256(json.dumps(content, indent=1, ensure_ascii=False).encode()).hexdigest()
    return json.dumps(content, indent=1, ensure_ascii=False).encode()


def _change_field(path: tuple[Any, ...], content: Any) -> None:
    for key in path[:-1]:
        content = content[key]
    old, kinds = content[path[-1]], [kind.value for kind in SlotKind]
    if old in kinds:
        new: Any = kinds[kinds.index(old) - 1]
    elif isinstance(old, str):
        new = ("B" if old[0] != "B" else "C") + old[1:]
    else:
        new = old + 1 if isinstance(old, int) else None if old else {"time_cost": 1, "memory_kib": 8, "lanes": 1}
    content[path[-1]] = new


def test_a_forged_field_with_a_fitting_checksum_never_opens_with_another_key(home: Path) -> None:
    header, master, keyring, recovery_key = full_header(home)
    raw = header.path.read_bytes()
    assert _forge(raw, lambda _: None) == raw, "the forger's tool writes what the header writes"
    fields = [path for path in _leaves(json.loads(raw)) if path[0] not in ("tokens", "checksum") and path[-1] != "voucher"]
    assert len(fields) > 50
    for path in fields:
        header.path.write_bytes(_forge(raw, partial(_change_field, path)))
        for secret in (None, PASSPHRASE, recovery_key):
            with pytest.raises((VaultDamaged, WrongKey)):
                pytest.fail(f"{path} opened {header_in(home, keyring).unlock(secret) == (master,)}")


def _write(header: FileKeyHeader, document: Document) -> None:
    header.path.write_bytes(encode(document))


def test_a_rekey_seals_nothing_to_a_key_pair_that_a_forger_put_into_a_slot(home: Path) -> None:
    header, master, _, _ = full_header(home)
    document = decode(header.path.read_bytes())
    forged = with_key_pair(document.slots[3], b"the forger's secret", vault_id=document.vault_id)
    _write(header, document.model_copy(update={"slots": (*document.slots[:3], forged)}))
    with pytest.raises(VaultDamaged, match="altered"):
        header.begin_rekey(master)
    with pytest.raises(VaultDamaged, match="altered"):
        header.unlock(PASSPHRASE)


def test_a_master_key_of_a_forger_is_not_taken_for_an_unfinished_rekey(home: Path) -> None:
    header, master, _, _ = full_header(home)
    document = decode(header.path.read_bytes())
    theirs, blank = os.urandom(32), Master(id=document.vault_id, created_at=NOW, check=bytes(32))
    entry = blank.model_copy(update={"check": key_check(blank.id, theirs, document=document)})
    slots = tuple(with_seal(slot, theirs, master_id=entry.id, document=document) for slot in document.slots)
    for claim, expected in ((None, None), (voucher(entry, theirs), None), (voucher(entry, master), (theirs, master))):
        masters = (entry.model_copy(update={"voucher": claim}), *document.masters)
        _write(header, document.model_copy(update={"masters": masters, "slots": slots}))
        if expected is None:
            with pytest.raises(VaultDamaged, match="altered"):
                header.unlock(PASSPHRASE)
        else:
            assert header.unlock(PASSPHRASE) == expected, "only the old key's holder can vouch"


def test_no_secret_stands_in_the_header(home: Path) -> None:
    header, master, keyring, recovery_key = full_header(home)
    new = header.begin_rekey(master)
    _, token = header.add_token(TokenKind.INTEGRATION, "agent")
    primary, recovery = header.primary_secret(), parse_recovery_key(recovery_key)
    assert primary is not None
    assert recovery is not None
    secrets = [master, new, (home / "vault.key").read_bytes(), recovery, recovery_key.encode(), PASSPHRASE.encode()]
    secrets += [bytes.fromhex(next(iter(keyring.entries.values()))), token.encode(), primary.encode()]
    content = header.path.read_bytes()
    for secret in secrets:
        forms = {secret, base64.b64encode(secret).rstrip(b"="), base64.urlsafe_b64encode(secret).rstrip(b"=")}
        forms |= {secret.hex().encode(), secret.hex().upper().encode(), base64.b32encode(secret).rstrip(b"=")}
        assert not any(form in content for form in forms)
