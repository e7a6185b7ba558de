"""Dataclasses of what farfield writes as JSON, a module for each schema of docs/.

``summary`` has those of ``summary.json`` in a run directory, ``capacity``, ``sweep`` and ``verify`` those of the
commands' own results. They are written by python/generate.py.
"""
