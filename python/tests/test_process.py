"""Forks, spawned processes, signals, and servers that do not answer."""
import http.server
import multiprocessing
import os
import signal
import socket
import subprocess
import sys
import threading
import time

import numpy as np

from common import DIGITS, TESTDATA, Skipped, here, main, need, refused

import h5dnn
from h5dnn import ops

FIELDS = {"x": "train/images", "y": "train/labels"}


def loader(**settings):
    return h5dnn.Loader(DIGITS, FIELDS, **{"batch_size": 100, "seed": 3, "index": "row", **settings})


def rows(batches):
    return [r for b in batches for r in b["row"].tolist()]


def in_child(work):
    """What work returns in the child of a fork."""
    receive, send = os.pipe()
    pid = os.fork()
    if pid == 0:
        try:
            os.write(send, repr(work()).encode())
        except BaseException as error:
            os.write(send, f"{type(error).__name__}: {error}".encode())
        os._exit(0)
    os.close(send)
    deadline = time.time() + 60
    while os.waitpid(pid, os.WNOHANG)[0] == 0:
        if time.time() > deadline:
            os.kill(pid, signal.SIGKILL)
            os.waitpid(pid, 0)
            raise AssertionError("the child of a fork hangs")
        time.sleep(0.005)
    with os.fdopen(receive) as pipe:
        return pipe.read()


def test_children_of_a_fork_read_on():
    f, l, whole = h5dnn.File(DIGITS), loader(), rows(loader())
    d, it = f["train/images"], iter(l)
    first = [next(it) for _ in range(4)]
    want = d[5].tolist()

    def work():
        rest = rows(it)
        grandchild = in_child(lambda: (d[5].tolist() == want, len(rows(loader()))))
        return rows(first) + rest == whole, d[5].tolist() == want, f["test/labels"].shape, grandchild
    for _ in range(3):
        assert in_child(work) == f"(True, True, (360,), {str((True, 1437))!r})"
    assert rows(first) + rows(it) == whole and d[5].tolist() == want


def test_a_fork_while_threads_read():
    f, stop = h5dnn.File(DIGITS), threading.Event()

    def work():
        while not stop.is_set():
            rows(loader())
            f["train/images"][:]
    threads = [threading.Thread(target=work) for _ in range(3)]
    for t in threads:
        t.start()
    try:
        for _ in range(8):
            assert in_child(lambda: len(rows(loader()))) == "1437"
    finally:
        stop.set()
        for t in threads:
            t.join()


def test_operations_on_threads_and_in_forks():
    x = np.random.default_rng(1).standard_normal((600, 600)).astype(np.float32)
    want, wrong, stop = ops.matmul(x, x), [], threading.Event()

    def work():
        while not stop.is_set():
            if not (ops.matmul(x, x) == want).all():
                wrong.append(True)

    def compute():
        return bool(np.allclose(ops.matmul(x, x), want, atol=1e-3)), float(ops.exp(np.zeros((900, 900))).sum())
    threads = [threading.Thread(target=work) for _ in range(3)]
    for t in threads:
        t.start()
    try:
        for _ in range(3):
            assert in_child(lambda: (compute(), in_child(compute))) == "((True, 810000.0), '(True, 810000.0)')"
    finally:
        stop.set()
        for t in threads:
            t.join()
    assert not wrong


def test_objects_of_the_parent_end_quietly_in_a_child():
    f, l = h5dnn.File(DIGITS), loader()
    batches = list(l)

    def work():
        nonlocal f, l, batches
        total = sum(int(b["y"].sum()) for b in batches)
        f = l = batches = None
        return total > 0
    assert in_child(work) == "True"


def spawned(l, d, queue):
    queue.put((rows(l), d[3].tolist()))


def test_spawned_processes_get_loaders_and_datasets():
    l, d = loader(), h5dnn.File(DIGITS)["train/images"]
    whole, it = rows(loader()), iter(l)
    first = rows([next(it), next(it)])
    context = multiprocessing.get_context("spawn")
    queue = context.Queue()
    processes = [context.Process(target=spawned, args=(l, d, queue)) for _ in range(2)]
    for p in processes:
        p.start()
    for _ in processes:
        got, row = queue.get(timeout=60)
        assert first + got == whole and row == d[3].tolist()
    for p in processes:
        p.join()


def distributed(rank, path, queue):
    import torch.distributed
    torch.distributed.init_process_group("gloo", init_method=f"file://{path}", rank=rank, world_size=2)
    queue.put(rows(loader()))
    torch.distributed.destroy_process_group()


def test_two_processes_of_torch_distributed_share_an_epoch():
    need("torch")
    context = multiprocessing.get_context("spawn")
    queue, path = context.Queue(), f"/tmp/h5dnn-test-{os.getpid()}"
    processes = [context.Process(target=distributed, args=(k, path, queue)) for k in range(2)]
    for p in processes:
        p.start()
    shares = [queue.get(timeout=120) for _ in processes]
    for p in processes:
        p.join()
    if os.path.exists(path):
        os.remove(path)
    assert sorted(sum(shares, [])) == list(range(1437)) and abs(len(shares[0]) - len(shares[1])) <= 1


