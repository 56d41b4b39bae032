from __future__ import annotations

from pathlib import Path

import pytest

from perdure.bootstrap.settings import child_environ, read_launch
from perdure.errors import InvalidInput


def test_what_is_said_wins_over_the_environment_and_that_over_the_defaults(tmp_path: Path) -> None:
    environ = {"PERDURE_HOME": str(tmp_path / "env"), "PERDURE_PORT": "4001", "PERDURE_HOST": "127.0.0.2", "PERDURE_LOG": "DEBUG"}
    told = read_launch(home=tmp_path / "said", port=5001, environ=environ)
    assert (told.home.folder, told.port, told.host, told.log_level) == (tmp_path / "said", 5001, "127.0.0.2", "debug")
    found = read_launch(environ=environ)
    assert (found.home.folder, found.port) == (tmp_path / "env", 4001)
    default = read_launch(environ={})
    assert (default.home.folder, default.port, default.host) == (Path.home() / ".perdure", None, None)


def test_every_variable_is_read_and_an_empty_one_says_nothing(tmp_path: Path) -> None:
    secrets = read_launch(home=tmp_path, environ={"PERDURE_TOKEN": "pdi_x", "PERDURE_PASSPHRASE": "open"})
    assert (secrets.token, secrets.passphrase, secrets.log_level) == ("pdi_x", "open", "info")
    names = ("HOME", "HOST", "PORT", "TOKEN", "PASSPHRASE")
    assert read_launch(environ={f"PERDURE_{name}": "" for name in names}) == read_launch(environ={})


@pytest.mark.parametrize("port", [0, 1, 65_535])
def test_a_port_is_any_there_is_and_zero_is_a_free_one(port: int) -> None:
    assert read_launch(environ={"PERDURE_PORT": str(port)}).port == port
    assert read_launch(port=port, environ={"PERDURE_PORT": "4001"}).port == port


@pytest.mark.parametrize("port", ["-1", "65536", "web", "1.5"])
def test_a_port_that_is_none_is_refused_with_what_is_allowed(port: str) -> None:
    with pytest.raises(InvalidInput, match="1 and 65535"):
        read_launch(environ={"PERDURE_PORT": port})


def test_a_relative_home_is_made_absolute_and_a_tilde_is_the_users(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    assert read_launch(home=Path("here"), environ={}).home.folder == tmp_path / "here"
    assert read_launch(environ={"PERDURE_HOME": "~/there"}).home.folder == Path.home() / "there"


def test_a_daemon_is_not_given_the_token_of_the_bridge_that_starts_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PERDURE_TOKEN", "pdi_secret")
    monkeypatch.setenv("PERDURE_LOG", "debug")
    environ = child_environ()
    assert "PERDURE_TOKEN" not in environ
    assert "pdi_secret" not in environ.values()
    assert environ["PERDURE_LOG"] == "debug"
