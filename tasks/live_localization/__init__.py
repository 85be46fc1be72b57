"""`live_localization`: where in a picture of a live stream the asked-for products are."""
