"""Starts programs, waits for them, and says what they took: a process of its own, with no other module of mobai.

It is small, because Linux counts what a process had before it became another program among its peak memory: started
from Python with NumPy, every command would seem to take a hundred megabytes. From here it is ten at the least.

Reads a JSON object per line: ``argv`` and ``output`` (whether to show it); writes one with what it took.
"""

import json
import os
import signal
import sys
import time


def main() -> None:
    """Serve until the input ends."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # it is for the program that is timed, and for who started this
    answers = os.fdopen(os.dup(1), "w")
    os.dup2(2, 1)
    for line in sys.stdin:
        wanted = json.loads(line)
        try:
            print(json.dumps(run(wanted["argv"], wanted["output"])), file=answers, flush=True)
        except BrokenPipeError:  # who asked has been interrupted
            os._exit(0)


def run(argv: list[str], output: bool) -> dict[str, object]:
    """Run a program to its end."""
    actions = [(os.POSIX_SPAWN_OPEN, 0, os.devnull, os.O_RDONLY, 0)]
    if not output:
        actions += [(os.POSIX_SPAWN_OPEN, stream, os.devnull, os.O_WRONLY, 0) for stream in (1, 2)]
    begin = time.perf_counter()
    try:
        child = os.posix_spawnp(argv[0], argv, os.environ, file_actions=actions, setsigdef=[signal.SIGINT])
    except OSError as error:
        return {"failed": error.strerror}
    _, status, used = os.wait4(child, 0)
    seconds = time.perf_counter() - begin
    # macOS counts bytes, all others kilobytes.
    memory = used.ru_maxrss * (1 if sys.platform == "darwin" else 1024)
    code = os.waitstatus_to_exitcode(status)
    return {"seconds": seconds, "user": used.ru_utime, "system": used.ru_stime, "memory": memory, "code": code}


if __name__ == "__main__":
    main()
