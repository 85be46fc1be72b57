"""`live_table`: a table of a product's variants written down as Markdown."""
