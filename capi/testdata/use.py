"""use.py LIBRARY FILE: NumPy and PyTorch share memory with h5dnn, both ways. FILE is testdata/digits.h5."""
import ctypes
import gc
import sys
import threading
import weakref

import numpy as np

from h5dnn import Array, Error, Library, Type, Versioned

h5 = Library(sys.argv[1])
file = ctypes.c_uint64()
h5.open(sys.argv[2].encode(), ctypes.byref(file))
images = Array(h5, h5.get, file, b"/test/images")

try:
    import torch
except ImportError:
    torch = None
    print("skipped: what is about PyTorch, which is not installed")


def new(shape, code=2, bits=32, device=b"cpu"):
    return Array(h5, h5.make, device, Type(code, bits, 1), len(shape), (ctypes.c_int64 * len(shape))(*shape))


def refused(status, call, *arguments):
    try:
        call(*arguments)
    except Error as e:
        assert e.status == status and "\n" not in str(e), (e.status, e)
    else:
        raise AssertionError(f"{call} does not fail")


class Watched(np.ndarray):
    """An array that can be seen to go."""


def watched(shape):
    array = np.zeros(shape, np.float32).view(Watched)
    return array, weakref.ref(array)


def writes_into_numpy():
    for target in (np.zeros((2, 8, 8), np.float32), np.zeros((8, 8, 2), np.float64).T, np.zeros((4, 16, 8), np.int16)[::2, ::-2]):
        shown = Array.of(h5, target, versioned=target.ndim % 2 == 1)
        assert shown.look().data == target.ctypes.data
        images.read(shown, "[:2]")
        assert target[0, 2].tolist() == [0, 11, 10, 0, 8, 10, 0, 0]  # README.md shows it
        target[...] = 5
        back = np.zeros(target.shape, np.uint8)
        shown.read(Array.of(h5, back))
        assert (back == 5).all()


def numpy_sees_memory():
    ours = new((3, 4))
    theirs = np.from_dlpack(ours)
    assert theirs.ctypes.data == ours.look().data and theirs.shape == (3, 4) and theirs.flags.writeable
    theirs[1, 2] = 7
    part = np.from_dlpack(ours["[::-1, 1:]"])
    assert part[1, 1] == 7 and part.strides == (-16, 4)
    ours.write(Array.of(h5, np.full((3, 4), 2.5)))
    assert (theirs == 2.5).all() and (part == 2.5).all()
    del ours
    gc.collect()
    assert (theirs == 2.5).all()


def all_types_come_back():
    for t in (np.bool_, np.uint8, np.uint16, np.uint32, np.uint64, np.int8, np.int16, np.int32, np.int64,
              np.float16, np.float32, np.float64, np.complex64, np.complex128):
        for shape in ((), (0, 3), (2, 3)):
            lent = np.ones(shape, t)
            back = np.from_dlpack(Array.of(h5, lent))
            assert back.dtype == lent.dtype and back.shape == lent.shape and (back == lent).all(), (t, shape)
            assert lent.size == 0 or back.ctypes.data == lent.ctypes.data
    refused(3, Array.of, h5, Capsule(Type(3, 64, 1)))


class Capsule:
    """A lender of a NumPy array's memory under a type of its own."""

    def __init__(self, as_type):
        self.array, self.type = np.zeros(8), as_type

    def __dlpack_device__(self):
        return 1, 0

    def __dlpack__(self, **arguments):
        capsule = self.array.__dlpack__(max_version=(1, 0))
        at = ctypes.pythonapi.PyCapsule_GetPointer
        at.restype = ctypes.c_void_p
        tensor = Versioned.from_address(at(ctypes.py_object(capsule), ctypes.c_char_p(Versioned.name)))
        tensor.tensor.type = self.type
        return capsule


def memory_lives_as_long_as_anyone_shows_it():
    array, alive = watched((4,))
    shown = Array.of(h5, array)
    del array
    gc.collect()
    assert alive() is not None
    part = shown["[1:]"]
    del shown
    again = np.from_dlpack(part)
    del part
    gc.collect()
    assert alive() is not None and (again == 0).all()
    del again
    gc.collect()
    assert alive() is None, "an imported array is never given back"


