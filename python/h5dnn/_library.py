"""Calls libh5dnn.so through ctypes. Its functions are documented in h5dnn.h.

The library contains Go's runtime, whose threads do not survive a fork. It is therefore loaded at the first call, and
the child of a process that has loaded it loads a copy of its own. Handles belong to one loaded library: whoever keeps
one also keeps `generation` and opens the file again if it has changed.
"""
import collections
import ctypes
import json
import os
import threading
import weakref
from ctypes import POINTER, byref, c_char_p, c_int32, c_int64, c_uint8, c_uint16, c_uint64, c_void_p

import numpy as np


class Error(Exception):
    """An error of h5dnn. Its text is one line: what was done, with what, and what to do instead."""


class ShapeError(Error, ValueError, IndexError):
    """A shape or an index does not fit."""


class DTypeError(Error, TypeError):
    """The type of elements does not fit."""


class DeviceError(Error):
    """Memory is on another device, or there is no such device."""


class StateError(Error, ValueError):
    """A file is closed, or memory is read-only."""


class InternalError(Error):
    """A bug of h5dnn."""


class MissingError(Error, FileNotFoundError, KeyError):
    """There is no file, object or array of that name."""

    __str__ = Exception.__str__


class SettingError(Error, ValueError):
    """A setting does not exist, or cannot have the value given."""


AGAIN = 7
_errors = {1: Error, 2: ShapeError, 3: DTypeError, 4: DeviceError, 5: StateError, 6: InternalError, 8: MissingError, 9: SettingError}


class Device(ctypes.Structure):
    _fields_ = [("type", c_int32), ("id", c_int32)]


class Type(ctypes.Structure):
    _fields_ = [("code", c_uint8), ("bits", c_uint8), ("lanes", c_uint16)]


class Tensor(ctypes.Structure):
    """DLTensor of DLPack."""

    _fields_ = [("data", c_void_p), ("device", Device), ("ndim", c_int32), ("type", Type),
                ("shape", POINTER(c_int64)), ("strides", POINTER(c_int64)), ("byte_offset", c_uint64)]


# The element types of DLPack by code and bits: h5dnn's names, which are NumPy's where NumPy has the type.
TYPES = {(6, 8): "bool", (1, 8): "uint8", (1, 16): "uint16", (1, 32): "uint32", (1, 64): "uint64",
         (0, 8): "int8", (0, 16): "int16", (0, 32): "int32", (0, 64): "int64",
         (2, 16): "float16", (2, 32): "float32", (2, 64): "float64", (5, 64): "complex64", (5, 128): "complex128",
         (4, 16): "bfloat16", (10, 8): "float8_e4m3fn", (12, 8): "float8_e5m2"}
CODES = {name: code for code, name in TYPES.items()}
NUMPY = {name: np.dtype(name) for name in TYPES.values() if name != "bfloat16" and not name.startswith("float8")}

_handle, _out = c_uint64, POINTER(c_uint64)
_text, _json = c_char_p, POINTER(c_void_p)
_functions = {
    "open_following": [_text, _text, _text, _out], "close": [_handle], "get": [_handle, _text, _out], "member": [_handle, _text, _text, _out],
    "object": [_handle, _text, _json], "objects": [_handle, _text, _json], "values": [_handle, _text, _text, _json],
    "verify": [_text, _json], "convert": [_text, _text, _text, _json], "diff": [_text, _text, _text, _json],
    "free_text": [c_void_p], "slice": [_handle, _text, _out], "describe": [_handle, POINTER(POINTER(Tensor))],
    "read": [_handle, _text, POINTER(Tensor)], "free": [_handle],
    "infer": [_text, _text, c_int32, c_void_p, c_int32, c_void_p, c_void_p],
    "call": [_text, _text, c_int32, c_void_p, c_int32, c_void_p], "threads": [c_int32],
    "vjp": [_text, _text, c_int32, c_void_p, c_int32, c_void_p, c_void_p],
    "loader_open": [_text, _out], "loader_about": [_handle, _json], "loader_start": [_handle, c_int64, c_int64],
    "loader_next": [_handle, c_int64, c_int32, _out, _out, POINTER(c_int64)],
    "loader_read": [_handle, c_int64, POINTER(c_int64), c_int32, _out], "loader_close": [_handle],
}

generation = 0  # the number of forks between the process that loaded the library first and this one
_process = os.getpid()
_library = None
_inherited = False  # whether a process before this one has loaded the library
_lock = threading.Lock()


def _notice_fork():
    """Forgets the library in the child of a fork. It is called before each use too: other modules' hooks may run first."""
    global _library, _inherited, _lock, _process, generation
    if _process != os.getpid():
        _inherited = _inherited or _library is not None
        _library, _lock, generation = None, threading.Lock(), generation + 1
        _process = os.getpid()


os.register_at_fork(after_in_child=_notice_fork)


def _path():
    """The library of H5DNN_LIBRARY, in this package, or in bin of the source tree."""
    here = os.path.dirname(os.path.abspath(__file__))
    named = os.environ.get("H5DNN_LIBRARY")
    places = [named] if named else [os.path.join(here, "libh5dnn.so"), os.path.join(here, "..", "..", "bin", "libh5dnn.so")]
    for path in places:
        if os.path.exists(path):
            return path
    raise Error(f"{places[0]}: no such file; make capi builds it, and H5DNN_LIBRARY names it")


def _load(path):
    try:
        return ctypes.CDLL(path)
    except OSError as error:
        raise Error(f"{path} cannot be loaded: {error}; install the library that is missing (Debian: libdeflate0 or libgomp1), or a wheel of make manylinux, which has all") from error


