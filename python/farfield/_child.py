"""Commands of farfield as child processes, with what they print, and with Ctrl-C passed on once.

A child has a session of its own, so that Ctrl-C in a terminal reaches it only from here: the first one ends it as it
ends farfield in a terminal, the second at once with its last checkpoint, the third kills it. It ends too when this
process does, however that ends.
"""

from __future__ import annotations

import os
import queue
import signal
import subprocess
import sys
import threading
from dataclasses import dataclass
from typing import IO, Any, Callable, Sequence

from ._program import program
from .errors import BY_CODE, FarfieldError, Interrupted, ProgramMissing, ScenarioError

#: Bytes of messages that are kept: the first and the last half of it.
MESSAGES_MAX = 64 << 10
_GUARD = os.path.join(os.path.dirname(os.path.abspath(__file__)), "_guard.py")


@dataclass
class Ended:
    """A command that has ended."""

    #: The exit code; negative if a signal ended it.
    code: int
    #: What it wrote to standard error.
    messages: str
    #: True if Ctrl-C was pressed in this process.
    interrupted_here: bool

    def sentence(self) -> str:
        """Return the reason that it gives, or that follows from its exit code."""
        text = self.messages.strip()
        if text:
            return "\n".join(line.removeprefix("farfield: ").removeprefix("error: ") for line in text.splitlines())
        if self.code < 0:
            return f"farfield was ended by signal {-self.code} ({_signal_name(-self.code)})"
        return f"farfield ended with exit code {self.code} and no message"

    def error(self) -> FarfieldError:
        """Return the exception of its exit code."""
        sentence = self.sentence()
        if self.code in (-signal.SIGINT, -signal.SIGTERM, -signal.SIGHUP):
            return Interrupted(sentence)
        return BY_CODE.get(self.code, FarfieldError)(sentence, code=self.code)


def _signal_name(number: int) -> str:
    try:
        return signal.Signals(number).name
    except ValueError:
        return "unknown"


def start(words: Sequence[str], *, guarded: bool, **streams: Any) -> subprocess.Popen[bytes]:
    """Start farfield with these words.

    ``guarded``: by a process between that ends it when this one is gone; `farfield run` sees to that itself.
    Raises ProgramMissing, FarfieldError.
    """
    return start_command([program(), *words], guarded=guarded, **streams)


def start_command(command: Sequence[str], *, guarded: bool, **streams: Any) -> subprocess.Popen[bytes]:
    """Start a command, as `start` does."""
    ends: tuple[int, ...] = ()
    alive: _Descriptor | None = None
    command = list(command)
    try:
        if guarded and sys.executable:
            reading, writing = os.pipe()
            ends, alive = (reading,), _Descriptor(writing)
            command = [sys.executable, "-I", "-S", _GUARD, str(reading), *command]
        started = subprocess.Popen(
            command, stdin=subprocess.DEVNULL, start_new_session=True, pass_fds=ends, **streams
        )
    except FileNotFoundError as error:
        raise ProgramMissing(f"{command[0]} cannot be started: {error}") from error
    except OSError as error:
        if error.errno == 7:  # E2BIG
            raise ScenarioError("the keywords are longer than a command line; write a scenario file") from error
        raise FarfieldError(f"{command[0]} cannot be started: {error}") from error
    finally:
        for end in ends:
            os.close(end)
    # Closed with the object, or by the kernel when this process ends.
    started._farfield_alive = alive  # type: ignore[attr-defined]
    return started


def kill(child: subprocess.Popen[bytes]) -> None:
    """Kill a child with what it has started in its session's first group."""
    try:
        os.killpg(child.pid, signal.SIGKILL)
    except ProcessLookupError:
        pass


class _Descriptor:
    """A descriptor that is closed when nothing refers to it any more."""

    def __init__(self, number: int) -> None:
        self._number = number
        # Modules may be gone before this is, as an interpreter ends.
        self._close = os.close

    def __del__(self) -> None:
        self._close(self._number)


class Messages:
    """What a child writes to a pipe, read by a thread so that it never waits; the middle of much is left out."""

    def __init__(self, pipe: IO[bytes]) -> None:
        self._first = bytearray()
        self._last = bytearray()
        self._pipe = pipe
        self._thread = threading.Thread(target=self._read, daemon=True)
        self._thread.start()

    def _read(self) -> None:
        half = MESSAGES_MAX // 2
        with self._pipe as pipe:
            while chunk := os.read(pipe.fileno(), 1 << 16):
                room = half - len(self._first)
                self._first += chunk[:room] if room > 0 else b""
                self._last += chunk[max(room, 0) :]
                del self._last[:-half]

    def text(self, patience_s: float | None = None) -> str:
        """Return the text, once the child has closed the pipe, or after so many seconds."""
        self._thread.join(patience_s)
        return (bytes(self._first) + bytes(self._last)).decode("utf-8", "replace")


def attend(words: Sequence[str], on_line: Callable[[bytes], None], *, guarded: bool) -> Ended:
    """Run farfield with these words to its end, and call ``on_line`` with each line of its output.

    The lines are called for in the calling thread. Ctrl-C, and an exception of ``on_line``, end the command first.
    """
    child = start(words, guarded=guarded, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    assert child.stdout is not None and child.stderr is not None
    messages = Messages(child.stderr)
    lines: queue.SimpleQueue[bytes | None] = queue.SimpleQueue()
    reader = threading.Thread(target=_pass_on, args=(child.stdout, lines), daemon=True)
    reader.start()
    presses = 0
    thrown: BaseException | None = None
    done = False
    while not done:
        try:
            line = lines.get()
            if line is None:
                child.wait()
                done = True
            elif thrown is None:
                on_line(line)
        except BaseException as error:
            if isinstance(error, KeyboardInterrupt):
                presses += 1
            else:
                thrown = thrown or error
            if presses > 2:
                kill(child)
            else:
                child.send_signal(signal.SIGINT)
    reader.join()
    if thrown is not None:
        raise thrown
    return Ended(child.returncode, messages.text(), presses > 0)


def _pass_on(pipe: IO[bytes], lines: queue.SimpleQueue[bytes | None]) -> None:
    with pipe:
        for line in pipe:
            lines.put(line)
    lines.put(None)
