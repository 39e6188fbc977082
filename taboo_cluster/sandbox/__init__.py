"""Running generated code, which is taken to be hostile: whoever wrote the text a model learned from may have meant it.

What a program is
    Source that defines a function, tests that call it, and limits (`program.Program`, `program.Limits`).

Who can say that it passed
    Two processes share a box. The *judge* (`inside.judge`, process 1 there) forks the *program's process*, which runs
    the source and answers calls of its function. The judge alone has the tests, which it reads after the fork and
    after the program's process has lost stdin, and the pipe for the verdict. What comes back from the program are
    plain values in JSON (`inside.plain`). So exit statuses, printed words, patched builtins, redefined exceptions,
    `__eq__` that is always true, writes to any file descriptor and looks into the caller's frames come to nothing: a
    program passes by giving the values that the tests want. One that has learned the tests by heart passes too.

What shuts it in, first one that works (`boxes`)
    bubblewrap, or the same kernel calls made by `inside.unshare`: namespaces of its own for mounts, processes, network,
    IPC, host name and cgroups. It sees, read-only, the system's libraries, the interpreter with its standard library
    and /dev/null; its home and working folder is an empty tmpfs of 32 MiB; there is no /proc, /sys, /etc or home. Root
    becomes nobody (65534) inside; an ordinary user, and a container's root without CAP_SYS_ADMIN, use a user namespace.
    The environment is five fixed variables; no file is inherited.

What limits it, the same for root (`inside.kernel`)
    System calls refused by seccomp: those that start processes and threads, sockets of every family (network namespaces
    do not cover vsock), memory outside any limit (System V and POSIX queues, memfd, io_uring), tracing, namespaces,
    keys, bpf. So a program is one process with one thread, and the limits on a process are limits on the program:
    address space, CPU time, size of a file, and of all it prints. No new privileges, no core dumps. The judge ends
    everything when the time on the clock is up, or when its caller is gone; the kernel ends whatever is left in the
    box with process 1.

What proves it
    A box is used only after a right program passed and a wrong one failed in it; without such a box running is refused,
    unless `allow_unsafe_code` is set: then the limits and the refused calls are all there is, and a program can read
    and change the caller's files and signal its processes.

What remains
    Faults of the kernel itself; the CPU's side channels; that the program's process uses memory up to its limit beside
    the judge's. Programs are counted by process: at most one per core at a time (`sandbox.Sandbox`).
"""
