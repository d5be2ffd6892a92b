"""Files of arrays: groups, datasets and attributes, read as h5py reads them."""
from __future__ import annotations

import dataclasses
import html
import itertools
import json
import operator
import os
import re
import struct
import zlib
from collections.abc import Callable, Iterator, Mapping
from typing import Any

import numpy as np

from . import _library
from ._library import CODES, NUMPY, Error, Handle, MissingError, ShapeError, call_json


class Attributes(Mapping):
    """The attributes of an object by name."""

    def __init__(self, listed):
        self._all = {a["name"]: a for a in sorted(listed or (), key=lambda a: os.fsencode(a["name"]))}

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


@dataclasses.dataclass(frozen=True)
class Empty:
    """What a null dataspace holds: a type, and no value."""
    dtype: np.dtype
    shape = size = None


@dataclasses.dataclass(frozen=True)
class HardLink:
    """A member that is an object."""


@dataclasses.dataclass(frozen=True)
class SoftLink:
    """A member that names an object of the file."""
    path: str


@dataclasses.dataclass(frozen=True)
class ExternalLink:
    """A member that names an object of another file."""
    filename: str
    path: str


def _attribute(a):
    value, shape = a.get("value"), a["shape"]
    if shape is None:
        return Empty(NUMPY.get(a["dtype"], np.dtype(object)))
    if value is None:
        return None
    dtype = NUMPY.get(a["dtype"])
    if dtype is not None:
        try:
            return _numbers_of(value, dtype)[()] if np.size(value) else np.empty(shape, dtype)
        except ValueError:
            pass  # the names of an enum
    return value if shape == [] else _objects(value, len(shape))


def _numbers_of(value, dtype):
    """An array of numbers in JSON, whose complex numbers are pairs, and which may be NaN."""
    if dtype.kind != "c":
        return np.asarray(value, dtype)
    pairs = np.asarray(value, np.float64)
    return pairs.view(np.complex128)[..., 0].astype(dtype) if pairs.size else pairs.astype(dtype)


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
        return "/" + "/".join(part for part in (self.name + "/" + name if name[:1] != "/" else name).split("/") if part not in ("", "."))

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
            return isinstance(name, (str, bytes)) and bool(name) and bool(self._file) and self._path(_decoded(name)) in self._file._tree()
        return True

    def __iter__(self) -> Iterator[str]:
        below = "/" if self.name == "/" else self.name + "/"
        for path in self._file._tree():
            if path.startswith(below) and path != below and "/" not in path[len(below):]:
                yield path[len(below):]

    def __len__(self) -> int:
        return sum(1 for _ in self)

    def get(self, name: str | bytes, default: Any = None, getclass: bool = False, getlink: bool = False) -> Any:
        """The member, or default where there is none. getclass gives its class, getlink its link, and both the class of its link."""
        try:
            found = self._link(name) if getlink else self[name]
        except MissingError:
            return default
        return type(found) if getclass else found

    def _link(self, name):
        path = self._path(_decoded(name))
        about = self._file._tree().get(path) or self._file._object(path)
        if about["kind"] == "soft":
            return SoftLink(about["target"])
        if about["kind"] == "external":
            return ExternalLink(about["target_file"], about["target"])
        return HardLink()

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

    def _repr_html_(self):
        """The tree, in notebooks."""
        return f"<pre>{html.escape(repr(self))}\n{html.escape(self.tree())}</pre>"

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

    mode = "r"

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
        """All objects by path, in h5py's order."""
        if self._listed is None:
            self._listed = {o["path"]: o for o in sorted(self._stored(), key=lambda o: os.fsencode(o["path"]).split(b"/"))}
        return self._listed

    def _stored(self):
        """All objects in the order of the file."""
        return call_json("objects", self._number(), b"", by=self._call)

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


