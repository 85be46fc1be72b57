"""`live_caption`: a short caption of a live stream that names what is in it."""
