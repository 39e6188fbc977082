"""Generated code shut in: what it may do, that nothing it does counts as success, and that nothing stays behind."""

from __future__ import annotations

import contextlib
import json
import os
import subprocess
import sys
import tempfile
import threading
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import pytest

from taboo_cluster.errors import UserError
from taboo_cluster.sandbox import boxes as boxes_module
from taboo_cluster.sandbox import sandbox as sandbox_module
from taboo_cluster.sandbox.boxes import Box, boxes, no_box
from taboo_cluster.sandbox.program import Limits, Program, Result, SandboxFailed, run_program
from taboo_cluster.sandbox.sandbox import Sandbox, find_box

ATTACKS = Path(__file__).with_name("attacks.py")


def box() -> Box:
    """The box of this machine; without one there is nothing to test."""
    try:
        return find_box()
    except UserError as error:
        pytest.skip(str(error))


def run(source: str, tests: str, entry_point: str = "f", setup: str = "", seconds: float = 30.0) -> Result:
    return run_program(Program(source, entry_point, tests, setup), box(), Limits(seconds=seconds))


def attacked(command: Sequence[str], user: int | None = None) -> list[dict[str, object]]:
    """What the script prints for a user with a home of its own; skips the test where no box works for that user."""
    with tempfile.TemporaryDirectory(dir="/tmp") as home:
        os.chmod(home, 0o777)
        found = subprocess.run(
            [*command, str(ATTACKS)],
            capture_output=True,
            text=True,
            env={**os.environ, "HOME": home, "PYTHONDONTWRITEBYTECODE": "1"},
            check=False,
            **as_user(user),
        )
    assert found.returncode == 0, found.stderr
    if not found.stdout:
        pytest.skip(f"no box works for this user: {found.stderr}")
    return [json.loads(line) for line in found.stdout.splitlines()]


def as_user(user: int | None) -> dict[str, Any]:
    return {} if user is None else {"user": user, "group": user, "extra_groups": []}


def any_users_python() -> str:
    """A Python that every user can run; skips the test without one, and where it cannot start one as another user."""
    if os.geteuid() != 0:
        pytest.skip("only root can start processes of another user")
    code = "import sys, ctypes; sys.exit(sys.version_info < (3, 11))"
    for python in (os.path.realpath(sys.executable), "/usr/bin/python3"):
        with contextlib.suppress(OSError):
            if subprocess.run([python, "-c", code], capture_output=True, check=False, **as_user(12345)).returncode == 0:
                return python
    pytest.skip("no Python from 3.11 that another user can run")


def test_j2_every_attack_fails_alone_and_leaves_nothing_behind() -> None:
    """As whoever runs the tests, in every box that works for them."""
    box()
    found = attacked([sys.executable])
    assert found
    assert [line for line in found if line["wrong"] or line["left"]] == []


def test_j2_the_same_for_an_ordinary_user() -> None:
    found = attacked([any_users_python()], user=12345)
    assert [line for line in found if line["wrong"] or line["left"]] == []


@pytest.mark.verify
def test_j2_the_same_for_a_containers_root() -> None:
    """Root without CAP_SYS_ADMIN becomes nobody first."""
    found = attacked(["setpriv", "--bounding-set", "-sys_admin", "--inh-caps", "-all", any_users_python()])
    assert {line["user"] for line in found} == {65534}
    assert [line for line in found if line["wrong"] or line["left"]] == []


def test_nothing_stays_when_the_caller_is_killed() -> None:
    box()
    loop = "from taboo_cluster.sandbox.program import *; from taboo_cluster.sandbox.sandbox import find_box;"
    loop += "b = find_box(); print(flush=True);"
    loop += "run_program(Program('while True: pass', 'f', ''), b, Limits(seconds=300))"
    watch = f"""if True:
        import ctypes, os, subprocess, sys, time
        ctypes.CDLL(None).prctl(36, 1, 0, 0, 0)  # PR_SET_CHILD_SUBREAPER
        caller = subprocess.Popen([sys.executable, "-c", {loop!r}], stdout=subprocess.PIPE)
        caller.stdout.readline()
        children = f"/proc/{{caller.pid}}/task/{{caller.pid}}/children"
        while not open(children).read():
            time.sleep(0.01)
        time.sleep(0.3)
        caller.kill()
        caller.wait()
        while True:
            os.waitpid(-1, 0)  # ends with ChildProcessError once the last one is dead
    """
    found = subprocess.run([sys.executable, "-c", watch], capture_output=True, text=True, timeout=60, check=False)
    assert found.stderr.splitlines()[-1] == "ChildProcessError: [Errno 10] No child processes"


