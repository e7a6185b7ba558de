"""Runs a command, and ends it, with what it has started, when the process that asked for it is gone.

That process may have ended in any way.

``python _guard.py DESCRIPTOR COMMAND…``: the descriptor is the reading end of a pipe, of which the asking process has
the other end; the kernel closes that when the process ends, also after SIGKILL. Signals that end this process are
passed on, and its exit code is the command's.
"""

import os
import select
import signal
import subprocess
import sys


def main() -> int:
    """Run the command of the words."""
    descriptor = int(sys.argv[1])
    if os.getpgrp() != os.getpid():
        os.setpgid(0, 0)
    command = subprocess.Popen(sys.argv[2:])

    def pass_on(number: int, frame: object) -> None:
        command.send_signal(number)

    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, pass_on)
    own, woken = os.pipe()
    for end in (own, woken):
        os.set_blocking(end, False)
    signal.set_wakeup_fd(woken, warn_on_full_buffer=False)
    signal.signal(signal.SIGCHLD, lambda number, frame: None)
    asked = False
    while command.poll() is None:
        ends = [own] if asked else [own, descriptor]
        ready, _, _ = select.select(ends, [], [], 5.0 if asked else None)
        if own in ready:
            try:
                os.read(own, 512)
            except BlockingIOError:
                pass
        if descriptor in ready:
            asked = True
            # As Ctrl-C in a terminal: to all that the command has started, too. Once, and not to this process.
            signal.signal(signal.SIGINT, signal.SIG_IGN)
            os.killpg(0, signal.SIGINT)
        elif asked and not ready:
            os.killpg(0, signal.SIGKILL)
    if asked:
        # What it has left, and this process, for whose exit code nobody waits any more.
        os.killpg(0, signal.SIGKILL)
    code = command.returncode
    return code if code >= 0 else 128 - code


if __name__ == "__main__":
    sys.exit(main())
