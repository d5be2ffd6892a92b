# The end of each peer: it answers lines "COUNT ROW" with the seconds of COUNT runs of a row, as JSON.
import json
import sys
import time


def seconds(once):
    """Of a run, or what it says itself if it returns a float."""
    start = time.perf_counter()
    took = once()
    end = time.perf_counter()
    return took if isinstance(took, float) else end - start


def answer(version, rows, run=seconds):
    """rows make by name what run is given; run returns seconds. The first of several runs is not counted."""
    print(version, flush=True)
    name, side = None, None
    for line in sys.stdin:
        count, row = line.rstrip('\n').split(' ', 1)
        if row != name:
            side = None  # gives its memory back before the next takes its own
            name, side = row, rows.get(row, lambda: None)()
        if int(count) > 1:
            run(side)
        print(json.dumps([run(side) for _ in range(int(count))]), flush=True)


