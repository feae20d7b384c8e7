"""Pallas Lens: what the TPU compiler would say about a Pallas kernel, while it is being written."""

__version__ = "0.1.0"
