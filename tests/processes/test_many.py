"""Many processes, one vault: nothing is lost, nothing hangs, and there is only ever one daemon."""

from __future__ import annotations

import signal
from concurrent.futures import ThreadPoolExecutor

import pytest

from tests.processes.living import Bridge, Household

pytestmark = pytest.mark.slow


def _integrity(household: Household) -> object:
    return household.rest("POST", "/api/vault/check", {"deep": True})


def test_lk2_two_clients_of_one_vault_see_what_each_other_wrote(household: Household) -> None:
    one, two = household.client(), household.client()
    first, second = one.capture("written by one"), two.capture("written by two")
    assert (two.read(first), one.read(second)) == ("written by one", "written by two")


def test_lk3_ten_clients_of_which_five_are_killed_leave_a_whole_vault(household: Household) -> None:
    clients = [household.client() for _ in range(10)]
    ids = [client.capture(f"before {number}") for number, client in enumerate(clients)]
    for client in clients[:5]:
        client.send("tools/call", {"name": "cortexa_capture", "arguments": {"content": "cut off", "thought_type": "note"}})
        client.kill()
    ids += [client.capture(f"after {number}") for number, client in enumerate(clients[5:])]
    assert [clients[9].read(item) for item in ids[:10]] == [f"before {number}" for number in range(10)]
    assert [clients[5].read(item) for item in ids[10:]] == [f"after {number}" for number in range(5)]
    assert _integrity(household) == {"faults": []}
    assert household.started() == 1


def test_lk4_http_and_stdio_write_to_one_vault(household: Household) -> None:
    client = household.client()
    by_stdio = client.capture("over the bridge")
    answer = household.rest("POST", "/api/tools/cortexa_capture", {"content": "over HTTP", "thought_type": "note"})
    assert client.read(answer["structured"]["id"]) == "over HTTP"
    assert household.rest("GET", f"/api/memories/{by_stdio}")["content"] == "over the bridge"


def test_lk7_a_daemon_that_was_killed_blocks_no_other(household: Household) -> None:
    client = household.client()
    item = client.capture("acknowledged before the kill")
    before = household.kill_daemon()
    assert household.home.lock_file.exists()
    assert household.client().read(item) == "acknowledged before the kill"
    assert household.daemon().pid != before.pid


def test_lk8_four_clients_that_start_at_once_share_one_daemon(household: Household) -> None:
    clients = [household.bridge() for _ in range(4)]
    with ThreadPoolExecutor(4) as pool:
        results = list(pool.map(Bridge.initialize, clients))
        list(pool.map(lambda client: client.capture("hello from a session"), clients))
    assert {result["serverInfo"]["name"] for result in results} == {"perdure"}
    assert household.started() == 1


def test_dl7_two_processes_with_twenty_captures_each_make_forty_memories(household: Household) -> None:
    clients = [household.client() for _ in range(2)]

    def capture(number: int) -> set[str]:
        return {clients[number].capture(f"client {number}, memory {count}") for count in range(20)}

    with ThreadPoolExecutor(2) as pool:
        one, two = pool.map(capture, range(2))
    assert len(one | two) == 40
    assert household.rest("GET", "/api/memories?project=demo&limit=1")["total"] == 40


def test_what_was_acknowledged_before_a_kill_is_read_by_the_same_client_and_a_new_one(household: Household) -> None:
    client = household.client()
    item = client.capture("survives")
    household.kill_daemon(signal.SIGKILL)
    assert client.read(item) == "survives"
    assert household.client().read(item) == "survives"
    assert household.started() == 2


def test_dl9_two_processes_that_each_judge_a_hundred_memories_lose_no_update(household: Household) -> None:
    clients = [household.client(), household.client()]
    items = [[client.capture(f"memory {number} of client {n}") for number in range(100)] for n, client in enumerate(clients)]

    def judge(number: int) -> None:
        for item in items[number]:
            clients[number].call("cortexa_review", item_id=item, state="reviewed")

    with ThreadPoolExecutor(2) as pool:
        list(pool.map(judge, range(2)))
    assert household.rest("GET", "/api/memories?review=reviewed&limit=1")["total"] == 200
