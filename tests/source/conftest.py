"""Settings of the property tests."""

from __future__ import annotations

from hypothesis import HealthCheck, settings

# A deadline would test the machine and what else runs on it.
settings.register_profile("unhurried", deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.load_profile("unhurried")
