import os

from hypothesis import settings

# A run of the tests in several processes sets a width; without one, output is as wide as where no terminal is.
os.environ.pop("COLUMNS", None)

# A busy machine must not fail a property: no test depends on the clock.
settings.register_profile("tliveomni", deadline=None)
settings.load_profile("tliveomni")