def test_j3_the_limit_that_is_set_is_the_one_that_holds() -> None:
    tests = "def check(f):\n    assert f(1) == 2\n"
    sleeper = "import time\ndef f(x):\n    time.sleep(1.0)\n    return x + 1\n"
    assert run(sleeper, tests, seconds=20.0).status == "passed"
    late = run(sleeper, tests, seconds=0.5)
    assert (late.status, late.message) == ("timeout", "not done after 0.5 s")


def test_tests_that_never_end_end_too() -> None:
    assert run("def f(x):\n    return x\n", "def check(f):\n    while True: f(1)\n", seconds=1.0).status == "timeout"


def test_calls_are_like_calls_in_one_process() -> None:
    """Values of every plain kind come and go as they are; changes to arguments are seen; errors are raised."""
    source = """
def f(kind, *given):
    if kind == 'same':
        return list(given)
    if kind == 'change':
        given[0].append(4), given[1].update(b=2), given[2].add(3)
        return None
    raise {'key': KeyError, 'own': type('Own', (Exception,), {})}[kind]('no such thing')
"""
    tests = """
import math
def check(f):
    plain = [1, -(10**5000), 1.5, -0.0, math.inf, 'é\\ud800', b'x', None, True, (1, (2,)), {1: {'a': [2]}, (1,): 3},
             {1, 2}, frozenset([3]), 1j, set(), {}]
    back = f('same', *plain)
    assert back == plain and [type(value) for value in back] == [type(value) for value in plain]
    assert math.isnan(f('same', math.nan)[0])
    assert math.copysign(1, f('same', -0.0)[0]) == -1
    numbers, names, few = [1], {'a': 1}, {2}
    assert f('change', numbers, names, few) is None
    assert (numbers, names, few) == ([1, 4], {'a': 1, 'b': 2}, {2, 3})
    for kind, error, said in (('key', KeyError, "'no such thing'"), ('own', RuntimeError, 'Own: no such thing')):
        try:
            f(kind)
        except error as caught:
            assert said in str(caught), str(caught)
        else:
            assert False
"""
    found = run(source, tests)
    assert (found.status, found.message) == ("passed", "")


def test_a_subclass_counts_as_what_it_extends() -> None:
    source = (
        "from collections import Counter, namedtuple\ndef f(x):\n    return [Counter('aab'), namedtuple('P', 'x')(1)]"
    )
    assert run(source, "def check(f):\n    assert f(1) == [{'a': 2, 'b': 1}, (1,)]").passed


@pytest.mark.parametrize("value", ["(n for n in [1])", "lambda: 1", "object()", "range(3)"])
def test_what_is_no_value_is_no_answer(value: str) -> None:
    found = run(f"def f(x):\n    return {value}\n", "def check(f):\n    f(1)\n")
    assert found.status == "failed"
    assert "is not a plain value" in found.message


def test_tests_use_what_the_setup_defines_and_not_what_the_program_made_of_it() -> None:
    source = "def helper(x):\n    return 1\ndef f(x):\n    return 1\n"
    setup = "def helper(x):\n    return x + 1\ndef f(x):\n    '''To be written.'''\n"
    tests = "def check(candidate):\n    assert candidate(1) == f(1) == 1\n    assert helper(1) == 2\n"
    assert run(source, tests, setup=setup).passed


def test_a_program_gives_the_same_in_every_run() -> None:
    """Sets of text and random numbers included; addresses are kept out of messages."""
    source = "import random\ndef f(x):\n    return [list({'a', 'b', 'c', 'd', 'e'}), random.random()]\n"
    seen = {run(source, "def check(f):\n    raise ValueError(f(1))\n").message for _ in range(3)}
    assert len(seen) == 1
    assert run("def f(x):\n    raise ValueError(f)\n", "def check(f):\n    f(1)\n").message == (
        "ValueError: <function f at 0x...>: f(1)"
    )


def test_a_main_block_does_not_run() -> None:
    source = "def f(x):\n    return x\nif __name__ == '__main__':\n    raise SystemExit('ran')\n"
    assert run(source, "def check(f):\n    assert f(1) == 1\n").passed


def test_what_a_program_prints_last_is_kept() -> None:
    found = run("print('x' * 5000)\nprint('end')\ndef f(x):\n    return x\n", "def check(f):\n    f(1)\n")
    assert found.printed == "x" * 1995 + "\nend\n"


def test_a_sandbox_that_cannot_start_says_nothing_about_the_program() -> None:
    program = Program("", "f", "")
    with pytest.raises(SandboxFailed, match="no-such-command"):
        run_program(program, Box("x", ("/no-such-command",)), Limits())
    with pytest.raises(SandboxFailed, match="x: broken"):
        run_program(program, Box("x", ("/bin/sh", "-c", "echo broken >&2; exit 1")), Limits())
    with pytest.raises(SandboxFailed, match="x: it gave no sign of life"):
        run_program(program, Box("x", ("/bin/true",)), Limits())


