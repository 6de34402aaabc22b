"""What must not get worse: accuracy tasks, gates and verdicts."""
