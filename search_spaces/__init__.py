"""What may vary: search-space files, and recipes resolved from them."""
