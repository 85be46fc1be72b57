"""`live_counting`: how many products of a kind or colour are on the shelf."""
