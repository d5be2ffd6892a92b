"""Files of arrays: groups, datasets and attributes, read as h5py reads them."""
from __future__ import annotations

import json
import operator
import os
from collections.abc import Callable, Iterator, Mapping
from typing import Any

import numpy as np

from . import _library
from ._library import CODES, NUMPY, Error, Handle, MissingError, ShapeError, call_json


class Attributes(Mapping):
    """The attributes of an object by name."""

    def __init__(self, listed):
        self._all = {a["name"]: a for a in listed or ()}

    def __getitem__(self, name: str | bytes) -> Any:
        name = _decoded(name)
        if name not in self._all:
            raise MissingError(f"no attribute {name}; there are {', '.join(self._all) or 'none'}")
        return _attribute(self._all[name])

    def __contains__(self, name: object) -> bool:
        return _decoded(name) in self._all

    def __iter__(self) -> Iterator[str]:
        return iter(self._all)

    def __len__(self) -> int:
        return len(self._all)

    def __repr__(self):
        return f"<h5dnn.Attributes {list(self._all)}>"


def _decoded(name):
    return os.fsdecode(name) if isinstance(name, bytes) else name


def _attribute(a):
    value, shape = a.get("value"), a["shape"]
    if value is None or shape is None:
        return None
    dtype = NUMPY.get(a["dtype"])
    if dtype is not None:
        if dtype.kind == "c":
            value = np.asarray(value, np.float64)
            value = value[..., 0] + 1j * value[..., 1]
        try:
            value = np.asarray(value, dtype)
            return value[()] if value.ndim == 0 else value
        except ValueError:
            pass  # the names of an enum
    return value if shape == [] else _objects(value, len(shape))


def _sequence(value, texts):
    """An array of a list of numbers; other values as they are."""
    if not isinstance(value, list) or texts:
        return value
    numbers = [float(v) if v in ("NaN", "Infinity", "-Infinity") else v for v in value]
    return np.asarray(numbers) if all(isinstance(v, (int, float)) for v in numbers) else value


def _objects(value, rank):
    """An array of objects out of nested lists."""
    shape, inner = [], value
    for _ in range(rank):
        shape.append(len(inner))
        inner = inner[0] if inner else []
    array = np.empty(shape, object)
    flat = [value]
    for _ in range(rank):
        flat = [element for part in flat for element in part]
    for k, element in enumerate(flat):
        array.flat[k] = element
    return array


class Group(Mapping):
    """A group: its members by name."""

    def __init__(self, file, name, about=None):
        self._file, self.name, self._about = file, name, about

    @property
    def file(self) -> File:
        return self._file

    @property
    def parent(self) -> Group:
        return self._file[os.path.dirname(self.name)]

    @property
    def attrs(self) -> Attributes:
        return Attributes(self._file._object(self.name).get("attributes"))

    def _path(self, name):
        return "/" + "/".join(part for part in (self.name + "/" + name if name[:1] != "/" else name).split("/") if part)

    def __getitem__(self, name: str | bytes) -> Any:
        name = _decoded(name)
        if not isinstance(name, str):
            raise _library.DTypeError(f"{self.name}[{name!r}]: want the name of a member")
        path = self._path(name)
        if not name:
            raise MissingError(f"{self._file.filename}: {self.name} has no member without a name")
        if path == "/":
            return Group(self._file, "/")
        return self._file._make(self._file._object(path), path)

    def __contains__(self, name: object) -> bool:
        try:
            self[name]
        except Error:  # a link that leads nowhere is a member
            return isinstance(name, (str, bytes)) and bool(self._file) and self._path(_decoded(name)) in self._file._tree()
        return True

    def __iter__(self) -> Iterator[str]:
        below = "/" if self.name == "/" else self.name + "/"
        for path in self._file._tree():
            if path.startswith(below) and path != below and "/" not in path[len(below):]:
                yield path[len(below):]

    def __len__(self) -> int:
        return sum(1 for _ in self)

    def visititems(self, function: Callable[[str, Group | Dataset], Any]) -> Any:
        """Calls function with the name and the object of each member below, until it returns something."""
        below = "/" if self.name == "/" else self.name + "/"
        for path, about in self._file._tree().items():
            if path.startswith(below) and path != below and about["kind"] in ("group", "dataset"):
                result = function(path[len(below):], self._file._make(None, path))
                if result is not None:
                    return result
        return None

    def visit(self, function: Callable[[str], Any]) -> Any:
        """Calls function with the name of each member below, until it returns something."""
        return self.visititems(lambda name, _: function(name))

    def tree(self) -> str:
        """All objects below, a line for each."""
        lines = []
        self.visititems(lambda name, o: lines.append("  " * name.count("/") + name.rsplit("/", 1)[-1] + o._summary()))
        return "\n".join(lines)

    def _summary(self):
        return "/"

    def __eq__(self, other):
        return type(self) is type(other) and self._file is other._file and self.name == other.name

    def __hash__(self):
        return hash((id(self._file), self.name))

    def __repr__(self):
        return f"<h5dnn.Group {self.name} of {self._file.filename}>"


