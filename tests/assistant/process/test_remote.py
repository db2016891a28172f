"""Machines that are to compute layers, as the environment names them."""

import socket

import pytest

from assistant.events import Failed, Ready
from models.errors import UsageError
from models.machine import RPC_VARIABLE, RpcServer, rpc_servers
from tests.assistant.process.driving import running


def test_servers_are_named_with_ports_and_commas(monkeypatch):
    monkeypatch.delenv(RPC_VARIABLE, raising=False)
    assert rpc_servers() == ()
    monkeypatch.setenv(RPC_VARIABLE, "")
    assert rpc_servers() == ()
    monkeypatch.setenv(RPC_VARIABLE, "10.0.0.2:50052, big.local:1")
    assert rpc_servers() == (RpcServer("10.0.0.2", 50052), RpcServer("big.local", 1))
    assert str(RpcServer("big.local", 1)) == "big.local:1"


@pytest.mark.parametrize("named", ["big", "big:", ":1", "big:0", "big:65536", "big:x", "a:1,b"])
def test_what_names_no_port_of_a_machine_is_refused(named, monkeypatch):
    monkeypatch.setenv(RPC_VARIABLE, named)
    with pytest.raises(UsageError, match=f"{RPC_VARIABLE} must be HOST:PORT"):
        rpc_servers()


def test_without_llama_cpps_backend_for_it_the_user_is_told_how_to_get_it(setup, monkeypatch):
    with socket.create_server(("127.0.0.1", 0)) as server:
        monkeypatch.setenv(RPC_VARIABLE, f"127.0.0.1:{server.getsockname()[1]}")
        with running() as (engine, heard):
            engine.submit(setup)
            failed = heard.until(Failed, Ready)
    assert failed.kind == "ModelError"
    assert "built without its RPC backend" in failed.message
    assert "-DGGML_RPC=on" in failed.message


def test_a_name_that_is_invalid_is_said_when_a_model_is_loaded(setup, monkeypatch):
    monkeypatch.setenv(RPC_VARIABLE, "nonsense")
    with running() as (engine, heard):
        engine.submit(setup)
        failed = heard.until(Failed, Ready)
    assert (failed.kind, RPC_VARIABLE in failed.message) == ("UsageError", True)
