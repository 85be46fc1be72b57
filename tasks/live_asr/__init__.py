"""`live_asr`: speech of a live stream as text, with the words it may hold given beforehand."""