# What h5py calls filters, by their registered numbers, and those that prepare for compression.
_H5PY = {1: "gzip", 2: "shuffle", 3: "fletcher32", 4: "szip", 32000: "lzf"}
_MOST_PIXELS = 16 << 20  # of a picture in a notebook
_PREPARING = ("shuffle", "fletcher32", "scaleoffset", "nbit")


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
    def compression(self) -> str | None:
        """The filter that compresses the chunks: gzip, or h5dnn's name of another one."""
        return next((name for name in self._filters() if name not in _PREPARING), None)

    @property
    def compression_opts(self) -> Any:
        """The level of gzip, or the numbers that another filter has as parameters."""
        params = self._filters().get(self.compression)
        if self.compression in (None, "lzf"):
            return None
        return params[0] if self.compression == "gzip" else tuple(params)

    @property
    def shuffle(self) -> bool:
        return "shuffle" in self._filters()

    @property
    def fletcher32(self) -> bool:
        return "fletcher32" in self._filters()

    def _filters(self):
        return {_H5PY.get(f["id"], f["name"]): f["params"] for f in self._about.get("filters") or ()}

    @property
    def dims(self) -> tuple[_Axis, ...]:
        """The axes, with their labels and their dimension scales."""
        if self.shape is None:
            return ()
        attrs = self.attrs
        labels, scales = attrs.get("DIMENSION_LABELS"), attrs.get("DIMENSION_LIST")
        return tuple(_Axis(self, "" if labels is None else labels[k], [] if scales is None else scales[k]) for k in range(self.ndim))

    @property
    def is_scale(self) -> bool:
        """Whether the dataset is a dimension scale."""
        return self.attrs.get("CLASS") == "DIMENSION_SCALE"

    @property
    def dtype(self) -> np.dtype:
        """NumPy's type of what is read. Types that NumPy does not have, such as bfloat16, are read as float32."""
        if self._about["numbers"]:
            numbers = NUMPY.get(self._about["dtype"], np.dtype(np.float32))
            return np.dtype(numbers, metadata={"enum": self._about["enum"]}) if self._about.get("enum") and numbers != bool else numbers
        if self._is_compound():
            return self._compound()
        if self._bytes() is not None:
            return self._bytes()
        kind = str if self._about.get("string") else self._sequences()
        return np.dtype(object) if kind is None else np.dtype(object, metadata={"vlen": kind})

    def _is_compound(self):
        return self._about["dtype"] == "compound" and bool(self._about.get("fields"))

    def _bytes(self):
        """The type of times or opaque bytes, or nothing if elements are others."""
        kind = re.fullmatch(r"(datetime64\[\w+\])|opaque(\d+)(\(.*\))?", self._about.get("detail", ""), re.S)
        return kind and np.dtype(kind[1] or "V" + kind[2])

    def _sequences(self):
        """The type of the numbers in sequences, or nothing if elements are others."""
        kind = re.fullmatch(r"sequence\{(\w+)\}", self._about.get("detail", ""))
        return NUMPY.get(kind[1]) if kind else None

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

    def len(self) -> int:
        return len(self)

    def __iter__(self) -> Iterator[Any]:
        for k in range(len(self)):
            yield self[k]

    def __array__(self, dtype=None, copy=None):
        if copy is False:
            raise ValueError(f"{self.name} is read from a file to a new array; memory allocation cannot be avoided, as copy=False asks")
        return np.asarray(self[()], dtype)

    def asstr(self, *_: Any, **__: Any) -> Dataset:
        """The dataset itself: strings are read as str."""
        if self._about["numbers"]:
            raise _library.DTypeError(f"{self.name} holds {self._about['dtype']}, and no strings")
        return self

    def astype(self, dtype: Any) -> _View:
        """The dataset whose elements are converted when they are read."""
        dtype = np.dtype(dtype)
        return _View(self, dtype, lambda index: self._read(index, dtype))

    def fields(self, names: str | list[str]) -> _View:
        """The dataset of one field of a compound, or of several."""
        self._check_fields([names] if isinstance(names, str) else names)
        kinds = self.dtype.fields
        dtype = kinds[names][0] if isinstance(names, str) else np.dtype([(name, kinds[name][0]) for name in names])
        return _View(self, dtype, lambda index: self._read_fields(names, index))

    def iter_chunks(self, selection: Any = ()) -> Iterator[tuple[slice, ...]]:
        """The slices of each chunk, or of its part within a selection of slices."""
        if not self.chunks:
            raise _library.DTypeError(f"{self.name} has no chunks")
        within = [range(size)[part] if isinstance(part, slice) else None for part, size in zip(_normalized(selection, self), self.shape)]
        if any(part is None or part.step != 1 for part in within):
            raise ShapeError(f"{self.name}: iter_chunks of {selection!r}; want slices without steps")
        return itertools.product(*([slice(max(at, part.start), min(at + size, part.stop), 1) for at in range(part.start - part.start % size, part.stop, size)]
                                   for part, size in zip(within, self.chunks)))

    def read_direct(self, dest: np.ndarray, source_sel: Any = (), dest_sel: Any = ()) -> None:
        """Reads what source_sel selects into an array, or into what dest_sel selects of it."""
        into = dest[dest_sel]
        plain = into.dtype.isnative and into.dtype.name in CODES and into.flags.c_contiguous and into.flags.aligned and into.flags.writeable
        if plain and self._about["numbers"] and np.may_share_memory(into, dest) and not _beside_list(source_sel, self)[1]:  # lists of indices copy
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
            if index is Ellipsis or isinstance(index, tuple) and not index:
                return Empty(self.dtype)
            raise ShapeError(f"{self.name} has no value (null dataspace), and cannot be sliced")
        if isinstance(index, np.ndarray) and index.dtype == bool and index.ndim > 1:
            return self._read((), dtype)[index]
        ranges, single = _beside_list(index, self)
        if single:
            return np.squeeze(self._read(ranges, dtype), single)
        axes = _normalized(index, self)
        if self._about["numbers"]:
            return _numbers(self._slice(axes), dtype, self._file._call)
        if self._is_compound():
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
        values, kind, opaque = found["values"], self._sequences(), self._bytes()
        if opaque is not None:
            array = np.array([bytes.fromhex(value[2:]) for value in values] if opaque.kind == "V" else values, opaque)
        else:
            array = np.empty(len(values), object)
            for k, value in enumerate(values):
                array[k] = value if kind is None else _numbers_of(value, kind)
        return array.reshape(found["shape"])[()] if found["shape"] else array[0]

    def _members(self):
        return [field.split(": ", 1)[0] for field in self._about.get("fields") or ()]

    def _check_fields(self, names):
        known = self._members()
        for name in names:
            if name not in known:
                raise MissingError(f"{self._file.filename}: {self.name} has no field {name}; its fields are {', '.join(known) or 'none'}")

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
        """A structured array of some fields, or the array of one that is named by itself."""
        ranges, single = _beside_list(index, self)
        if single:
            return np.squeeze(self._read_fields(names, ranges), single)
        known = self._members()
        wanted = [names] if isinstance(names, str) else known if names is None else list(names)
        self._check_fields(wanted)
        columns, objects = {}, None
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
        if isinstance(names, str):
            return columns[names]
        dtype = self._compound()
        rank = sum(not isinstance(part, int) for part in _normalized(index, self))
        shape = np.shape(next(iter(columns.values())))[:rank]
        whole = np.empty(shape, np.dtype([(name, dtype.fields[name][0]) for name in wanted]))
        for name in wanted:
            whole[name] = columns[name]
        return whole[()]

    def _repr_png_(self):
        """The picture that uint8 pixels of two axes, or three with RGB as the last one, are, in notebooks."""
        shape = self.shape or ()
        color = len(shape) == 3 and shape[2] == 3
        if self.dtype != np.uint8 or not (color or len(shape) == 2) or not 0 < self.size <= _MOST_PIXELS:
            return None

        def part(kind, content):
            return struct.pack(">I", len(content)) + kind + content + struct.pack(">I", zlib.crc32(kind + content))
        rows = self[()].reshape(shape[0], -1)
        header = struct.pack(">IIBBBBB", shape[1], shape[0], 8, 2 if color else 0, 0, 0, 0)
        return b"\x89PNG\r\n\x1a\n" + part(b"IHDR", header) + part(b"IDAT", zlib.compress(np.insert(rows, 0, 0, axis=1).tobytes())) + part(b"IEND", b"")

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


