"""`tlive parity`: vLLM held against the transformers reference, on the same samples with teacher forcing."""
