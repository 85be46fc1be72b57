from hypothesis import settings

# A busy machine must not fail a property: no test depends on the clock.
settings.register_profile("tliveomni", deadline=None)
settings.load_profile("tliveomni")
