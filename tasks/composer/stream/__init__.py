"""Composed live streams: a host, products one after the other, price cards, and exact times for all of it."""
