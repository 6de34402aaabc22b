"""What must not get worse: accuracy tasks, gates and verdicts.

`evals.harness.load` gives the exam; it is imported by name because lm-eval takes seconds to import.
"""

from evals.exam import Answer, Exam, Identity, Request, TaskError
from evals.gate import FilterResult, Gate, Scored, Verdict, collapse, reference
from evals.judge import Ask, judge, smell

__all__ = [
    "Answer",
    "Ask",
    "Exam",
    "FilterResult",
    "Gate",
    "Identity",
    "Request",
    "Scored",
    "TaskError",
    "Verdict",
    "collapse",
    "judge",
    "reference",
    "smell",
]
