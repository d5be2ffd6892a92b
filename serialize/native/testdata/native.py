"""The native format of h5dnn in Python, written from docs/native-format.md: a second
implementation for the tests to compare with.

    python3 native.py            writes the files of this folder
    python3 native.py read FILE  prints what a file holds
"""
import json, os, struct, sys

MAGIC, END = b"H5DN\r\n\x1a\n", b"H5DNEND\n"
SIZES = {"bool": 1, "uint8": 1, "uint16": 2, "uint32": 4, "uint64": 8, "int8": 1, "int16": 2, "int32": 4, "int64": 8,
         "float16": 2, "bfloat16": 2, "float32": 4, "float64": 8, "complex64": 8, "complex128": 16,
         "float8_e4m3fn": 1, "float8_e5m2": 1}


def table():
    for i in range(256):
        for _ in range(8):
            i = (i >> 1) ^ (0x82F63B78 if i & 1 else 0)
        yield i


TABLE = list(table())


def crc32c(b):
    c = 0xFFFFFFFF
    for x in b:
        c = TABLE[(c ^ x) & 255] ^ (c >> 8)
    return c ^ 0xFFFFFFFF


def up(n, to):
    return -(-n // to) * to


def preamble(header, length, alignment=4096, version=1):
    b = MAGIC + struct.pack("<IIQQI", version, alignment, length, len(header), crc32c(header))
    b += bytes(60 - len(b))
    return b + struct.pack("<I", crc32c(b))


def encode(meta, storages, tensors, header=None, alignment=4096, **over):
    """storages are (dtype, bytes), tensors name: {storage, shape, ...}."""
    at, listed, body = 0, [], b""
    for dtype, elements in storages:
        at = up(at, 4096 if len(elements) >= 65536 else 64)
        body += bytes(at - len(body)) + elements + struct.pack("<I", crc32c(elements))
        listed.append({"dtype": dtype, "offset": at, "nbytes": len(elements)})
        at += len(elements) + 4
    body += bytes(up(at, 64) - len(body))
    if header is None:
        header = {"metadata": meta, "storages": listed, "tensors": tensors}
    if callable(header):
        header = header({"metadata": meta, "storages": listed, "tensors": tensors})
    text = header if isinstance(header, bytes) else json.dumps(header, ensure_ascii=False, separators=(",", ":")).encode()
    data = up(64 + len(text), alignment)
    length = over.get("length", data + len(body) + 32)
    sums = b"".join(struct.pack("<I", crc32c(e)) for _, e in storages)
    end = END + struct.pack("<QI", length, crc32c(sums)) + bytes(8)
    end += struct.pack("<I", crc32c(end))
    return over.get("preamble", preamble(text, length, alignment, over.get("version", 1))) + text + bytes(data - 64 - len(text)) + body + end


def decode(b):
    assert b[:8] == MAGIC and crc32c(b[:60]) == struct.unpack("<I", b[60:64])[0], "preamble"
    version, alignment, length, n, digest = struct.unpack("<IIQQI", b[8:36])
    assert version == 1 and length == len(b), "length"
    text = b[64:64 + n]
    assert crc32c(text) == digest, "header"
    header, data, sums = json.loads(text), up(64 + n, alignment), b""
    assert json.dumps(header, ensure_ascii=False, separators=(",", ":")).encode() == text, "canonical"
    for s in header["storages"]:
        assert s["offset"] % (4096 if s["nbytes"] >= 65536 else 64) == 0, "alignment"
        s["elements"] = b[data + s["offset"]:][:s["nbytes"]]
        stored = b[data + s["offset"] + s["nbytes"]:][:4]
        assert struct.pack("<I", crc32c(s["elements"])) == stored, "storage"
        sums += stored
    end = b[-32:]
    assert end[:8] == END and struct.unpack("<QI", end[8:20]) == (length, crc32c(sums)), "end"
    assert crc32c(end[:28]) == struct.unpack("<I", end[28:])[0], "end"
    return header


def elements(header, tensor):
    """The bytes of a tensor's elements in row-major order."""
    storage, shape = header["storages"][tensor["storage"]], tensor["shape"]
    size, strides = SIZES[storage["dtype"]], tensor.get("strides")
    if strides is None:
        strides, step = [], 1
        for n in reversed(shape):
            strides.insert(0, step)
            step *= n

    def walk(axis, at):
        if axis == len(shape):
            return storage["elements"][at * size:(at + 1) * size]
        return b"".join(walk(axis + 1, at + i * strides[axis]) for i in range(shape[axis]))

    return walk(0, tensor.get("offset", 0))


def main():
    here = os.path.dirname(os.path.abspath(__file__))
    os.makedirs(os.path.join(here, "attacks"), exist_ok=True)

    def write(name, b):
        with open(os.path.join(here, name + ".h5dn"), "wb") as f:
            f.write(b)

    def attack(name, b):
        write(os.path.join("attacks", name), b)

    six = struct.pack("<6f", *range(6))
    views = {
        "row-major": {"storage": 0, "shape": [2, 3]}, "transposed": {"storage": 0, "shape": [3, 2], "strides": [1, 3]},
        "column": {"storage": 0, "shape": [2], "strides": [3], "offset": 1}, "broadcast": {"storage": 0, "shape": [4, 3], "strides": [0, 1]},
        "größe": {"storage": 1, "shape": [], "attributes": {"unit": "m/s", "axes": ["x", "y"]}}, "empty": {"storage": 2, "shape": [0, 3]},
        "four bits": {"storage": 3, "shape": [3]},
    }
    good = encode({"epoch": "3"}, [("float32", six), ("int64", struct.pack("<q", -7)), ("float16", b""), ("uint4", b"\x21\x03")], views)
    write("views", good)

    one = {"w": {"storage": 0, "shape": [6]}}

    def tensor(**over):
        return encode({}, [("float32", six)], {"w": {**one["w"], **over}})

    def stored(**over):
        def header(h):
            h["storages"][0].update(over)
            return h
        return encode({}, [("float32", six)], one, header)

    attack("reaches_outside", tensor(shape=[7]))
    attack("offset_outside", tensor(shape=[1], offset=6))
    attack("strides_outside", tensor(shape=[2], strides=[6]))
    attack("negative_stride", tensor(strides=[-1], offset=5))
    attack("strides_missing", tensor(shape=[2, 3], strides=[1]))
    attack("huge_shape", tensor(shape=[1 << 40, 1 << 40], strides=[0, 0]))
    attack("shape_bomb", tensor(shape=[1 << 45], strides=[0]))
    attack("huge_stride", tensor(shape=[2], strides=[1 << 62]))
    attack("no_such_storage", tensor(storage=1))
    attack("unknown_dtype", stored(dtype="float31"))
    attack("partial_element", stored(nbytes=23))
    attack("storage_beyond_end", stored(nbytes=1 << 40))
    attack("storage_offset_overflow", stored(offset=(1 << 63) - 64, nbytes=64))
    attack("storage_misaligned", stored(offset=4, nbytes=8))
    attack("unknown_key", stored(compression="gzip"))

    def overlap(h):
        h["storages"][1]["offset"] = 0
        return h
    attack("overlap", encode({}, [("float32", six), ("float32", six)], {**one, "v": {"storage": 1, "shape": [6]}}, overlap))

    def cycle(h):
        h["storages"].reverse()
        return h
    attack("backwards", encode({}, [("float32", six), ("float32", six)], one, cycle))
    attack("name_twice", encode({}, [("float32", six)], one, b'{"metadata":{},"storages":[{"dtype":"float32","offset":0,"nbytes":24}],"tensors":{"w":{"storage":0,"shape":[6]},"w":{"storage":0,"shape":[3]}}}'))
    attack("long_name", encode({}, [("float32", six)], {"w" * 5000: one["w"]}))
    attack("metadata_number", encode({"epoch": 3}, [("float32", six)], one))
    attack("no_tensors", encode({}, [], {}, {"metadata": {}, "storages": []}))
    attack("deep", encode({}, [], {}, b'{"metadata":' + b"[" * 1000 + b"]" * 1000 + b"}"))
    attack("version", encode({}, [("float32", six)], one, version=2))
    attack("alignment", encode({}, [("float32", six)], one, alignment=96))
    attack("header_of_exabytes", preamble(b"", 1 << 61)[:24] + struct.pack("<Q", 1 << 60) + bytes(28) + struct.pack("<I", crc32c(preamble(b"", 1 << 61)[:24] + struct.pack("<Q", 1 << 60) + bytes(28))))
    whole = encode({}, [("float32", six)], one)
    attack("truncated", whole[:-40])
    attack("truncated_header", whole[:100])
    attack("truncated_preamble", whole[:40])
    attack("trailing_bytes", whole + b"x")
    attack("damaged_preamble", whole[:20] + b"\xff" + whole[21:])
    attack("damaged_header", whole[:80] + b"\xff" + whole[81:])
    attack("damaged_elements", whole[:4096] + b"\xff" + whole[4097:])
    attack("damaged_checksum", whole[:4096 + 24] + b"\xff" + whole[4096 + 25:])
    attack("damaged_end", whole[:-20] + b"\xff" + whole[-19:])
    attack("line_ends", whole.replace(b"\r\n", b"\n"))


if sys.argv[1:2] == ["read"]:
    with open(sys.argv[2], "rb") as f:
        header = decode(f.read())
    print(json.dumps(header["metadata"], sort_keys=True))
    for name, t in header["tensors"].items():
        s = header["storages"][t["storage"]]
        print(name, s["dtype"], t["shape"], elements(header, t).hex())
elif len(sys.argv) == 1:
    main()
