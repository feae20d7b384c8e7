"""Started as a script, `USER_PYTHON …/worker/__main__.py serve|once`, by the client.

Standard input carries the client's messages and standard output the worker's, until both are put aside here, before
any other code could print. The user's interpreter need not have this package: its folder is on `sys.path` for as long
as the package is imported, and not when user code runs.

This file itself must be read by any Python 3, to be able to say that the interpreter is too old.
"""

import os
import sys


def main() -> None:
    """Serve jobs (`serve`), or run one in this process (`once`)."""
    source, sink = os.dup(0), os.dup(1)
    nothing = os.open(os.devnull, os.O_RDONLY)
    os.dup2(nothing, 0)
    os.close(nothing)
    os.dup2(2, 1)
    if sys.version_info < (3, 10):  # noqa: UP036
        version = ".".join(map(str, sys.version_info[:3]))
        line = '{"type":"unavailable","lacks":"python","found":"%s","detail":"Python %s is older than 3.10"}\n'
        os.write(sink, (line % (version, version)).encode())
        return
    # Python put the folder of this file in front, where its modules would hide the user's of the same name.
    folder = os.path.dirname(os.path.abspath(__file__))
    sys.path[:] = [entry for entry in sys.path if os.path.abspath(entry or ".") != folder]
    packages = os.path.dirname(os.path.dirname(os.path.dirname(folder)))
    sys.path.insert(0, packages)
    try:
        from pallas_lens.runtime.worker.start import start
    finally:
        sys.path.remove(packages)
    start(sys.argv[1], source, sink)


if __name__ == "__main__":
    main()
