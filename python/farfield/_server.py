"""The built-in server, and servers of others, for as long as a block of code lasts."""

from __future__ import annotations

import os
import queue
import re
import shlex
import signal
import socket
import subprocess
import threading
import time
import urllib.parse
from types import TracebackType
from typing import IO, TYPE_CHECKING, Any, Sequence

from . import _child, _listeners
from ._child import Ended, Messages
from ._values import word_of
from ._words import words_of
from .errors import FarfieldError, ScenarioError

if TYPE_CHECKING:
    from typing_extensions import Unpack

    from ._keywords import ServeKeywords

#: Seconds that a server has to end after SIGINT, before it is killed.
END_S = 5.0
#: Seconds that a server has to begin.
START_S = 30.0


class Server:
    """A server that was started here; a context manager that ends it."""

    def __init__(self, url: str, child: subprocess.Popen[bytes], messages: Messages) -> None:
        #: Its URL.
        self.url = url
        #: The digest of its certificate's key for ``tls.pins``; None without TLS.
        self.pin: str | None = None
        #: True once `stop` was called.
        self.stopped = False
        self._child = child
        self._messages = messages

    @property
    def running(self) -> bool:
        """True until it has ended."""
        return not _has_ended(self._child)

    def stop(self) -> None:
        """End the server, which has five seconds for that, and what it has started. Later calls do nothing."""
        self.stopped = True
        _stop(self._child)

    def messages(self) -> str:
        """Return what it wrote to standard error, as far as it has ended."""
        return self._messages.text(0.0 if self.running else 1.0)

    def _ended_with(self) -> int:
        """Stop it, and return its exit code."""
        self.stop()
        return int(self._child.returncode)

    def __enter__(self) -> Server:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.stop()

    def __str__(self) -> str:
        return self.url

    def __repr__(self) -> str:
        return f"<farfield.Server {self.url}{'' if self.running else ', ended'}>"


def _has_ended(child: subprocess.Popen[bytes]) -> bool:
    """True once a child has ended. Its number is kept until `_stop`, so that no other process gets it."""
    if child.returncode is not None:
        return True
    try:
        return os.waitid(os.P_PID, child.pid, os.WEXITED | os.WNOWAIT | os.WNOHANG) is not None
    except ChildProcessError:
        return child.poll() is not None


def _stop(child: subprocess.Popen[bytes]) -> None:
    if child.returncode is not None:
        return
    if not _has_ended(child):
        child.send_signal(signal.SIGINT)
        deadline = time.monotonic() + END_S
        while not _has_ended(child) and time.monotonic() < deadline:
            time.sleep(0.01)
    # Also what it has started, and has left; before its number may be another's.
    _child.kill(child)
    child.wait()


def serve(address: str = "127.0.0.1:0", **keywords: Unpack[ServeKeywords]) -> Server:
    """Start the built-in server, and return it once it listens: a context manager with its ``url``.

    Port 0 is a free one. Keywords are flags of `farfield serve`, such as ``service_time="2ms"``. It ends with the
    block, with `Server.stop`, and when this process ends in any way.
    """
    words = ["serve", *words_of("serve", keywords), "--", word_of(address, "address")]
    child = _child.start(words, guarded=True, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    assert child.stdout is not None and child.stderr is not None
    messages = Messages(child.stderr)
    lines: queue.SimpleQueue[bytes | None] = queue.SimpleQueue()
    threading.Thread(target=_lines, args=(child.stdout, lines), daemon=True).start()
    try:
        first = _next(lines)
        found = re.match(rb"serving (https?://[^ ]+)", first or b"")
        if found is None:
            _stop(child)
            raise Ended(child.returncode, messages.text(1.0), False).error()
        server = Server(found[1].decode(), child, messages)
        if server.url.startswith("https"):
            pin = re.search(rb'tls\.pins=\["([^"]+)"\]', _next(lines) or b"")
            server.pin = pin[1].decode() if pin else None
        return server
    except BaseException:
        _stop(child)
        raise


def _lines(pipe: IO[bytes], lines: queue.SimpleQueue[bytes | None]) -> None:
    """Pass the first lines on, and read the others, so that the server never waits for a reader."""
    with pipe:
        for number, line in enumerate(pipe):
            if number < 2:
                lines.put(line)
    lines.put(None)


def _next(lines: queue.SimpleQueue[bytes | None]) -> bytes | None:
    try:
        return lines.get(timeout=START_S)
    except queue.Empty:
        raise FarfieldError(f"farfield serve has not begun within {START_S:g} s") from None


def start_server(command: str | Sequence[str], url: str, *, ready_s: float = START_S, **streams: Any) -> Server:
    """Start a server of another kind, and return it once its port takes connections.

    ``command`` is split as a shell splits it, without a shell. ``{port}`` in the URL is a free port, also where the
    command has it: ``start_server("app --port {port}", "http://127.0.0.1:{port}/")``. The port must be the command's,
    or a process's that it has started; where that cannot be seen (another user's process, another network), whoever
    listens is taken for it. Raises FarfieldError, with what the server wrote, if it ends, or takes no connection in
    time.
    """
    words = shlex.split(command) if isinstance(command, str) else [os.fspath(word) for word in command]
    if not words:
        raise ScenarioError("start_server: the command is empty")
    if "{port}" in url:
        port = str(_listeners.free_port())
        url, words = url.replace("{port}", port), [word.replace("{port}", port) for word in words]
    place = urllib.parse.urlsplit(url)
    if place.scheme not in ("http", "https") or place.hostname is None:
        raise ScenarioError(f"{url}: write a URL such as http://127.0.0.1:8080/")
    try:
        port_of_url = place.port
    except ValueError as error:
        raise ScenarioError(f"{url}: {error}") from error
    at = (place.hostname, port_of_url or (443 if place.scheme == "https" else 80))
    if _listens(at):
        raise FarfieldError(
            f"something listens on {at[0]}:{at[1]} already, which would be loaded instead of {command!r}"
        )
    child = _child.start_command(words, guarded=True, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, **streams)
    assert child.stderr is not None
    server = Server(url, child, Messages(child.stderr))
    try:
        deadline = time.monotonic() + ready_s
        while True:
            other = None
            if _listens(at):
                other = _listeners.other_than(child.pid, at[1])
                if other is None:
                    return server
            if not server.running:
                raise FarfieldError(f"{words[0]} ended with {server._ended_with()}: {server.messages().strip()}")
            if time.monotonic() > deadline:
                if other is not None:
                    raise FarfieldError(f"process {other} listens on {at[0]}:{at[1]}, and not {words[0]}")
                raise FarfieldError(f"{words[0]} takes no connection on {at[0]}:{at[1]} within {ready_s:g} s")
            time.sleep(0.02)
    except BaseException:
        server.stop()
        raise


def _listens(at: tuple[str, int]) -> bool:
    try:
        with socket.create_connection(at, timeout=1.0):
            return True
    except OSError:
        return False
