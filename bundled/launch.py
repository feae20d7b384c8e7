"""Starts Pallas Lens from the libraries beside this file, whatever the interpreter has installed itself.

The extension calls it as ``python -I launch.py server``; the arguments are those of the command line.
"""

import runpy
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent / "libs"))
sys.argv[0] = "pallas-lens"
runpy.run_module("pallas_lens", run_name="__main__", alter_sys=True)