def unconsumed_capsules_are_deleted():
    array, alive = watched((4,))
    shown = Array.of(h5, array)
    del array
    for version in (None, (1, 0)):
        capsule = shown.__dlpack__(max_version=version)
        del capsule
    del shown
    gc.collect()
    assert alive() is None


def read_only_memory_stays_so():
    array = np.arange(4.0)
    array.flags.writeable = False
    shown = Array.of(h5, array)
    refused(5, shown.write, Array.of(h5, np.zeros(4)))
    assert not np.from_dlpack(shown).flags.writeable
    refused(5, shown.__dlpack__)


def what_dlpack_cannot_say_is_refused():
    """Where it is the lender, or the borrower, who refuses, its error is all there is."""
    for array in (np.zeros(3, ">f4"), np.zeros(3, "datetime64[s]"), np.zeros(3, [("a", "f4")])):
        for versioned in (True, False):
            try:
                Array.of(h5, array, versioned)
            except BufferError:
                continue
            raise AssertionError(f"{array.dtype} is shared")
    refused(3, new, (3,), 2, 24)
    refused(4, np.from_dlpack, images)  # in a file
    if torch:
        try:
            torch.from_dlpack(new((3, 4))["::-1"])
        except (ValueError, RuntimeError, BufferError):
            return
        raise AssertionError("PyTorch takes negative strides")


def threads_read_at_once():
    wrong = []

    def read(first):
        for row in range(first, first + 40):
            target = np.zeros((8, 8), np.uint8)
            images.read(Array.of(h5, target), f"[{row}]")
            if (target != whole[row]).any():
                wrong.append(row)
            refused(2, images.read, Array.of(h5, target), f"[{row}, :3]")
    whole = np.zeros((360, 8, 8), np.uint8)
    images.read(Array.of(h5, whole))
    threads = [threading.Thread(target=read, args=(40 * k,)) for k in range(8)]
    for t in threads:
        t.start()
    for t in threads:
        t.join()
    assert not wrong, wrong


def torch_shares_memory():
    target = torch.zeros(2, 8, 8)
    shown = Array.of(h5, target)
    assert shown.look().data == target.data_ptr()
    images.read(shown, "[:2]")
    assert target[0, 2, 1] == 11
    ours = new((3, 4))
    for theirs in (torch.from_dlpack(ours), torch.utils.dlpack.from_dlpack(ours.__dlpack__())):
        assert theirs.data_ptr() == ours.look().data
        theirs[1, 2] = 7
        assert np.from_dlpack(ours)[1, 2] == 7
        ours.write(Array.of(h5, np.full((3, 4), 2.5)))
        assert (theirs == 2.5).all()
    for t in (torch.bfloat16, torch.float8_e4m3fn, torch.float8_e5m2, torch.complex64):
        lent = torch.ones(5, dtype=t)
        back = torch.from_dlpack(Array.of(h5, lent)["[1:]"])
        assert back.dtype == t and back.data_ptr() == lent.data_ptr() + lent.element_size()


def torch_shares_memory_of_a_gpu():
    target = torch.zeros(2, 8, 8, device="cuda")
    shown = Array.of(h5, target)
    assert shown.look().data == target.data_ptr() and shown.__dlpack_device__() == (2, 0)
    target.add_(1)
    images.read(shown, "[:2]")
    assert target[0, 2, 1] == 11
    ours = images["[:2]"].to("cuda:0")
    theirs = torch.from_dlpack(ours)
    assert theirs.device.type == "cuda" and theirs.data_ptr() == ours.look().data and (theirs == target).all()


tests = [writes_into_numpy, numpy_sees_memory, all_types_come_back, memory_lives_as_long_as_anyone_shows_it,
         unconsumed_capsules_are_deleted, read_only_memory_stays_so, what_dlpack_cannot_say_is_refused, threads_read_at_once]
if torch:
    tests.append(torch_shares_memory)
    if torch.cuda.is_available():
        tests.append(torch_shares_memory_of_a_gpu)
    else:
        print("skipped: what is about GPUs, of which PyTorch finds none")
for test in tests:
    test()
    print("ok", test.__name__)
h5.close(file)