INTERRUPTED = f"""
import sys; sys.path.insert(0, {os.path.dirname(here)!r})
import h5dnn
print("begun", flush=True)
try:
    h5dnn.open(sys.argv[1])
except KeyboardInterrupt:
    print("interrupted", flush=True)
"""


def test_ctrl_c_ends_waiting_for_a_server():
    silent = socket.socket()
    silent.bind(("127.0.0.1", 0))
    silent.listen()
    p = subprocess.Popen([sys.executable, "-B", "-c", INTERRUPTED, f"http://127.0.0.1:{silent.getsockname()[1]}/x.h5"], stdout=subprocess.PIPE, text=True)
    assert p.stdout.readline() == "begun\n"
    time.sleep(1)
    began = time.time()
    p.send_signal(signal.SIGINT)
    assert p.stdout.readline() == "interrupted\n" and p.wait(10) == 0 and time.time() - began < 5
    silent.close()


ENDLESS = f"""
import sys; sys.path.insert(0, {os.path.dirname(here)!r})
import h5dnn
l = h5dnn.Loader(sys.argv[1], {{"x": "train/images"}}, batch_size=1)
print("begun", flush=True)
try:
    while True:
        for b in l: pass
except KeyboardInterrupt:
    print("interrupted", flush=True)
"""


def test_ctrl_c_ends_a_loop():
    for k in range(10):  # wherever it comes: in a finalizer it would be lost
        p = subprocess.Popen([sys.executable, "-B", "-c", ENDLESS, DIGITS], stdout=subprocess.PIPE, text=True)
        try:
            assert p.stdout.readline() == "begun\n"
            time.sleep(0.2 + 0.0137 * k)
            p.send_signal(signal.SIGINT)
            assert p.wait(30) == 0 and p.stdout.read() == "interrupted\n"
        finally:
            p.kill()
            p.stdout.close()


class Ranges(http.server.BaseHTTPRequestHandler):
    """Serves ranges of a file, at first DIGITS."""

    protocol_version = "HTTP/1.1"
    file, tag = DIGITS, '"1"'

    def do_GET(self):
        with open(self.file, "rb") as f:
            content = f.read()
        first, last = self.headers["Range"].removeprefix("bytes=").split("-")
        first, last = int(first), min(int(last or len(content)), len(content) - 1)
        if self.path != "/digits.h5":
            self.send_response(404)
            self.send_header("Content-Length", "0")
            return self.end_headers()
        self.send_response(206)
        self.send_header("Content-Range", f"bytes {first}-{last}/{len(content)}")
        self.send_header("ETag", self.tag)
        self.send_header("Content-Length", str(last + 1 - first))
        self.end_headers()
        self.wfile.write(content[first:last + 1])

    do_HEAD = do_GET

    def log_message(self, *_):
        pass


def test_files_at_urls():
    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Ranges)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    url = f"http://127.0.0.1:{server.server_port}/digits.h5"
    with h5dnn.open(url) as remote, h5dnn.open(DIGITS) as local:
        assert list(remote) == list(local) and (remote["test/images"][3:9] == local["test/images"][3:9]).all()
    assert sorted(rows(h5dnn.Loader(url, FIELDS, index="row"))) == list(range(1437))
    with refused(FileNotFoundError, "404"):
        h5dnn.open(url + "x")
    with h5dnn.open(url) as f:
        before = f["test/images"]
        before[()]
        Ranges.file, Ranges.tag = os.path.join(TESTDATA, "tour.h5"), '"2"'
        f.refresh()
        with h5dnn.open(Ranges.file) as local:
            assert list(f) == list(local) != ["test", "train"]
        with refused(h5dnn.MissingError):
            before.refresh()
    server.shutdown()


def test_the_library_is_loaded_at_first_use():
    code = f"import sys; sys.path.insert(0, {os.path.dirname(here)!r}); import h5dnn; print('libh5dnn' in open('/proc/self/maps').read())"
    assert subprocess.run([sys.executable, "-B", "-c", code], stdout=subprocess.PIPE, text=True).stdout == "False\n"
    code = f"import sys; sys.path.insert(0, {os.path.dirname(here)!r}); import h5dnn; h5dnn.open('x')"
    for path, message in (("/nowhere.so", "/nowhere.so: no such file; make capi builds it, and H5DNN_LIBRARY names it\n"), (__file__, "or a wheel of make manylinux, which has all\n")):
        failed = subprocess.run([sys.executable, "-B", "-c", code], stderr=subprocess.PIPE, text=True, env={**os.environ, "H5DNN_LIBRARY": path})
        assert failed.stderr.splitlines()[-1].startswith(f"h5dnn._library.Error: {path}") and failed.stderr.endswith(message), failed.stderr


if __name__ == "__main__":
    main(__name__)
