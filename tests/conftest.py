"""What all tests share."""

from hypothesis import settings

# The same examples on every machine, and no example fails for being slow on a busy one.
settings.register_profile("entail", deadline=None, derandomize=True)
settings.load_profile("entail")
