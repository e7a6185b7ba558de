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
import weakref
from dataclasses import dataclass
from types import FrameType
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
    #: An exception of the caller's before that.
    thrown: BaseException | None = None

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
        _DESCRIPTORS.add(self)

    def close(self) -> None:
        """Close it, once."""
        number, self._number = self._number, -1
        if number >= 0:
            self._close(number)

    def __del__(self) -> None:
        self.close()


_DESCRIPTORS: weakref.WeakSet[_Descriptor] = weakref.WeakSet()


def _after_fork() -> None:
    """Close what a forked process must not keep open: servers are this process's, and end with it."""
    for descriptor in list(_DESCRIPTORS):
        descriptor.close()


os.register_at_fork(after_in_child=_after_fork)


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


class _Presses:
    """Presses of Ctrl-C while a command is attended to.

    None of them is lost, and none raises, but in a callback of the caller's: between the start of a command and the
    first line of a loop, for example, nobody would end what was started. Handlers other than Python's own are left.
    """

    def __init__(self, lines: queue.SimpleQueue[bytes | None]) -> None:
        #: True while a callback runs.
        self.calling = False
        #: How often it was pressed.
        self.count = 0
        self._lines = lines
        main = threading.current_thread() is threading.main_thread()
        self._installed = main and signal.getsignal(signal.SIGINT) is signal.default_int_handler
        if self._installed:
            signal.signal(signal.SIGINT, self._pressed)

    def _pressed(self, number: int, frame: FrameType | None) -> None:
        self.count += 1
        # It wakes the loop.
        self._lines.put(b"")
        if self.calling:
            raise KeyboardInterrupt

    def call(self, on_line: Callable[[bytes], None], line: bytes) -> BaseException | None:
        """Call ``on_line``, and return what it raises, but for Ctrl-C."""
        before = self.count
        try:
            self.calling = True
            on_line(line)
        except KeyboardInterrupt:
            self.calling = False
            self.count += self.count == before
            self._lines.put(b"")
        except BaseException as error:
            self.calling = False
            return error
        finally:
            self.calling = False
        return None

    def end(self) -> None:
        """Give the handler back."""
        if self._installed:
            signal.signal(signal.SIGINT, signal.default_int_handler)


def attend(words: Sequence[str], on_line: Callable[[bytes], None], *, guarded: bool) -> Ended:
    """Run farfield with these words to its end, and call ``on_line`` with each line of its output.

    The lines are called for in the calling thread. Ctrl-C, and an exception of ``on_line``, end the command first; the
    exception is raised then, unless Ctrl-C was pressed too, which outranks it.
    """
    lines: queue.SimpleQueue[bytes | None] = queue.SimpleQueue()
    presses = _Presses(lines)
    try:
        child = start(words, guarded=guarded, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
        try:
            return _attend(child, lines, presses, on_line)
        except BaseException:
            _end(child)
            raise
    finally:
        presses.end()


def _attend(
    child: subprocess.Popen[bytes],
    lines: queue.SimpleQueue[bytes | None],
    presses: _Presses,
    on_line: Callable[[bytes], None],
) -> Ended:
    assert child.stdout is not None and child.stderr is not None
    messages = Messages(child.stderr)
    reader = threading.Thread(target=_pass_on, args=(child.stdout, lines), daemon=True)
    reader.start()
    thrown: BaseException | None = None
    passed = 0
    done = False
    while not done:
        try:
            line = lines.get()
            if line is None:
                done = True
            elif line and thrown is None:
                thrown = presses.call(on_line, line)
        except KeyboardInterrupt:
            # By a handler of somebody's, which has not called this one.
            presses.count += 1
        ends = presses.count + (thrown is not None)
        if ends > passed and not done:
            passed = ends
            if ends > 2:
                kill(child)
            else:
                child.send_signal(signal.SIGINT)
    reader.join()
    child.wait()
    if thrown is not None and presses.count == 0:
        raise thrown
    return Ended(child.returncode, messages.text(), presses.count > 0, thrown)


def _end(child: subprocess.Popen[bytes]) -> None:
    """End a child that nobody attends to any more, so that it keeps what it has."""
    if child.poll() is None:
        child.send_signal(signal.SIGINT)
        try:
            child.wait(5.0)
        except subprocess.TimeoutExpired:
            kill(child)
            child.wait()


def _pass_on(pipe: IO[bytes], lines: queue.SimpleQueue[bytes | None]) -> None:
    with pipe:
        for line in pipe:
            lines.put(line)
    lines.put(None)
