"""``python -m pallas_lens``: the command line."""

from __future__ import annotations

from .cli import command

if __name__ == "__main__":
    command()