class File(Group):
    """A file of any format that h5dnn reads, by path or URL, opened for reading.

    Arrays are read when they are indexed. In the child of a fork, and after unpickling, the file is opened again. The format
    is found by content; format="hdf5" shows the stored objects of AnnData, NetCDF and MATLAB instead of what they mean. External
    links, external data and virtual datasets are read from files in the folder, or below the URL, to follow, and from no others."""

    def __init__(self, path: str | bytes | os.PathLike, mode: str = "r", format: str = "", follow: str | os.PathLike = ""):
        if mode != "r":
            raise ValueError(f"{path}: mode {mode!r}; h5dnn.File reads, mode 'r'; write with h5py")
        super().__init__(self, "/")
        self.filename, self._format, self._follow = os.fsdecode(path), format, os.fsdecode(follow)
        self._handle, self._listed = None, None
        self._open()

    def _open(self):
        self._call = _library.caller(self.filename)
        self._handle = Handle("close", "open_following", _library.encoded(self.filename, "file"), self._format.encode(), _library.encoded(self._follow, "folder"), by=self._call)

    def _number(self):
        if self._handle is None:
            raise _library.StateError(f"{self.filename} is closed")
        if self._handle.stale:
            self._open()
        return self._handle.number

    def _object(self, path):
        return call_json("object", self._number(), _library.encoded(path), by=self._call)

    def _tree(self):
        if self._listed is None:
            self._listed = {o["path"]: o for o in call_json("objects", self._number(), b"", by=self._call)}
        return self._listed

    def _make(self, about, path):
        about = about or self._tree()[path]
        if about["kind"] == "group":
            return Group(self, path)
        if about["kind"] == "dataset":
            return Dataset(self, path, about)
        raise MissingError(f"{self.filename}: {path} is a {about['kind']}; h5dnn.File reads groups and datasets: {about.get('error', '')}".rstrip(": "))

    def refresh(self) -> None:
        """Opens the file again, as it is now: one that grows, by a writer in HDF5's SWMR mode or by a new file in its place.
        No other thread may read it meanwhile. A dataset keeps its shape until Dataset.refresh."""
        self._number()
        before, self._listed = self._handle, None
        self._open()
        before.close()

    def close(self) -> None:
        """Closes the file. Its datasets can no longer be read."""
        if self._handle is not None:
            self._handle.close()
        self._handle = None

    def __enter__(self) -> File:
        return self

    def __exit__(self, *_):
        self.close()

    def __bool__(self):
        return self._handle is not None

    def __reduce__(self):
        return File, (self.filename, "r", self._format, self._follow)

    def __repr__(self):
        return f"<h5dnn.File {self.filename}{'' if self else ', closed'}>"


