"""The page over a store, served on this machine."""
