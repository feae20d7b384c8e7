"""What the user's Python environment has: its packages as files, and a process that reads them where that is much."""
