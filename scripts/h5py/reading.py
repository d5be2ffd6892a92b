"""Runs h5py's own tests with reading by h5dnn, and writes which pass: reading.py [--output bench/H5PY.md]

Files are written by h5py. Wherever a test then reads elements, shapes, names or attributes through h5py's objects, a copy of the
file is opened with h5dnn.File, and its answer takes the place of h5py's. Tests that read nothing in this way, and those that h5py
does not pass here itself, are left out. Needs h5py with its tests, pytest, and bin/libh5dnn.so or an installed h5dnn.
"""
import argparse
import collections
import contextlib
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile

here = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(here, "..", "..", "python"))

# Why tests do not pass: the first pattern that is found in "test: error".
REASONS = [
    (r"test_npystrings|StringDType", "strings of NumPy's StringDType are str in arrays of objects"),
    (r"test_closed", "a closed file has no members, and no error"),
    ("NotApplicable", "the object has no name, so that another program cannot find it"),
    (r"MultiBlockSlice|[Rr]egionref|RegionRefs|test_regref|h5r\.Reference|test_store_refs|test_scalar_dataset", "references, regions and MultiBlockSlice, which are objects of h5py, are not indices or elements of h5dnn"),
    (r"TestEmpty|test_empty|Empty\(", "null dataspaces: of strings, which have another type, or another kind of error"),
    (r"TrackOrder", "members and attributes are listed by name, not in the order of creation"),
    (r"b'|bytes|encoding|UnicodeDecodeError|dtype\('S|asstr|test_fixed|TestStrings|'S1'|S20|S3'|test_string\b|test_bool_selection_1d", "strings are str, where h5py has bytes or arrays of fixed length"),
    (r"dtype\('>|get_order|test_big_endian", "numbers are in the byte order of the machine"),
    (r"longdouble|complex256|long_double", "long double is read as float64"),
    (r"datetime|timedelta|test_opaque|\|S10|numpy.void|compound|Compound|TestOffsets|offsets|nesting|struct", "compounds have h5dnn's own types: fields packed, inner compounds, sequences and times as objects"),
    (r"[Vv]len|tolist|Object dtype", "sequences of enums, strings, compounds or sequences, and those in attributes and compounds, are lists"),
    (r"TestScalarArray|TestArraySlicing", "the axes of an array type are axes of the dataset"),
    (r"test_wrong_shape|test_zero_length", "read_direct fits elements to the array without broadcasting, by the whole shape"),
    (r"not raised|DID NOT RAISE", "h5dnn does what h5py refuses: indices in any order, steps below 0, arrays that are not contiguous"),
    (r"wrongsize|wrong_size|fieldnames|newaxis", "another kind of error"),
    (r"test_datatype|TestEnum|test_dtype|b8_bool|TestDtype|custom_float|c32", "types have fewer marks of h5py: bits are bytes, named types are no objects"),
    (r"irregular selection|not converted|test_virtual_prefix", "virtual datasets of irregular selections or of other types, and prefixes that the program sets, are not read"),
    (r"fill_time_never", "elements that were never written are the fill value, also where HDF5 leaves them undefined"),
]


class NotApplicable(Exception):
    """What a test reads cannot be read by another program."""


class Reading:
    """Reading of h5py's objects by h5dnn."""

    def __init__(self):
        self.used, self.within = False, False

    @contextlib.contextmanager
    def copy(self, o):
        """h5dnn's object for one of h5py, out of a copy of its file as it is now."""
        import h5dnn
        if o.name is None:
            raise NotApplicable("the object has no name")
        file = o.file
        folder = os.path.dirname(os.path.abspath(os.fsdecode(file.filename)))
        if not os.path.isdir(folder):
            folder = tempfile.gettempdir()
        descriptor, name = tempfile.mkstemp(".h5", dir=folder)
        try:
            if file.mode != "r":
                file.flush()
            with open(descriptor, "wb") as to:
                if os.path.isfile(os.fsdecode(file.filename)) and file.driver in ("sec2", "stdio"):
                    with open(os.fsdecode(file.filename), "rb") as source:
                        shutil.copyfileobj(source, to)
                else:
                    to.write(file.id.get_file_image())
            with h5dnn.File(name, format="hdf5", follow=folder) as f:
                yield f[o.name]
        finally:
            os.unlink(name)

    def replace(self, owner, name, read, is_property=False):
        """Puts read, of h5dnn's object and the arguments, in the place of an attribute of a class of h5py."""
        import h5dnn
        import h5py
        original = getattr(owner, name)

        def by_h5dnn(o, *args, **named):
            call = original.fget if is_property else original
            if self.within or os.sep + os.path.join("h5py", "_hl") + os.sep in sys._getframe(1).f_code.co_filename:
                return call(o, *args, **named)  # h5py itself reads
            at = self.object(o)
            if not at:
                return call(o, *args, **named)
            self.within = self.used = True
            try:
                with self.copy(at) as mine:
                    found = read(mine, o, *args, **named)
                    return h5py.Empty(found.dtype) if isinstance(found, h5dnn.Empty) else found
            finally:
                self.within = False
        setattr(owner, name, property(by_h5dnn) if is_property else by_h5dnn)

    @staticmethod
    def object(o):
        """The group or dataset that an object of h5py belongs to, or None if its file is closed."""
        import h5py
        if isinstance(o, h5py.AttributeManager):
            o = h5py.h5i.get_name(o._id) and h5py.File(h5py.h5i.get_file_id(o._id))[h5py.h5i.get_name(o._id)]
        o = getattr(o, "_dset", o)
        return o if o else None

    def install(self):
        import h5py
        from h5py._hl import dataset, group
        D, G, A = h5py.Dataset, h5py.Group, h5py.AttributeManager
        self.replace(D, "__getitem__", lambda mine, o, args, new_dtype=None: mine[args] if new_dtype is None else mine.astype(new_dtype)[args])
        self.replace(D, "read_direct", lambda mine, o, dest, source_sel=None, dest_sel=None: mine.read_direct(dest, () if source_sel is None else source_sel, () if dest_sel is None else dest_sel))
        self.replace(D, "__iter__", lambda mine, o: iter([row for row in mine]))
        self.replace(D, "__len__", lambda mine, o: len(mine))
        self.replace(D, "__array__", lambda mine, o, dtype=None, copy=True: mine.__array__(dtype, copy))
        for name in ("shape", "size", "ndim", "nbytes", "chunks", "maxshape", "dtype"):
            self.replace(D, name, lambda mine, o, name=name: getattr(mine, name), is_property=True)
        self.replace(dataset.AsTypeView, "__getitem__", lambda mine, o, args: mine.astype(o._dtype)[args])
        self.replace(dataset.AsStrView, "__getitem__", lambda mine, o, args: mine.asstr()[args])
        self.replace(dataset.FieldsView, "__getitem__", lambda mine, o, args: mine[(*([o.read_dtype] if isinstance(o.read_dtype, str) else o.read_dtype.names), args)])
        self.replace(G, "__iter__", lambda mine, o: iter(list(mine)))
        self.replace(G, "__len__", lambda mine, o: len(mine))
        self.replace(G, "__contains__", lambda mine, o, name: name in mine)
        self.replace(A, "__getitem__", lambda mine, o, name: mine.attrs[name])
        self.replace(A, "__iter__", lambda mine, o: iter(list(mine.attrs)))
        self.replace(A, "__len__", lambda mine, o: len(mine.attrs))
        self.replace(A, "__contains__", lambda mine, o, name: name in mine.attrs)


