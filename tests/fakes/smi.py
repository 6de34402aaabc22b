#!/usr/bin/env python3
"""
A GPU vendor's tool: prints what it is told to, as often as it is asked.

Copied under the tool's name; a file of the same name with `.json` beside it says how to behave: `answer` is printed,
`says` goes to standard error, `code` ends it, `hangs` makes it wait for ever, `good` is how many calls go well first.
"""

import json
import os
import sys
import time
from pathlib import Path


def main() -> int:
    """Do what the file says; count the calls in another file."""
    me = Path(sys.argv[0])
    told = json.loads(me.with_name(f"{me.name}.json").read_text(encoding="utf-8"))
    calls = me.with_name(f"{me.name}.calls")
    with calls.open("a", encoding="utf-8") as file:
        file.write(f"{json.dumps(sys.argv[1:])}\n")
    good = len(calls.read_text(encoding="utf-8").splitlines()) <= told.get("good", 0)
    if told.get("hangs") and not good:
        time.sleep(600)
    os.write(1, told.get("answer", "").encode())
    os.write(2, told.get("says", "").encode())
    return 0 if good else int(told.get("code", 0))


if __name__ == "__main__":
    sys.exit(main())
