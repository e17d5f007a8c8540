"""What all tests share."""

from hypothesis import HealthCheck, settings

# The same examples on every machine, and no example fails for being slow on a busy one.
settings.register_profile(
    "entail", deadline=None, derandomize=True, suppress_health_check=[HealthCheck.too_slow]
)
settings.load_profile("entail")
