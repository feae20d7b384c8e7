"""What is generated from the code: rule pages, tables, settings. ``python -m pallas_lens.generate [--check]``."""
