"""A search service that finds the best way to serve an LLM and proves it."""

__version__ = "0.1.0"
