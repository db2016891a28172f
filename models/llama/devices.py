"""The devices that llama.cpp computes on, here and on other machines through its RPC backend."""

import ctypes
import socket
from collections.abc import Callable
from typing import Any

import llama_cpp.llama_cpp as c

from models.errors import ModelError
from models.machine import RPC_VARIABLE, RpcServer, rpc_servers

SERVER_TIMEOUT_S = 5.0  # seconds within which a server must answer
GPUS = (1, 2)  # ggml's kinds of devices that take layers

_text, _pointer = ctypes.c_char_p, ctypes.c_void_p
_joined = set[RpcServer]()


def _function(name: str, result: Any, *arguments: Any) -> Callable[..., Any]:
    """Return a function of ggml that the bindings do not declare."""
    found: Any = getattr(c._lib, name)
    found.restype, found.argtypes = result, arguments
    return found  # type: ignore[no-any-return]


def _devices() -> list[int]:
    """Return the devices that ggml sees."""
    count = _function("ggml_backend_dev_count", ctypes.c_size_t)()
    return [*map(_function("ggml_backend_dev_get", _pointer, ctypes.c_size_t), range(count))]


def descriptions() -> list[str]:
    """Return a line for each device that ggml sees."""
    describe = _function("ggml_backend_dev_description", _text, _pointer)
    return [describe(device).decode() for device in _devices()]


def join_servers() -> None:
    """Have llama.cpp offload layers to the named servers, as if they were GPUs here.

    Raises:
        ModelError: one does not answer, or this llama.cpp has no such backend.
        UsageError: a name is invalid.
    """
    for server in rpc_servers():
        if server not in _joined:
            _join(server)
            _joined.add(server)


def devices_here() -> "ctypes.Array[ctypes.c_void_p] | None":
    """Return the GPUs of this machine for llama.cpp, or None if no other machine takes part."""
    if not _joined:
        return None
    kind = _function("ggml_backend_dev_type", ctypes.c_int, _pointer)
    name = _function("ggml_backend_dev_name", _text, _pointer)
    here = [
        device
        for device in _devices()
        if kind(device) in GPUS and not name(device).startswith(b"RPC")
    ]
    return (_pointer * (len(here) + 1))(*here, None)


def _join(server: RpcServer) -> None:
    backend = _function("ggml_backend_reg_by_name", _pointer, _text)(b"RPC")
    if not backend:
        raise ModelError(
            f"{RPC_VARIABLE} names {server}, but llama.cpp was built without its RPC backend here. "
            'Build it with CMAKE_ARGS="-DGGML_RPC=on", or unset the variable.'
        )
    _check(server)
    find = _function("ggml_backend_reg_get_proc_address", _pointer, _pointer, _text)
    add = ctypes.CFUNCTYPE(_pointer, _text)(find(backend, b"ggml_backend_rpc_add_server"))
    added = add(str(server).encode())
    if not added:
        raise ModelError(f"{server}, which {RPC_VARIABLE} names, has no device to compute with.")
    _function("ggml_backend_register", None, _pointer)(added)


def _check(server: RpcServer) -> None:
    """Check that a server answers: llama.cpp ends the process if none does."""
    try:
        socket.create_connection((server.host, server.port), SERVER_TIMEOUT_S).close()
    except OSError as error:
        raise ModelError(
            f"{server}, which {RPC_VARIABLE} names, does not answer: {error.strerror or error}. "
            "Start llama.cpp's rpc-server there, or unset the variable."
        ) from error
