"""TLiveOmni-nano: a small checkpoint of the same architecture, its training and its weights."""
