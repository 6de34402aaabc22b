"""What to try next, and what was learned: the only package that imports optuna."""
