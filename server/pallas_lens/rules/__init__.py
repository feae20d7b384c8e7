"""Rules: what the TPU compiler refuses, one file a rule in ``catalog``."""