class Plugin:
    """Notes the outcome of each test of pytest, and whether it read."""

    def __init__(self, reading):
        self.reading, self.tests = reading, {}

    def pytest_runtest_setup(self, item):
        if self.reading:
            self.reading.used = False

    def pytest_runtest_logreport(self, report):
        if report.when == "call" or report.outcome != "passed":
            crash = getattr(report.longrepr, "reprcrash", None)
            self.tests[report.nodeid] = [report.outcome, bool(self.reading and self.reading.used), crash.message if crash else str(report.longrepr)[-300:]]


def run(by_h5dnn, to):
    """Runs the tests in this process and writes their outcomes."""
    import pytest
    import h5py
    reading = Reading() if by_h5dnn else None
    if reading:
        reading.install()
    plugin = Plugin(reading)
    folder = os.path.join(os.path.dirname(h5py.__file__), "tests")
    pytest.main(["-q", "-p", "no:cacheprovider", "--rootdir", folder, "-W", "ignore", folder], plugins=[plugin])
    with open(to, "w") as f:
        json.dump(plugin.tests, f)


def outcomes(by_h5dnn):
    with tempfile.TemporaryDirectory() as folder:
        to = os.path.join(folder, "tests.json")
        subprocess.run([sys.executable, "-B", os.path.abspath(__file__), "--run", "h5dnn" if by_h5dnn else "h5py", to], check=True, stdout=subprocess.DEVNULL, timeout=1800)
        with open(to) as f:
            return json.load(f)


def reason(test, error):
    return next((why for pattern, why in REASONS if re.search(pattern, f"{test}: {error}")), "not looked into: " + " ".join(error.split())[:100])


def report(base, mine):
    """The table of the tests that read, and why some do not pass."""
    import h5py
    read = [test for test, (_, used, _) in mine.items() if used and base.get(test, [""])[0] == "passed"]
    passed = [test for test in read if mine[test][0] == "passed"]
    modules, others = collections.defaultdict(lambda: [0, 0]), collections.defaultdict(list)
    for test in read:
        count = modules[re.sub(r"^.*tests/|::.*$", "", test)]
        count[0] += 1
        count[1] += test in passed
        if test not in passed:
            others[reason(test, mine[test][2])].append("::".join(test.split("::")[1:]))
    lines = ["# h5py's tests, read by h5dnn", "", f"Written by `scripts/h5py/reading.py` with h5py {h5py.__version__}: its tests write files, and what they then read through datasets, groups",
             "and attributes is the answer of `h5dnn.File`. Tests that read nothing in this way, or fail with h5py itself, are left out.", "",
             f"**{len(passed)} of {len(read)} tests that read pass ({100 * len(passed) / len(read):.0f} %).** The others are below, with the difference between both.", "", "| tests | read | pass |", "| --- | --- | --- |"]
    lines += [f"| {name} | {n} | {ok} |" for name, (n, ok) in sorted(modules.items())]
    lines += ["", "## Tests that do not pass", ""]
    for why, tests in sorted(others.items(), key=lambda item: -len(item[1])):
        lines += [f"- **{len(tests)}: {why}.** " + ", ".join(f"`{t}`" for t in tests)]
    return "\n".join(lines) + "\n"


if __name__ == "__main__":
    if sys.argv[1:2] == ["--run"]:
        run(sys.argv[2] == "h5dnn", sys.argv[3])
        sys.exit()
    parser = argparse.ArgumentParser()
    parser.add_argument("--output")
    options = parser.parse_args()
    base, mine = outcomes(False), outcomes(True)
    text = report(base, mine)
    print(text)
    if options.output:
        with open(options.output, "w") as f:
            f.write(text)
