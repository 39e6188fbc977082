"""Progress: one aggregated line, plain where there is no terminal."""

import io

import pytest

from jobs.progress import LINE_S, ModelState, SweepProgress, duration, summary

STATES = [
    ModelState("a", 50, 100, 2, "running"),
    ModelState("b", 0, 100, 0, "loading"),
    ModelState("c", 100, 100, 0, "done"),
    ModelState("d", 0, 100, 1, "waiting"),
    ModelState("e", 10, 100, 0, "failed"),
]


def test_the_line_says_how_far_how_fast_how_long_and_what_is_at_work():
    line = summary("alignment", STATES, made=60, seconds=30)
    assert line == ("alignment: 160/500 trials (32%), 2.0/s, 2 min left, 3 errors | a 50/100, b loading, e failed")


def test_nothing_done_yet_promises_nothing():
    assert summary("dose", [ModelState("a", 0, 5, 0, "waiting")], 0, 0.0) == "dose: 0/5 trials (0%)"
    assert summary("dose", [], 0, 0.0) == "dose: 0/0 trials (0%)"
    assert summary("dose", [ModelState("a", 5, 5, 0, "done")], 5, 2.0) == "dose: 5/5 trials (100%)"


@pytest.mark.parametrize(
    ("seconds", "text"), [(0, "0 s"), (89.4, "89 s"), (90, "2 min"), (3600, "60 min"), (12000, "3 h 20 min")]
)
def test_durations_are_for_people(seconds, text):
    assert duration(seconds) == text


def test_e10_without_a_terminal_there_are_plain_lines_now_and_then():
    now, out = [0.0], io.StringIO()
    with SweepProgress("s", out, clock=lambda: now[0]) as progress:
        for second in range(35):
            now[0] = float(second)
            progress.update([ModelState("a", 100 + second, 200, 0, "running")])
        progress.line("FAILED b: gone")
        progress.update([ModelState("a", 200, 200, 0, "done")], last=True)
    lines = out.getvalue().splitlines()
    assert len(lines) == int(34 / LINE_S) + 2
    assert lines[0] == "s: 110/200 trials (55%), 1.0/s, 2 min left | a 110/200"
    assert lines[-2:] == ["FAILED b: gone", "s: 200/200 trials (100%)"]
    assert "\r" not in out.getvalue()


def test_on_a_terminal_each_model_has_a_bar():
    class Terminal(io.StringIO):
        def isatty(self):
            return True

    out = Terminal()
    with SweepProgress("s", out) as progress:
        progress.update(STATES, last=True)
        progress.line("FAILED [e]: gone")
    assert all(name in out.getvalue() for name in ("50/100 running, 2 errors", "0/100 waiting", "FAILED [e]: gone"))
