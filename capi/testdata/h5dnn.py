"""Calls libh5dnn.so through ctypes. It has what use.py needs, and is an example for other bindings."""
import ctypes
from ctypes import POINTER, byref, c_char_p, c_int32, c_int64, c_uint8, c_uint16, c_uint32, c_uint64, c_void_p


class Device(ctypes.Structure):
    _fields_ = [("type", c_int32), ("id", c_int32)]


class Type(ctypes.Structure):
    _fields_ = [("code", c_uint8), ("bits", c_uint8), ("lanes", c_uint16)]


class Tensor(ctypes.Structure):
    _fields_ = [("data", c_void_p), ("device", Device), ("ndim", c_int32), ("type", Type),
                ("shape", POINTER(c_int64)), ("strides", POINTER(c_int64)), ("byte_offset", c_uint64)]


DELETER = ctypes.CFUNCTYPE(None, c_void_p)


class Unversioned(ctypes.Structure):
    name, used = b"dltensor", b"used_dltensor"
    _fields_ = [("tensor", Tensor), ("context", c_void_p), ("deleter", DELETER)]


class Versioned(ctypes.Structure):
    name, used = b"dltensor_versioned", b"used_dltensor_versioned"
    _fields_ = [("major", c_uint32), ("minor", c_uint32), ("context", c_void_p), ("deleter", DELETER),
                ("flags", c_uint64), ("tensor", Tensor)]


capsule_new = ctypes.pythonapi.PyCapsule_New
capsule_new.restype, capsule_new.argtypes = ctypes.py_object, [c_void_p, c_char_p, c_void_p]
capsule_valid = ctypes.pythonapi.PyCapsule_IsValid
capsule_pointer = ctypes.pythonapi.PyCapsule_GetPointer
capsule_pointer.restype = c_void_p
capsule_rename = ctypes.pythonapi.PyCapsule_SetName


@ctypes.PYFUNCTYPE(None, c_void_p)
def forget(capsule):
    """Deletes the tensor of a capsule that was not consumed."""
    for kind in (Unversioned, Versioned):
        if capsule_valid(c_void_p(capsule), c_char_p(kind.name)):
            at = capsule_pointer(c_void_p(capsule), c_char_p(kind.name))
            kind.from_address(at).deleter(at)


class Error(Exception):
    def __init__(self, status, message):
        super().__init__(message)
        self.status = status


class Library:
    def __init__(self, path):
        self.so = ctypes.CDLL(path)
        self.so.h5dnn_message.restype = c_char_p

    def __getattr__(self, name):
        function = getattr(self.so, "h5dnn_" + name)

        def call(*arguments):
            status = function(*arguments)
            if status:
                raise Error(status, self.so.h5dnn_message().decode())
        return call


class Array:
    """An array of h5dnn's, for numpy.from_dlpack and torch.from_dlpack."""

    def __init__(self, library, make, *arguments):
        self.library, self.handle = library, c_uint64()
        make(*arguments, byref(self.handle))

    @classmethod
    def of(cls, library, lender, versioned=True):
        """Shows the memory of an array of another library's."""
        arguments = {"max_version": (1, 0)} if versioned else {}
        if lender.__dlpack_device__()[0] == 2:
            stream = c_uint64()
            library.stream(b"cuda:%d" % lender.__dlpack_device__()[1], byref(stream))
            arguments["stream"] = stream.value
        capsule = lender.__dlpack__(**arguments)
        kind, take = (Versioned, library.__getattr__("import")) if versioned else (Unversioned, library.import_unversioned)
        at = capsule_pointer(ctypes.py_object(capsule), c_char_p(kind.name))
        array = cls(library, take, c_void_p(at))
        capsule_rename(ctypes.py_object(capsule), c_char_p(kind.used))
        return array

    def __del__(self):
        if self.handle.value:
            self.library.free(self.handle)

    def __getitem__(self, index):
        return Array(self.library, self.library.slice, self.handle, index.encode())

    def to(self, device):
        return Array(self.library, self.library.move, self.handle, device.encode())

    def look(self):
        tensor = POINTER(Tensor)()
        self.library.describe(self.handle, byref(tensor))
        return tensor.contents

    def read(self, into, index=""):
        self.library.read(self.handle, index.encode(), byref(into.look()))

    def write(self, source, index=""):
        self.library.write(self.handle, index.encode(), byref(source.look()))

    def __dlpack_device__(self):
        device = self.look().device
        return device.type, device.id

    def __dlpack__(self, *, stream=None, max_version=None, dl_device=None, copy=None):
        versioned = max_version is not None and max_version[0] >= 1
        kind = Versioned if versioned else Unversioned
        export = self.library.export if versioned else self.library.export_unversioned
        at = c_void_p()
        export(self.handle, c_uint64({None: 1, -1: 0}.get(stream, stream)), byref(at))
        return capsule_new(at, kind.name, ctypes.cast(forget, c_void_p))
