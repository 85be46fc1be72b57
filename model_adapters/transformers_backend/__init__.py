"""The backend `tliveomni_hf`: transformers in this process, the reference that other backends are held against."""
