"""Everything lies in the one home, and the key does not lie beside the vault."""

from __future__ import annotations

from pathlib import Path

from perdure.domain.launch import DEFAULT_PORT, Home, Launch

HOME = Home(Path("/srv/perdure"))
PLACES = {
    name: getattr(HOME, name) for name, member in vars(Home).items() if isinstance(member, property)
}  # fmt: skip


def test_every_place_lies_in_the_home_and_no_two_are_one() -> None:
    assert len(PLACES) >= 9
    assert all(place.is_relative_to(HOME.folder) and place != HOME.folder for place in PLACES.values())
    assert len(set(PLACES.values())) == len(PLACES)


def test_a_copy_of_the_vaults_folder_holds_the_vault_and_its_header_but_no_key_and_no_token() -> None:
    inside = {name for name, place in PLACES.items() if place.is_relative_to(HOME.vault_folder)}
    assert inside == {"vault_folder", "vault_file", "header_file"}


def test_what_lives_as_long_as_the_daemon_lies_in_the_run_folder() -> None:
    assert {place.parent for place in (HOME.state_file, HOME.lock_file, HOME.tools_cache)} == {HOME.run_folder}


def test_nothing_said_means_loopback_without_secrets() -> None:
    launch = Launch(home=HOME)
    assert (launch.host, launch.port, launch.token, launch.passphrase) == (None, None, None, None)
    assert DEFAULT_PORT == 3001