class Dataset:
    """An array in a file. Indexing reads the selected elements to a new NumPy array: integers, slices with any step,
    lists of indices, masks, an ellipsis, and the names of fields."""

    def __init__(self, file, name, about):
        self._file, self.name, self._about, self._array = file, name, about, None

    @property
    def file(self) -> File:
        return self._file

    @property
    def parent(self) -> Group:
        return self._file[os.path.dirname(self.name)]

    @property
    def attrs(self) -> Attributes:
        about = self._file._object(self.name)
        return Attributes(about.get("attributes"))

    @property
    def shape(self) -> tuple[int, ...] | None:
        return None if self._about["shape"] is None else tuple(self._about["shape"])

    @property
    def maxshape(self) -> tuple[int | None, ...]:
        return tuple(None if n < 0 else n for n in self._about["maxshape"] or ())

    @property
    def chunks(self) -> tuple[int, ...] | None:
        return tuple(self._about["chunks"]) if self._about["chunks"] else None

    @property
    def dtype(self) -> np.dtype:
        """NumPy's type of what is read. Types that NumPy does not have, such as bfloat16, are read as float32."""
        if self._about["numbers"]:
            return NUMPY.get(self._about["dtype"], np.dtype(np.float32))
        if self._about.get("fields"):
            return self._compound()
        return np.dtype(object)

    def refresh(self) -> None:
        """Opens the file again, as File.refresh does, and takes the shape that the dataset has now."""
        self._file.refresh()
        self._about = self._file[self.name]._about

    @property
    def ndim(self) -> int:
        return len(self.shape or ())

    @property
    def size(self) -> int | None:
        return None if self.shape is None else int(np.prod(self.shape, dtype=np.int64))

    @property
    def nbytes(self) -> int:
        return (self.size or 0) * self.dtype.itemsize

    def __len__(self) -> int:
        if not self.shape:
            raise _library.DTypeError(f"{self.name} is a single value, which has no length")
        return self.shape[0]

    def __iter__(self) -> Iterator[Any]:
        for k in range(len(self)):
            yield self[k]

    def __array__(self, dtype=None, copy=None):
        if copy is False:
            raise ValueError(f"{self.name} is read from a file to a new array; memory allocation cannot be avoided, as copy=False asks")
        return np.asarray(self[()], dtype)

    def asstr(self, *_: Any, **__: Any) -> Dataset:
        """The dataset itself: strings are read as str."""
        return self

    def astype(self, dtype: Any) -> _Converted:
        """The dataset whose elements are converted when they are read."""
        return _Converted(self, np.dtype(dtype))

    def read_direct(self, dest: np.ndarray, source_sel: Any = (), dest_sel: Any = ()) -> None:
        """Reads what source_sel selects into an array, or into what dest_sel selects of it."""
        into = dest[dest_sel]
        plain = into.dtype.isnative and into.dtype.name in CODES and into.flags.c_contiguous and into.flags.aligned and into.flags.writeable
        if plain and self._about["numbers"] and np.may_share_memory(into, dest):  # lists of indices copy
            part = self._slice(_normalized(source_sel, self))
            if _library.describe(part)[1] != into.shape:
                raise ShapeError(f"{self.name}: {_library.describe(part)[1]} elements do not fit into {into.shape}")
            _library.read(part, into, into.ctypes.data, into.shape, into.dtype.name, self._file._call)
        else:
            dest[dest_sel] = self[source_sel]

    def __getitem__(self, index: Any) -> Any:
        found = self._read(index, None)
        with_ellipsis = index is Ellipsis or isinstance(index, tuple) and any(part is Ellipsis for part in index)
        return np.asarray(found) if with_ellipsis and isinstance(found, np.generic) else found

    def _read(self, index, dtype):
        names, index = _fields_of(index)
        if names is not None:
            return self._read_fields(names, index)
        if self.shape is None:
            raise _library.DTypeError(f"{self.name} has no value (null dataspace)")
        if isinstance(index, np.ndarray) and index.dtype == bool and index.ndim > 1:
            return self._read((), dtype)[index]
        axes = _normalized(index, self)
        if self._about["numbers"]:
            return _numbers(self._slice(axes), dtype, self._file._call)
        if self._about.get("fields"):
            return self._read_fields(None, index)
        return self._objects(axes)

    def _numbers(self):
        """The handle of the array in the file."""
        if self._array is None or self._array[0].stale or self._array[1] is not self._file._handle:
            number = self._file._number()
            self._array = Handle("free", "get", number, _library.encoded(self.name), by=self._file._call), self._file._handle
        return self._array[0]

    def _slice(self, axes):
        return Handle("free", "slice", self._numbers().number, _expression(axes))

    def _objects(self, axes):
        found = call_json("values", self._file._number(), _library.encoded(self.name), _expression(axes), by=self._file._call)
        array = np.empty(len(found["values"]), object)
        for k, value in enumerate(found["values"]):
            array[k] = _sequence(value, "string" in self._about["dtype"])
        return array.reshape(found["shape"])[()] if found["shape"] else array[0]

    def _members(self):
        return [field.split(": ", 1)[0] for field in self._about["fields"]]

    def _member(self, name):
        """The numbers of a field, or nothing if they are not numbers."""
        try:
            return Handle("free", "member", self._file._number(), _library.encoded(self.name), _library.encoded(name))
        except _library.DTypeError:
            return None

    def _compound(self):
        types = []
        for name in self._members():
            member = self._member(name)
            if member is None:
                types.append((name, object))
                continue
            kind, shape, _, _ = _library.describe(member)
            types.append((name, NUMPY.get(kind, np.dtype(np.float32)), shape[self.ndim:]))
        return np.dtype(types)

    def _read_fields(self, names, index):
        """A structured array of some fields, or the array of one."""
        known = self._members() if self._about.get("fields") else []
        for name in names or ():
            if name not in known:
                raise MissingError(f"{self._file.filename}: {self.name} has no field {name}; its fields are {', '.join(known) or 'none'}")
        wanted, columns, objects = names or known, {}, None
        for name in wanted:
            member = self._member(name)
            if member is not None:
                axes = _normalized(index, self) + [slice(None)] * (len(_library.describe(member)[1]) - self.ndim)
                columns[name] = _numbers(Handle("free", "slice", member.number, _expression(axes)), None, self._file._call)
            else:
                if objects is None:
                    objects = call_json("values", self._file._number(), _library.encoded(self.name), _expression(_normalized(index, self)), by=self._file._call)
                k = known.index(name)
                columns[name] = _objects([value[k] for value in objects["values"]], 1).reshape(objects["shape"])
        if names is not None and len(names) == 1:
            return columns[names[0]]
        dtype = self._compound()
        rank = sum(not isinstance(part, int) for part in _normalized(index, self))
        shape = np.shape(next(iter(columns.values())))[:rank]
        whole = np.empty(shape, np.dtype([(name, dtype.fields[name][0]) for name in wanted]))
        for name in wanted:
            whole[name] = columns[name]
        return whole[()]

    def _summary(self):
        return f"  {self._about['dtype']} {'×'.join(map(str, self.shape or ()))}"

    def __reduce__(self):
        return operator.getitem, (self._file, self.name)

    def __eq__(self, other):
        return type(self) is type(other) and self._file is other._file and self.name == other.name

    def __hash__(self):
        return hash((id(self._file), self.name))

    def __repr__(self):
        return f"<h5dnn.Dataset {self.name}: {self._about['dtype']}, shape {self.shape}>"


