"""`realworldqa`: questions on photographs from vehicles and everyday life."""
