"""`live_spatial`: which product stands left of, right of, above, below or nearest to another."""
