"""The backend behind `--model tliveomni_server`: an OpenAI-compatible server that already runs."""