def test_a_box_that_is_killed_fails_its_program() -> None:
    box()
    killed = Box("x", ("/bin/sh", "-c", "echo ready; kill -9 $$"))
    assert run_program(Program("", "f", ""), killed, Limits()).status == "killed"


# --- which box, and when none ---


@pytest.fixture
def searched() -> Iterator[None]:
    find_box.cache_clear()
    yield
    find_box.cache_clear()


def test_without_a_box_running_is_refused_in_one_line(monkeypatch: pytest.MonkeyPatch, searched: None) -> None:
    never = Box("unshare", ("/bin/sh", "-c", "echo unshare: Operation not permitted >&2; exit 1"))
    monkeypatch.setattr(sandbox_module, "boxes", lambda: [never])
    with pytest.raises(UserError) as caught:
        Sandbox(Limits()).run(Program("", "f", ""))
    assert str(caught.value) == (
        "generated code cannot be shut in on this machine: install bubblewrap, allow user namespaces, or run it with "
        "limits alone with allow_unsafe_code=true (unshare: unshare: Operation not permitted)"
    )


def test_a_box_that_lets_wrong_programs_pass_is_not_used(monkeypatch: pytest.MonkeyPatch, searched: None) -> None:
    monkeypatch.setattr(sandbox_module, "boxes", lambda: [no_box()])
    monkeypatch.setattr(sandbox_module, "run_program", lambda *_: Result("passed", "", "", 0.1))
    with pytest.raises(UserError, match="a right program passed, a wrong one passed"):
        find_box()


def test_unsafe_code_is_run_with_limits_alone_where_that_is_asked_for(
    monkeypatch: pytest.MonkeyPatch, searched: None
) -> None:
    monkeypatch.setattr(sandbox_module, "boxes", lambda: [])
    sandbox = Sandbox(Limits(seconds=20), allow_unsafe=True)
    assert find_box(True) == no_box()
    tests = "def check(f):\n    assert f(1) == 2\n"
    outcomes = {
        "def f(x):\n    return x + 1": "passed",
        "def f(x):\n    return None": "failed",
        "import os\nos._exit(0)": "killed",
        "x = [0] * 10**10": "out_of_memory",
        "import os\nos.fork()": "failed",
        "import os\ndef f(x):\n    return 1 + (os.listdir() == [] and os.environ['HOME'] == os.getcwd())": "passed",
    }
    assert [sandbox.run(Program(source, "f", tests)).status for source in outcomes] == list(outcomes.values())


def test_bubblewrap_comes_first_where_it_is_installed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(boxes_module.os, "geteuid", lambda: 1000)
    for installed, names in (("/usr/bin/bwrap", ["bubblewrap", "unshare"]), (None, ["unshare"])):
        monkeypatch.setattr(boxes_module.shutil, "which", lambda _, path=installed: path)
        assert [one.name for one in boxes()] == names
    monkeypatch.setattr(boxes_module.os, "geteuid", lambda: 0)
    assert [(one.name, one.user) for one in boxes()] == [("unshare", None), ("unshare", 65534)]


# --- many at once ---


def test_j3_no_more_programs_at_once_than_cores_and_a_late_one_once_more_alone(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    lock, running, most, beside_retry, seen = threading.Lock(), 0, 0, [], {}

    def fake(program: Program, box: Box, limits: Limits) -> Result:
        nonlocal running, most
        with lock:
            running += 1
            most = max(most, running)
            seen[program.source] = seen.get(program.source, 0) + 1
            if seen[program.source] == 2:
                beside_retry.append(running - 1)
        threading.Event().wait(0.01)
        with lock:
            running -= 1
        late = program.source == "always late" or (program.source.startswith("late") and seen[program.source] == 1)
        return Result("timeout" if late else "passed", "", "", 0.0)

    monkeypatch.setattr(sandbox_module, "run_program", fake)
    monkeypatch.setattr(sandbox_module, "find_box", lambda allow_unsafe: no_box())
    sources = [f"{'late' if n % 5 == 0 else 'quick'} {n}" for n in range(40)] + ["always late"]
    results: dict[str, str] = {}

    def one(source: str) -> None:
        results[source] = Sandbox(Limits()).run(Program(source, "f", "")).status

    threads = [threading.Thread(target=one, args=(source,)) for source in sources]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert most <= (os.cpu_count() or 1)
    assert beside_retry == [0] * 9
    assert results == {source: "timeout" if source == "always late" else "passed" for source in sources}
    assert seen == {source: 2 if "late" in source else 1 for source in sources}
