"""What the command line prints: one module a form."""
