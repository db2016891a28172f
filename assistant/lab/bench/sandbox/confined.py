"""What runs in the sandbox's process: give up every right, then run a file of code.

`python -I -S confined.py FOLDER CODE WORD SECONDS BYTES CONFINES`: WORD is written to the file
`verdict` in FOLDER when the code has come to its end. This file imports nothing of specchat's,
because an isolated Python would not find it.
"""

import contextlib
import ctypes
import os
import platform
import resource
import struct
import sys
import sysconfig

LARGEST_FILE = 1 << 20
MOST_FILES = 32
_NO_NEW_PRIVS = 38
_SECCOMP, _FILTER = 22, 2
_CREATE, _ADD, _RESTRICT = 444, 445, 446  # Landlock's system calls, the same on every processor
_VERSION, _BENEATH = 1, 1
_ALL_OF_FILES = (1 << 13) - 1  # rights of the first version
_EXECUTE_AND_READ = 1 | 1 << 2 | 1 << 3
_READ_FILE = 1 << 2
_TCP = 3
_EPERM, _ENOSYS = 1, 38
_ALLOW, _ERRNO = 0x7FFF0000, 0x00050000
_THREAD = 0x00010000  # of clone: what begins shares this process
_X32 = 0x40000000
# Connections, processes, signals to others, their memory, and ways around a filter.
_SYSCALLS = {
    "x86_64": (
        0xC000003E,
        56,  # clone
        (41, 42, 43, 44, 46, 49, 50, 57, 58, 59, 62, 101, 165, 166, 200, 234, 250, 272, 298,
         308, 310, 311, 321, 322, 323, 424, 425, 434, 438),
    ),
    "aarch64": (
        0xC00000B7,
        220,
        (198, 200, 201, 202, 203, 206, 211, 221, 129, 130, 131, 117, 39, 40, 97, 219, 241,
         268, 270, 271, 280, 281, 282, 424, 425, 434, 438),
    ),
}  # fmt: skip
_CLONE3 = 435


def main() -> None:
    """Confine this process, run the code, and say so when it has come to its end."""
    folder, code, word, seconds, memory, confines = sys.argv[1:7]
    os.chdir(folder)
    with open(code, encoding="utf-8") as file:
        source = file.read()
    program = compile(source, "answer.py", "exec")
    _limit(int(seconds), int(memory))
    if confines == "1":
        confine(folder)
    namespace = {"__name__": "__main__"}
    sys.argv = ["answer.py"]
    exec(program, namespace)
    with open("verdict", "w", encoding="utf-8") as file:
        file.write(word)


def confine(folder: str) -> None:
    """Forbid what is not needed, for good; where the system cannot, that is no error here."""
    if sys.platform != "linux":
        return  # macOS confines from outside
    libc = ctypes.CDLL(None, use_errno=True)
    libc.prctl(_NO_NEW_PRIVS, 1, 0, 0, 0)
    _landlock(libc, folder)
    _seccomp(libc)


def _limit(seconds: int, memory: int) -> None:
    limits = {
        "RLIMIT_CPU": seconds,
        "RLIMIT_AS": memory,
        "RLIMIT_DATA": memory,
        "RLIMIT_FSIZE": LARGEST_FILE,
        "RLIMIT_NOFILE": MOST_FILES,
        "RLIMIT_CORE": 0,
        "RLIMIT_NPROC": 0,
    }
    for name, value in limits.items():
        # Not every system has every limit.
        with contextlib.suppress(AttributeError, ValueError, OSError):
            resource.setrlimit(getattr(resource, name), (value, value))


def _landlock(libc: ctypes.CDLL, folder: str) -> None:
    """Let this process read Python and the system's libraries, and write its folder alone."""
    libc.syscall.restype = ctypes.c_long
    version = libc.syscall(_CREATE, None, ctypes.c_size_t(0), _VERSION)
    if version < 1:
        return
    files = _ALL_OF_FILES | (1 << 13 if version >= 2 else 0) | (1 << 14 if version >= 3 else 0)
    rules = struct.pack("=QQ", files, _TCP if version >= 4 else 0)
    size = ctypes.c_size_t(16 if version >= 4 else 8)
    ruleset = libc.syscall(_CREATE, rules, size, 0)
    if ruleset < 0:
        return
    for path in _needed():
        _allow(libc, ruleset, path, _EXECUTE_AND_READ if os.path.isdir(path) else _READ_FILE)
    _allow(libc, ruleset, folder, files)
    libc.syscall(_RESTRICT, ruleset, 0)
    os.close(ruleset)


def _needed() -> list[str]:
    names = ("stdlib", "platstdlib")
    libraries = ["/lib", "/lib64", "/usr/lib", "/usr/lib64", "/usr/share/zoneinfo"]
    found = [*(sysconfig.get_path(name) for name in names), sys.base_prefix + "/lib", *libraries]
    return [path for path in {*found, "/etc/ld.so.cache", "/dev/null"} if os.path.exists(path)]


def _allow(libc: ctypes.CDLL, ruleset: int, path: str, rights: int) -> None:
    descriptor = os.open(path, os.O_PATH | os.O_CLOEXEC)
    rule = struct.pack("=Qi", rights, descriptor)
    libc.syscall(_ADD, ruleset, _BENEATH, rule, 0)
    os.close(descriptor)


def _seccomp(libc: ctypes.CDLL) -> None:
    """Have the system refuse calls that lead out of this process."""
    known = _SYSCALLS.get(platform.machine())
    if known is None:
        return
    architecture, clone, refused = known
    refuse, unknown = _ERRNO | _EPERM, _ERRNO | _ENOSYS
    load, equal, above, bits, give = 0x20, 0x15, 0x35, 0x45, 0x06
    steps = [
        (load, 0, 0, 4),  # the architecture
        (equal, 1, 0, architecture),
        (give, 0, 0, refuse),
        (load, 0, 0, 0),  # the number of the call
        (above, 0, 1, _X32),
        (give, 0, 0, refuse),
        (equal, 0, 1, _CLONE3),  # its flags cannot be seen; without it, clone is used
        (give, 0, 0, unknown),
    ]
    for number in refused:
        steps += [(equal, 0, 1, number), (give, 0, 0, refuse)]
    steps += [
        (equal, 0, 3, clone),
        (load, 0, 0, 16),  # its flags
        (bits, 1, 0, _THREAD),
        (give, 0, 0, refuse),
        (give, 0, 0, _ALLOW),
    ]
    program = b"".join(struct.pack("=HBBI", *step) for step in steps)
    buffer = ctypes.create_string_buffer(program, len(program))
    described = struct.pack("@HP", len(steps), ctypes.addressof(buffer))
    libc.prctl(_SECCOMP, _FILTER, described, 0, 0)


if __name__ == "__main__":
    main()
