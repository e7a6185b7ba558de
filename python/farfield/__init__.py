"""The program farfield, installed beside this module: where it is, and a way to run it.

``python -m farfield`` runs it with the words that follow.
"""

import os
import shutil
import sysconfig

__all__ = ["program"]


def program():
    """Return the path of the program.

    It is among the scripts of the environment that this module is installed in, or of the user; after these, on
    the ``PATH``. Raises FileNotFoundError if it is nowhere.
    """
    schemes = [None, sysconfig.get_preferred_scheme("user")] if hasattr(
        sysconfig, "get_preferred_scheme") else [None, "posix_user"]
    for scheme in schemes:
        scripts = sysconfig.get_path("scripts", scheme) if scheme else sysconfig.get_path("scripts")
        path = os.path.join(scripts, "farfield")
        if os.path.isfile(path):
            return path
    found = shutil.which("farfield")
    if found is None:
        raise FileNotFoundError(
            "farfield is not among the scripts of this environment: install its wheel again with pip")
    return found
