"""Calls of the Linux kernel that Python has no function for, and what a program may not call."""

from __future__ import annotations

import ctypes
import os
import platform
import resource
import struct

NUMBERS = {
    # Processes: with these gone a program is one process with one thread, whoever it runs as.
    "clone": (56, 220),
    "clone3": (435, 435),
    "fork": (57, None),
    "vfork": (58, None),
    # The network, loopback and what network namespaces do not cover (vsock) included.
    "socket": (41, 198),
    # Memory and objects that no limit of a process counts.
    "io_uring_setup": (425, 425),
    "memfd_create": (319, 279),
    "memfd_secret": (447, 447),
    "mq_open": (240, 180),
    "msgget": (68, 186),
    "semget": (64, 190),
    "shmget": (29, 194),
    # Other processes, new namespaces (capabilities within them), parts of the kernel no such program needs.
    "add_key": (248, 217),
    "bpf": (321, 280),
    "keyctl": (250, 219),
    "perf_event_open": (298, 241),
    "pidfd_getfd": (438, 438),
    "process_vm_readv": (310, 270),
    "process_vm_writev": (311, 271),
    "ptrace": (101, 117),
    "request_key": (249, 218),
    "setns": (308, 268),
    "unshare": (272, 97),
    "userfaultfd": (323, 282),
}
"""System calls that are refused, with their numbers on x86_64 and aarch64."""

_MACHINES = {"x86_64": (0xC000003E, 0), "aarch64": (0xC00000B7, 1)}
"""Processor -> (AUDIT_ARCH of its native calls, column of `NUMBERS`)."""
_OTHER_ABI = 0x40000000
"""Numbers from here on are x86_64's x32 calls: the same calls under other numbers."""
_PR_SET_DUMPABLE, _PR_SET_SECCOMP, _PR_SET_NO_NEW_PRIVS = 4, 22, 38
_SECCOMP_FILTER = 2
_ALLOW, _REFUSE, _KILL = 0x7FFF0000, 0x00050001, 0x80000000
"""SECCOMP_RET_ALLOW, SECCOMP_RET_ERRNO with EPERM, SECCOMP_RET_KILL_PROCESS."""

_libc = ctypes.CDLL(None, use_errno=True)


class _Program(ctypes.Structure):
    _fields_ = (("length", ctypes.c_ushort), ("instructions", ctypes.c_char_p))


def call(name: str, *arguments: int | bytes | ctypes.c_void_p | None) -> None:
    """Call a function of the C library that returns 0; raises OSError."""
    words = [ctypes.c_long(argument) if isinstance(argument, int) else argument for argument in arguments]
    if getattr(_libc, name)(*words) < 0:
        number = ctypes.get_errno()
        raise OSError(number, f"{name}: {os.strerror(number)}")


def hide_memory() -> None:
    """Keep other processes of the same user from tracing this one or reading its memory."""
    call("prctl", _PR_SET_DUMPABLE, 0, 0, 0, 0)


def limit(seconds: float, memory: int, file: int) -> None:
    """Limit this process for good: CPU seconds, bytes of address space, bytes of a file; one process, no core dump."""
    cpu = int(seconds) + 1
    for kind, value in (
        (resource.RLIMIT_AS, memory),
        (resource.RLIMIT_FSIZE, file),
        (resource.RLIMIT_NOFILE, 64),
        (resource.RLIMIT_NPROC, 1),
        (resource.RLIMIT_CORE, 0),
        (resource.RLIMIT_MEMLOCK, 0),
        (resource.RLIMIT_MSGQUEUE, 0),
    ):
        resource.setrlimit(kind, (value, value))
    resource.setrlimit(resource.RLIMIT_CPU, (cpu, cpu + 1))


def refuse_calls() -> None:
    """Make the calls of `NUMBERS` fail with EPERM from now on. Raises OSError, also for an unknown processor."""
    machine = platform.machine()
    if machine not in _MACHINES:
        raise OSError(f"no list of system calls for the processor {machine!r}")
    arch, column = _MACHINES[machine]
    refused = [number for numbers in NUMBERS.values() if (number := numbers[column]) is not None]
    load, equal, at_least, give = 0x20, 0x15, 0x35, 0x06  # BPF_LD+W+ABS, BPF_JMP+JEQ, BPF_JMP+JGE, BPF_RET
    steps = [(load, 0, 0, 4), (equal, 1, 0, arch), (give, 0, 0, _KILL), (load, 0, 0, 0)]
    steps.append((at_least, len(refused) + 1, 0, _OTHER_ABI))
    steps += [(equal, len(refused) - index, 0, number) for index, number in enumerate(refused)]
    steps += [(give, 0, 0, _ALLOW), (give, 0, 0, _REFUSE)]
    packed = b"".join(struct.pack("HBBI", *step) for step in steps)
    program = _Program(len(steps), packed)
    call("prctl", _PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0)
    call("prctl", _PR_SET_SECCOMP, _SECCOMP_FILTER, ctypes.cast(ctypes.byref(program), ctypes.c_void_p), 0, 0)