class _Converted:
    """A dataset whose elements are converted when they are read."""

    def __init__(self, dataset, dtype):
        self._dataset, self.dtype, self.shape = dataset, dtype, dataset.shape

    def __getitem__(self, index):
        return self._dataset._read(index, self.dtype)

    def __len__(self) -> int:
        return len(self._dataset)


def _numbers(array, dtype, by):
    """Reads all of an array."""
    name, shape, _, _ = _library.describe(array)
    kind = NUMPY.get(name, np.dtype(np.float32))
    if dtype is not None and dtype.name in CODES:
        kind = dtype.newbyteorder("=")
    out = np.empty(shape, kind)
    if out.size:
        _library.read(array, out, out.ctypes.data, shape, kind.name, by)
    if dtype not in (None, kind):
        out = out.astype(dtype)
    return out[()] if shape == () else out


def _fields_of(index):
    """Splits names of fields from an index."""
    parts = index if isinstance(index, tuple) else (index,)
    if isinstance(index, list) and index and all(isinstance(p, str) for p in index):
        return index, ()
    names = [p for p in parts if isinstance(p, str)]
    if not names:
        return None, index
    rest = tuple(p for p in parts if not isinstance(p, str))
    return names, rest[0] if len(rest) == 1 else rest


def _normalized(index, dataset):
    """An index as a list of one integer, slice or list of integers for each axis."""
    rank, shape = dataset.ndim, dataset.shape
    parts = list(index) if isinstance(index, tuple) else [index]
    if sum(p is Ellipsis for p in parts) > 1:
        raise ShapeError(f"{dataset.name}: an index has at most one ellipsis")
    if Ellipsis not in [p if p is Ellipsis else None for p in parts]:
        parts.append(Ellipsis)
    at = next(k for k, p in enumerate(parts) if p is Ellipsis)
    missing = rank - (len(parts) - 1)
    if missing < 0:
        raise ShapeError(f"{dataset.name} has {rank} axes, and the index {len(parts) - 1}")
    parts[at:at + 1] = [slice(None)] * missing
    return [_axis(p, shape[k], dataset) for k, p in enumerate(parts)]


