"""Tests of the package farfield, by Python's own unittest: ``python3 -m unittest discover python/tests -t python``.

``FARFIELD_PROGRAM`` names the program that they run; `crates/farfield/tests/commands/python.rs` starts them.
"""

import signal

# In the background of a shell Ctrl-C is ignored, by all that is started too, and tests press it.
signal.signal(signal.SIGINT, signal.default_int_handler)
