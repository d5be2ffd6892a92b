"""Reads files from nginx and from moto's S3 server, 20 ms and 1 Gbit/s away, and compares what h5dnn prints with what it prints of the local file.

    make check-remote [PYTHON=interpreter with moto]

The servers run in a network namespace behind tc's netem where that is permitted (root, iproute2), and else at 127.0.0.1 without latency.
What is not installed is skipped, saying so.
"""
import contextlib
import os
import shutil
import subprocess
import sys
import tempfile
import time
import urllib.error
import urllib.request

here = os.path.dirname(os.path.abspath(__file__))
root = os.path.join(here, "..", "..")
H5DNN = os.path.join(root, "bin", "h5dnn")
FILES = {"digits.h5": "train/images", "growing_2.h5": "rows", "blosc_blocks.h5": "lz4"}
PLACES = ["testdata", "storage/hdf5/testdata"]
NAMESPACE, NEAR, FAR = f"h5dnn{os.getpid()}", "10.213.57.1", "10.213.57.2"
passed = failed = skipped = 0


def run(*command, **settings):
    return subprocess.run(command, capture_output=True, text=True, **settings)


@contextlib.contextmanager
def away():
    """Yields the address of a network 20 ms away and the words to start a program there."""
    link, inside = f"v{os.getpid()}a", ["ip", "netns", "exec", NAMESPACE]
    steps = [["ip", "netns", "add", NAMESPACE], ["ip", "link", "add", link, "type", "veth", "peer", "name", "far", "netns", NAMESPACE],
             ["ip", "addr", "add", NEAR + "/30", "dev", link], ["ip", "link", "set", link, "up"],
             [*inside, "ip", "addr", "add", FAR + "/30", "dev", "far"], [*inside, "ip", "link", "set", "far", "up"], [*inside, "ip", "link", "set", "lo", "up"],
             [*inside, "tc", "qdisc", "add", "dev", "far", "root", "netem", "delay", "20ms", "rate", "1gbit", "limit", "100000"]]
    try:
        for step in steps:
            if shutil.which(step[0]) is None:
                print(f"no {step[0]}: servers are at 127.0.0.1, without latency")
                yield "127.0.0.1", []
                return
            done = run(*step)
            if done.returncode != 0:
                print(f"{' '.join(step)}: {done.stderr.strip()}: servers are at 127.0.0.1, without latency")
                yield "127.0.0.1", []
                return
        yield FAR, inside
    finally:
        if shutil.which("ip"):
            run("ip", "netns", "del", NAMESPACE)


@contextlib.contextmanager
def serving(command, url):
    """Runs a server until it is no longer needed; url answers once it is there."""
    server = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    try:
        for _ in range(100):
            time.sleep(0.1)
            try:
                urllib.request.urlopen(url, timeout=5).close()
                break
            except urllib.error.HTTPError:
                break
            except OSError:
                if server.poll() is not None:
                    break
        yield
    finally:
        server.terminate()
        server.wait()


def compare(name, path, url, env):
    global passed, failed
    for command, at in (("inspect", ""), ("slice", f":/{path}"), ("verify", "")):
        local = run(H5DNN, command, name + at, cwd=os.path.dirname(name))
        began = time.perf_counter()
        remote = run(H5DNN, command, url + at, env={**os.environ, **env})
        seconds = time.perf_counter() - began
        same = remote.returncode == local.returncode == 0 and remote.stdout.replace(url, name) == local.stdout
        passed, failed = passed + same, failed + (not same)
        print(f"{'ok  ' if same else 'FAIL'} {command:7} {url + at:60} {seconds:.2f} s  {remote.stderr.strip().splitlines()[-1:] or ''}")


def skip(why):
    global skipped
    skipped += 1
    print("skip", why)


def main():
    with tempfile.TemporaryDirectory() as folder, away() as (host, there):
        os.chmod(folder, 0o755)
        for name in FILES:
            shutil.copyfile(next(at for place in PLACES if os.path.exists(at := os.path.join(root, place, name))), os.path.join(folder, name))
        if shutil.which("nginx") is None:
            skip("nginx is not installed")
        else:
            settings = os.path.join(folder, "nginx.conf")
            with open(settings, "w") as f:
                f.write(f"daemon off; error_log stderr; pid {folder}/nginx.pid; events {{}}\n"
                        f"http {{ access_log off; server {{ listen {host}:8077; root {folder}; }} }}\n")
            with serving([*there, "nginx", "-c", settings], f"http://{host}:8077/digits.h5"):
                for name, path in FILES.items():
                    compare(os.path.join(folder, name), path, f"http://{host}:8077/{name}", {})
        if run(sys.executable, "-c", "import moto.server, boto3").returncode != 0:
            skip(f"{sys.executable} lacks moto[server] or boto3")
        else:
            keys = {"AWS_ACCESS_KEY_ID": "check", "AWS_SECRET_ACCESS_KEY": "check", "AWS_REGION": "us-east-1", "AWS_ENDPOINT_URL": f"http://{host}:8078"}
            os.environ.update(keys)
            with serving([*there, sys.executable, "-m", "moto.server", "-H", host, "-p", "8078"], f"http://{host}:8078"):
                import boto3
                s3 = boto3.client("s3", endpoint_url=keys["AWS_ENDPOINT_URL"], region_name="us-east-1")
                s3.create_bucket(Bucket="check")
                for name, path in FILES.items():
                    s3.upload_file(os.path.join(folder, name), "check", name)
                    compare(os.path.join(folder, name), path, f"s3://check/{name}", keys)
    print(f"{passed} passed, {failed} failed, {skipped} skipped")
    sys.exit(failed > 0)


main()
