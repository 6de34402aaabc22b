"""Errors of the operating system that are no bug: what a user can do about each."""

import errno
from collections.abc import Mapping

ELSEWHERE = "make it writable for this user, or name another folder with --studies"
NO_FOLDER = "that is no folder: name another one with --studies"
MORE_ROOM = "free some space, then `autotune resume` the study"

MENDS: Mapping[int, str] = {
    errno.EACCES: ELSEWHERE,
    errno.EPERM: ELSEWHERE,
    errno.EROFS: ELSEWHERE,
    errno.EEXIST: NO_FOLDER,
    errno.ENOTDIR: NO_FOLDER,
    errno.ENOSPC: MORE_ROOM,
    errno.EDQUOT: MORE_ROOM,
    errno.EFBIG: "raise the limit of a file's size (`ulimit -f`), then `autotune resume` the study",
    errno.EMFILE: "raise the limit of open files (`ulimit -n`), then `autotune resume` the study",
}


def advice(error: OSError) -> str | None:
    """Return what went wrong, where, and what to do about it; None for an error that no user can mend."""
    mend = MENDS.get(error.errno or 0)
    where = f"{error.filename}: " if error.filename else ""
    return f"{where}{error.strerror}: {mend}" if mend else None
