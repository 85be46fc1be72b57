"""`live_unanswerable`: prices that the picture does not show, beside twins that it does."""