def _load_copy(path):
    """Loads the library from a file of another name and inode, which the loader takes for another library."""
    copy = os.memfd_create("libh5dnn")
    try:
        with open(path, "rb") as source:
            rest, at = os.fstat(source.fileno()).st_size, 0
            while rest > at:
                at += os.sendfile(copy, source.fileno(), at, rest - at)
        return ctypes.CDLL(f"/proc/{os.getpid()}/fd/{copy}")
    finally:
        os.close(copy)


def library():
    """Returns the library, and loads it if this process has not."""
    global _library
    _notice_fork()
    if _library is None:
        with _lock:
            if _library is None:
                so = _load_copy(_path()) if _inherited else _load(_path())
                so.h5dnn_message.restype = c_char_p
                for name, arguments in _functions.items():
                    if not hasattr(so, "h5dnn_" + name):
                        raise Error(f"{_path()} is of another version of h5dnn: it has no h5dnn_{name}; make capi builds it")
                    getattr(so, "h5dnn_" + name).argtypes = arguments
                if _inherited:
                    so.h5dnn_threads(1)  # OpenMP's threads did not survive the fork
                _library = so
    return _library


def failure(status):
    """The exception of the last error on this thread."""
    message = library().h5dnn_message().decode("utf-8", "replace")
    return _errors.get(status, Error)(message)


def call(name, *arguments):
    function = getattr(library(), "h5dnn_" + name)
    release_lost()
    status = function(*arguments)
    if status:
        raise failure(status)


def encoded(text, what="name"):
    """A text for the library, which ends C strings with a zero."""
    if "\0" in text:
        raise MissingError(f"there is no {what} {text!r}: it has a zero byte")
    return text.encode("utf-8", "surrogateescape")


def call_slowly(name, *arguments):
    """Calls a function that may wait for a server. The main thread stays free to be interrupted: Python handles
    signals, such as Ctrl-C, between its own instructions only."""
    if threading.current_thread() is not threading.main_thread():
        return call(name, *arguments)
    failed, done = [], threading.Event()

    def work():
        try:
            call(name, *arguments)
        except BaseException as error:
            failed.append(error)
        done.set()
    threading.Thread(target=work, daemon=True).start()
    while not done.wait(0.1):
        pass
    if failed:
        raise failed[0]
    return None


def caller(path):
    """The function that calls functions about a file, which may be a URL."""
    return call_slowly if "://" in path else call


def call_json(name, *arguments, by=call):
    """Calls a function whose result is JSON."""
    text = c_void_p()
    by(name, *arguments, byref(text))
    try:
        return json.loads(ctypes.string_at(text))
    finally:
        call("free_text", text)


class Handle:
    """A handle of a file, an array or a loader, which is released with the object, at the next call of the library."""

    __slots__ = ("number", "release", "generation", "__weakref__")

    def __init__(self, release, function, *arguments, by=call):
        number = c_uint64()
        by(function, *arguments, byref(number))
        self._keep(release, number.value)

    @classmethod
    def of(cls, release, number):
        self = cls.__new__(cls)
        self._keep(release, number)
        return self

    def _keep(self, release, number):
        self.number, self.release, self.generation = c_uint64(number), release, generation
        _handles[_Lost(self, _lost.append)] = number, release, generation

    @property
    def stale(self):
        """Whether the handle is of a library before a fork."""
        _notice_fork()
        return self.generation != generation

    def close(self):
        for reference in weakref.getweakrefs(self):
            _handles.pop(reference, None)
        number, self.number = self.number, c_uint64()
        if number.value and not self.stale:
            call(self.release, number)


class _Lost(weakref.ref):
    """A reference to a handle, which is in _lost when the handle is garbage."""

    __hash__, __eq__ = object.__hash__, object.__eq__


# The library is not called by finalizers: Python drops exceptions in them, so that Ctrl-C would be lost there, and runs them
# in forked children before anything else. Their only act is deque.append, which has no instructions of Python.
_handles = {}
_lost = collections.deque()


def release_lost():
    """Releases the handles that are garbage."""
    while _lost:
        try:
            number, release, made = _handles.pop(_lost.popleft())
        except (IndexError, KeyError):  # another thread was faster
            continue
        if made == generation:
            getattr(_library, "h5dnn_" + release)(number)


def describe(array):
    """The type, the shape, the strides and the address of an array."""
    tensor = POINTER(Tensor)()
    call("describe", array.number, byref(tensor))
    t = tensor.contents
    rank = t.ndim
    return TYPES[t.type.code, t.type.bits], tuple(t.shape[:rank]), tuple(t.strides[:rank]), t.data


def read(array, into, address, shape, type_name, by=call):
    """Copies all elements of an array to the row-major memory of an object. The call keeps the object, as it may go on
    on its thread after an interrupt."""
    code, bits = CODES[type_name]
    sizes = (c_int64 * len(shape))(*shape)
    tensor = Tensor(address, Device(1, 0), len(shape), Type(code, bits, 1), sizes, None, 0)
    tensor.kept = into
    by("read", array.number, b"", byref(tensor))


class _Memory:
    """The memory of an array of h5dnn, which NumPy arrays keep."""

    __slots__ = ("array", "__array_interface__")


def show(array):
    """A NumPy array that shares the memory of an array, and the name of its type. A type that NumPy does not have is
    shown as unsigned integers of its size."""
    name, shape, strides, address = describe(array)
    dtype = NUMPY.get(name) or np.dtype("u2" if name == "bfloat16" else "u1")
    if not address:
        return np.empty(shape, dtype), name
    memory = _Memory()
    memory.array = array
    memory.__array_interface__ = {"version": 3, "shape": shape, "typestr": dtype.str, "data": (address, False),
                                  "strides": tuple(s * dtype.itemsize for s in strides)}
    return np.asarray(memory), name