def _axis(part, size, dataset):
    if isinstance(part, slice):
        return slice(*(None if b is None else operator.index(b) for b in (part.start, part.stop, part.step)))
    if isinstance(part, (list, range, np.ndarray)) and np.ndim(part) == 1:
        array = np.asarray(part)
        if array.dtype == bool:
            if len(array) != size:
                raise ShapeError(f"{dataset.name}: a mask of {len(array)} elements for an axis of {size}")
            return np.flatnonzero(array).tolist()
        if array.size == 0 or array.dtype.kind in "iu":
            return array.tolist()
    try:
        if not isinstance(part, (bool, np.bool_)):
            return operator.index(part)
        raise ValueError
    except Exception:
        raise _library.DTypeError(f"{dataset.name}[{part!r}]: want integers, slices, lists of integers, masks or an ellipsis") from None


def _expression(axes):
    """The index expression of h5dnn for an index."""
    def text(part):
        if isinstance(part, slice):
            bounds = ["" if b is None else str(b) for b in (part.start, part.stop)]
            return ":".join(bounds) + ("" if part.step is None else f":{part.step}")
        return "[" + ",".join(map(str, part)) + "]" if isinstance(part, list) else str(part)
    return ("[" + ", ".join(map(text, axes)) + "]").encode() if axes else b""


def load_state_dict(path: str | os.PathLike, to: str = "numpy") -> dict[str, Any]:
    """All arrays of numbers of a file of any format by name, as NumPy arrays or PyTorch tensors (to="torch")."""
    if to not in ("numpy", "torch"):
        raise ValueError(f"to={to!r}; want numpy or torch")
    arrays = {}
    with File(path) as file:
        for name, about in file._tree().items():
            if about["kind"] == "dataset" and about["numbers"]:
                dataset = Dataset(file, name, about)
                arrays[name[1:]] = _tensor(dataset._numbers()) if to == "torch" else np.asarray(dataset[()])
    return arrays


def verify(path: str | os.PathLike) -> list[str]:
    """Checks a file of any format: every structure and chunk of HDF5, every array of others, and all checksums. Returns
    what is wrong, a line for each problem; nothing if the file is intact."""
    return _lines(call_json("verify", _name(path), by=_library.call_slowly))


def convert(path: str | os.PathLike, out: str | os.PathLike, format: str = "", force: bool = False, verify: bool = False) -> list[str]:
    """Writes the arrays of a file in another format: the one named, or else the one that the extension of out names. HDF5 is copied to HDF5 as
    it is stored. Returns what out lacks, a line each. force replaces a file; verify reads out and compares every element."""
    settings = json.dumps({"format": format, "force": force, "verify": verify}).encode()
    return _lines(call_json("convert", _name(path), _name(out), settings, by=_library.call_slowly))


def diff(a: str | os.PathLike, b: str | os.PathLike, rtol: float = 0, atol: float = 0, ignore_types: bool = False) -> list[dict[str, Any]]:
    """Compares the arrays of two files of any formats. Elements x and y are equal if |x - y| <= atol + rtol*|y|, or if both are
    NaN. Returns the arrays that differ, the worst first, and those that only="a" or "b" has; nothing if there are none."""
    settings = json.dumps({"rtol": rtol, "atol": atol, "ignore_types": ignore_types}).encode()
    return call_json("diff", _name(a), _name(b), settings, by=_library.call_slowly)


def _name(path):
    return _library.encoded(os.fsdecode(path), "file")


def _lines(problems):
    return [": ".join(filter(None, (p["path"], p["message"]))) for p in problems]


def _tensor(array):
    import torch
    name, shape, _, _ = _library.describe(array)
    out = torch.empty(shape, dtype=getattr(torch, name))
    if out.numel():
        _library.read(array, out, out.data_ptr(), shape, name)
    return out
