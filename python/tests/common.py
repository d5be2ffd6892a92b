"""What tests share: files, checks, and a way to run them without pytest."""
import contextlib
import faulthandler
import os
import sys
import tempfile
import traceback

here = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.dirname(here))

TESTDATA = os.path.join(here, "..", "..", "testdata")
DIGITS = os.path.join(TESTDATA, "digits.h5")


class Skipped(Exception):
    """A test does not apply here."""


def need(name):
    """The module of that name, or the end of the test where it is not installed."""
    try:
        return __import__(name)
    except ImportError:
        if "pytest" in sys.modules:
            import pytest
            pytest.skip(f"{name} is not installed")
        raise Skipped(f"{name} is not installed") from None


@contextlib.contextmanager
def refused(kind, text=""):
    """Expects an exception of a kind, of one line with a text in it."""
    try:
        yield
    except kind as error:
        assert text in str(error) and "\n" not in str(error), str(error)
    else:
        raise AssertionError(f"no {kind}")


@contextlib.contextmanager
def folder():
    with tempfile.TemporaryDirectory() as name:
        yield name


def main(module):
    """Runs the tests of a module. A test that hangs ends it, saying where."""
    failed = 0
    for name, test in list(vars(sys.modules[module]).items()):
        if not name.startswith("test_"):
            continue
        faulthandler.dump_traceback_later(300, exit=True)
        try:
            test()
            print("ok", name, flush=True)
        except Skipped as why:
            print("skipped", name, "-", why)
        except Exception:
            traceback.print_exc()
            print("failed", name)
            failed += 1
    sys.exit(failed != 0)
