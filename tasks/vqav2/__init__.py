"""`vqav2`: short answers to questions on photographs, against ten annotators."""
