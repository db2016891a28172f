"""Forbid this process to open connections, even if a model file takes over its native code.

Uses Landlock of Linux. Files are not restricted: another model may be loaded from anywhere later,
and the drivers of graphics cards keep caches in places of their own.
"""

import ctypes
import os
import sys

# System calls, the same on every processor.
_CREATE_RULESET, _RESTRICT_SELF = 444, 446
_VERSION = 1  # a flag: create nothing, tell the version
_NETWORK_SINCE = 4
_BIND_AND_CONNECT_TCP = 3
_SET_NO_NEW_PRIVS = 38


def forbid_connections() -> bool:
    """Have the system refuse TCP to this thread and all that it starts, for good.

    Return whether it does; not before Linux 6.7, nor on other systems.
    """
    if sys.platform != "linux":
        return False
    libc = ctypes.CDLL(None, use_errno=True)
    libc.syscall.restype = ctypes.c_long
    if libc.syscall(_CREATE_RULESET, None, ctypes.c_size_t(0), _VERSION) < _NETWORK_SINCE:
        return False
    rules = (ctypes.c_uint64 * 2)(0, _BIND_AND_CONNECT_TCP)  # what is ruled of files, and of TCP
    size = ctypes.c_size_t(ctypes.sizeof(rules))
    ruleset = libc.syscall(_CREATE_RULESET, ctypes.byref(rules), size, 0)
    if ruleset < 0:
        return False
    try:
        libc.prctl(_SET_NO_NEW_PRIVS, 1, 0, 0, 0)
        return bool(libc.syscall(_RESTRICT_SELF, ruleset, 0) == 0)
    finally:
        os.close(ruleset)
