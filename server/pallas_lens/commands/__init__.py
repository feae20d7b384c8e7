"""The commands of ``pallas-lens``: one module each, a function from parsed arguments to the exit code."""
