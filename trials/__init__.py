"""One trial: start an engine, load it, judge it, stop it."""
