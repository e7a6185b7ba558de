"""Tests of the package farfield, by Python's own unittest: ``python3 -m unittest discover python/tests -t python``.

``FARFIELD_PROGRAM`` names the program that they run; `crates/farfield/tests/commands/python.rs` starts them.
"""
