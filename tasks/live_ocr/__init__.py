"""`live_ocr`: prices, SKUs, names, promotions and tables read off a live-stream frame."""
