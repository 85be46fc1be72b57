"""`live_selling_points`: what a live stream shows or says that sells, one fact an item."""