class _View:
    """A dataset whose elements are of another type when they are read."""

    def __init__(self, dataset, dtype, read):
        self._dataset, self.dtype, self.shape, self._read = dataset, dtype, dataset.shape, read

    def __getitem__(self, index):
        return self._read(index)

    def __array__(self, dtype=None, copy=None):
        if copy is False:
            raise ValueError(f"{self._dataset.name} is read from a file to a new array; memory allocation cannot be avoided, as copy=False asks")
        return np.asarray(self[()], dtype)

    def __len__(self) -> int:
        return len(self._dataset)


class _Axis:
    """An axis of a dataset, with its label and its dimension scales: datasets by number or by name."""

    def __init__(self, dataset, label, scales):
        self._dataset, self.label, self._scales = dataset, label, scales

    def __getitem__(self, which: int | str) -> Dataset:
        return dict(self.items())[which] if isinstance(which, str) else self._dataset.file[self._scales[which]]

    def items(self) -> list[tuple[str, Dataset]]:
        scales = [self._dataset.file[path] for path in self._scales]
        return [(scale.attrs.get("NAME", ""), scale) for scale in scales]

    def keys(self) -> list[str]:
        return [name for name, _ in self.items()]

    def values(self) -> list[Dataset]:
        return [scale for _, scale in self.items()]

    def __iter__(self) -> Iterator[str]:
        return iter(self.keys())

    def __len__(self) -> int:
        return len(self._scales)

    def __repr__(self):
        return f"<h5dnn axis {self.label!r} of {self._dataset.name}, {len(self)} scales>"


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
    return names[0] if len(names) == 1 else names, rest[0] if len(rest) == 1 else rest


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


def _beside_list(index, dataset):
    """An index where integers beside one list are slices, and the axes of these, to be left out of what is read. NumPy puts the
    axis of the list first if a slice is between them; h5py leaves it where it is."""
    axes = _normalized(index, dataset) if isinstance(index, tuple) else []
    if sum(isinstance(part, list) for part in axes) != 1:
        return index, ()
    single = tuple(k for k, part in enumerate(axes) if isinstance(part, int) and -dataset.shape[k] <= part < dataset.shape[k])
    return tuple(slice(part, part + 1 or None) if k in single else part for k, part in enumerate(axes)), single


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
        for about in file._stored():
            if about["kind"] == "dataset" and about["numbers"]:
                dataset = Dataset(file, about["path"], about)
                arrays[about["path"][1:]] = _tensor(dataset._numbers()) if to == "torch" else np.asarray(dataset[()])
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
