"""Runs farfield in the place of this process, with its words and its exit code."""

import os
import sys

from . import program

if __name__ == "__main__":
    path = program()
    os.execv(path, [path, *sys.argv[1:]])
