"""What must not get worse: accuracy tasks, gates and verdicts.

`evals.harness.load` gives the exam; it is imported by name because lm-eval takes seconds to import.
"""

from evals.exam import Answer, Endpoint, Exam, Identity, Message, Request, TaskError
from evals.gate import FilterResult, Gate, Reference, Scored, Verdict
from evals.judge import Ask, judge, largest, protocol, smell
from evals.protocol import EvalProtocol, output_budget
from evals.verdict import collapse, reference

__all__ = [
    "Answer",
    "Ask",
    "Endpoint",
    "EvalProtocol",
    "Exam",
    "FilterResult",
    "Gate",
    "Identity",
    "Message",
    "Reference",
    "Request",
    "Scored",
    "TaskError",
    "Verdict",
    "collapse",
    "judge",
    "largest",
    "output_budget",
    "protocol",
    "reference",
    "smell",
]
