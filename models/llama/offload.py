"""Devices of other machines, through llama.cpp's RPC backend."""

import ctypes
import socket

from models.errors import ModelError
from models.llama.native import function
from models.rpc_servers import VARIABLE, RpcServer, servers

SERVER_TIMEOUT_S = 5.0  # seconds in which a server has to answer
GPUS = (1, 2)  # ggml's kinds of devices that take layers

_text, _pointer = ctypes.c_char_p, ctypes.c_void_p
_joined = set[RpcServer]()


def join_servers() -> None:
    """Have llama.cpp offload layers to the servers that are named, as if they were GPUs here.

    Raises:
        ModelError: one does not answer, or this llama.cpp has no such backend.
        UsageError: they are not named as they should be.
    """
    for server in servers():
        if server not in _joined:
            _join(server)
            _joined.add(server)


def devices_here() -> "ctypes.Array[ctypes.c_void_p] | None":
    """Return the GPUs of this machine for llama.cpp, or None where no other machine takes part."""
    if not _joined:
        return None
    get = function("ggml_backend_dev_get", _pointer, ctypes.c_size_t)
    kind = function("ggml_backend_dev_type", ctypes.c_int, _pointer)
    name = function("ggml_backend_dev_name", _text, _pointer)
    count = function("ggml_backend_dev_count", ctypes.c_size_t)()
    here = [
        device
        for device in map(get, range(count))
        if kind(device) in GPUS and not name(device).startswith(b"RPC")
    ]
    return (_pointer * (len(here) + 1))(*here, None)


def _join(server: RpcServer) -> None:
    backend = function("ggml_backend_reg_by_name", _pointer, _text)(b"RPC")
    if not backend:
        raise ModelError(
            f"{VARIABLE} names {server}, but llama.cpp was built without its RPC backend here. "
            'Build it with CMAKE_ARGS="-DGGML_RPC=on", or unset the variable.'
        )
    _check(server)
    find = function("ggml_backend_reg_get_proc_address", _pointer, _pointer, _text)
    add = ctypes.CFUNCTYPE(_pointer, _text)(find(backend, b"ggml_backend_rpc_add_server"))
    added = add(str(server).encode())
    if not added:
        raise ModelError(f"{server}, which {VARIABLE} names, has no device to compute with.")
    function("ggml_backend_register", None, _pointer)(added)


def _check(server: RpcServer) -> None:
    """Knock at a server: if none answers, llama.cpp itself ends the process."""
    try:
        socket.create_connection((server.host, server.port), SERVER_TIMEOUT_S).close()
    except OSError as error:
        raise ModelError(
            f"{server}, which {VARIABLE} names, does not answer: {error.strerror or error}. "
            "Start llama.cpp's rpc-server there, or unset the variable."
        ) from error
