"""The place of the program farfield, which the wheel installs beside this package."""

from __future__ import annotations

import os
import shutil
import sysconfig

from .errors import ProgramMissing

#: The environment variable that names another program.
VARIABLE = "FARFIELD_PROGRAM"


def program() -> str:
    """Return the path of the program.

    It is the one that the environment variable ``FARFIELD_PROGRAM`` names; else among the scripts of the environment
    that this package is installed in, or of the user; after these, on the ``PATH``. Raises `ProgramMissing`, which is
    a FileNotFoundError, if it is nowhere.
    """
    named = os.environ.get(VARIABLE)
    if named:
        path = shutil.which(os.path.abspath(named))
        if path is None:
            raise ProgramMissing(f"{VARIABLE} names {named}, which is no program; unset it, or name farfield")
        return path
    for scheme in (None, sysconfig.get_preferred_scheme("user")):
        scripts = sysconfig.get_path("scripts", scheme) if scheme else sysconfig.get_path("scripts")
        path = os.path.join(scripts, "farfield")
        if os.path.isfile(path):
            return path
    found = shutil.which("farfield")
    found = found and os.path.abspath(found)
    if not found:
        raise ProgramMissing(
            "farfield is not among the scripts of this environment: install its wheel again with pip"
        )
    return found
