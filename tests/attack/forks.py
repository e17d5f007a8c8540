"""Work in forked processes, which report what they have done until they are killed."""

import json
import os
import random
import signal
import time
import traceback
from collections.abc import Callable
from typing import Any

Report = Callable[..., None]
Work = Callable[[Report], None]


class Fork:
    """Process that does some work, such as `lambda report: report("done")`; it starts within milliseconds."""

    def __init__(self, work: Work) -> None:
        read, write = os.pipe()
        self.pid = os.fork()
        if not self.pid:
            code = 1
            try:
                # One write of a short line is atomic: a report is there, or it is not.
                work(lambda *done: os.write(write, json.dumps(done).encode() + b"\n"))
                code = 0
            except BaseException:  # nothing may go on in a copy of pytest
                traceback.print_exc()
            finally:
                os._exit(code)
        os.close(write)
        self._reports = os.fdopen(read, "rb")

    def kill(self) -> None:
        os.kill(self.pid, signal.SIGKILL)

    def has_ended(self) -> bool:
        return os.waitid(os.P_PID, self.pid, os.WEXITED | os.WNOHANG | os.WNOWAIT) is not None

    def join(self) -> tuple[list[Any], int]:
        """Return what it reported, and its exit status, negative for a signal."""
        with self._reports:
            reports = [json.loads(line) for line in self._reports]
        return reports, os.waitstatus_to_exitcode(os.waitpid(self.pid, 0)[1])


def run(*works: Work) -> list[Any]:
    """Do works at once, each in a fork of its own; return what each reported. Raise if one fails."""
    ended = [fork.join() for fork in [Fork(work) for work in works]]
    assert [code for _, code in ended] == [0] * len(works)
    return [reports for reports, _ in ended]


class Striker:
    """Kills processes at random moments of their work, and counts the kills."""

    def __init__(self, seed: int) -> None:
        self.draw = random.Random(seed)
        self.kills = 0
        self._seconds: dict[str, float] = {}

    def strike(
        self, kind: str, *works: Work, seconds: float | None = None, sign: Callable[[], bool] | None = None
    ) -> list[list[Any]]:
        """Kill works, run at once, after a random part of the time that they take; return their reports.

        `seconds` stands for this time if they would not end. A work of a kind is first let be, to measure it.
        Every other time the works are killed within 10 ms of a sign that something is half done.
        """
        if seconds is None and kind not in self._seconds:
            began = time.monotonic()
            reports = run(*works)
            self._seconds[kind] = time.monotonic() - began
            return reports
        forks = [Fork(work) for work in works]
        if sign is not None and self.draw.random() < 0.5:
            while not sign() and not any(fork.has_ended() for fork in forks):
                time.sleep(0.0002)
            seconds = 10 ** self.draw.uniform(-4, -2)
        time.sleep(self.draw.uniform(0, self._seconds[kind] if seconds is None else seconds))
        for fork in forks:
            fork.kill()
        ended = [fork.join() for fork in forks]
        codes = [code for _, code in ended]
        assert set(codes) <= {0, -signal.SIGKILL}, "an error of its own"
        self.kills += codes.count(-signal.SIGKILL)
        return [reports for reports, _ in ended]
