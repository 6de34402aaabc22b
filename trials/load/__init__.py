"""The load generator: what is sent, how it is timed, what the timings mean."""
