"""Writes hostile indices to attacks, and snappy.index, which is v1.index compressed.

    python3 make_attacks.py
"""
import os, shutil, struct
here = os.path.dirname(os.path.abspath(__file__))
path = lambda *names: os.path.join(here, *names)
os.makedirs(path("attacks"), exist_ok=True)

table = []
for i in range(256):
    c = i
    for _ in range(8): c = c >> 1 ^ (0x82f63b78 if c & 1 else 0)
    table.append(c)
def crc32c(b):
    c = 0xffffffff
    for x in b: c = table[(c ^ x) & 255] ^ c >> 8
    c ^= 0xffffffff
    return ((c >> 15 | c << 17) + 0xa282ead8) & 0xffffffff
def varint(n):
    b = b""
    while n > 127: b += bytes([n & 127 | 128]); n >>= 7
    return b + bytes([n])
def field(n, value): return varint(n << 3 | 2) + varint(len(value)) + value if isinstance(value, bytes) else varint(n << 3) + varint(value & (2**64 - 1))
def snappy(b):
    out = varint(len(b))
    for i in range(0, len(b), 60):
        part = b[i:i + 60]
        out += bytes([len(part) - 1 << 2]) + part
    return out
def stored(b, compression=0):
    if compression == 1: b = snappy(b)
    return b, b + bytes([compression]) + struct.pack("<I", crc32c(b + bytes([compression])))
def entries(pairs): return b"".join(b"\0" + varint(len(k)) + varint(len(v)) + k + v for k, v in pairs) + struct.pack("<II", 0, 1)
def index(pairs, compression=0, block=None):
    data, out = stored(entries(pairs) if block is None else block, compression)
    top, more = stored(entries([(b"\xff", varint(0) + varint(len(data)))]), compression)
    footer = varint(0) + varint(0) + varint(len(out)) + varint(len(top))
    return out + more + footer.ljust(40, b"\0") + struct.pack("<Q", 0xdb4775248b80fb57)
def shape(*sizes): return b"".join(field(2, field(1, s)) for s in sizes)
def entry(typ=1, sizes=(2,), shard=0, offset=0, size=8, crc=0, more=b""):
    return field(1, typ) + field(2, shape(*sizes)) + field(3, shard) + field(4, offset) + field(5, size) + varint(6 << 3 | 5) + struct.pack("<I", crc) + more
header = (b"", field(1, 1))
def attack(name, pairs=None, content=None, data=bytes(8), **options):
    open(path("attacks", name + ".index"), "wb").write(index([header] + pairs, **options) if content is None else content)
    if data is not None: open(path("attacks", name + ".data-00000-of-00001"), "wb").write(data)

attack("checksum_of_elements", [(b"w", entry(crc=7))])
attack("beyond_file", [(b"w", entry(sizes=(4,), size=16))])
attack("offset_beyond_file", [(b"w", entry(offset=1 << 62))])
attack("offset_overflows", [(b"w", entry(offset=2**64 - 4))])
attack("size_differs", [(b"w", entry(sizes=(3,)))])
attack("huge_shape", [(b"w", entry(sizes=(1 << 40, 1 << 40)))])
attack("negative_size", [(b"w", entry(sizes=(-2,)))])
attack("unknown_shard", [(b"w", entry(shard=5))])
attack("shard_missing", [(b"w", entry())], data=None)
attack("unknown_type", [(b"w", entry(typ=99))])
# Keys of slices are encoded in order: a zero, the name, the rank, and start and length of each axis.
def sliced(start, length): return b"\0w\0\1" + b"\1\1" + bytes([0x80 | start, 0x80 | length])
attack("slices_with_a_gap", [(sliced(0, 1), entry(sizes=(1,), size=4)), (b"w", entry(size=0, more=field(7, b"")))])
attack("slices_that_overlap", [(sliced(0, 2), entry()), (sliced(1, 1), entry(sizes=(1,), offset=8, size=4)), (b"w", entry(sizes=(3,), size=0, more=field(7, b"")))], data=bytes(12))
attack("slices_beyond_the_shape", data=bytes(16), pairs=[(sliced(0, 2), entry()), (sliced(2, 2), entry(offset=8)), (b"w", entry(sizes=(3,), size=0, more=field(7, b"")))])
attack("slices_of_another_type", [(sliced(0, 2), entry(typ=3)), (b"w", entry(size=0, more=field(7, b"")))])
attack("slices", [(b"w", entry(more=field(7, b"")))])
attack("many_strings", [(b"w", entry(typ=7, sizes=(1 << 40,)))])
attack("string_lengths", [(b"w", entry(typ=7, sizes=(2,)))], data=b"\x7f\x7f" + bytes(6))
attack("name_twice", [(b"w", entry()), (b"w", entry())])
attack("out_of_order", [(b"x", entry()), (b"w", entry())])
attack("no_header", content=index([(b"w", entry())]))
attack("saver_of_v1", content=index([(b"", field(1, b""))]), data=None)
attack("many_shards", content=index([(b"", field(1, 1 << 40))]), data=None)
attack("restarts", content=index([], block=struct.pack("<I", 1 << 30)), data=None)
attack("shared_key", content=index([], block=b"\x05\x01\x01ab" + struct.pack("<II", 0, 1)), data=None)
attack("long_value", content=index([], block=b"\x00\x01\xff\xff\x7fab" + struct.pack("<II", 0, 1)), data=None)
good = index([header, (b"w", entry())])
attack("damaged_block", content=bytes([good[0] ^ 1]) + good[1:], data=None)
attack("handle_outside", content=good[:-48] + (varint(0) * 2 + varint(1 << 40) + varint(9)).ljust(40, b"\0") + good[-8:], data=None)
attack("compression", content=index([header], compression=9), data=None)
b = varint(1 << 27) + b"\x00a"
bomb = b + b"\x01" + struct.pack("<I", crc32c(b + b"\x01"))
top, more = stored(entries([(b"\xff", varint(0) + varint(len(b)))]))
attack("snappy_bomb", content=bomb + more + (varint(0) * 2 + varint(len(bomb)) + varint(len(top))).ljust(40, b"\0") + good[-8:], data=None)

# One block that the index refers to twice: with entries, which would be listed twice, and with
# none, of which any number would be decompressed.
def blocks(*contents, handles):
    out, at = b"", []
    for b in contents:
        part, part_out = stored(b, 1)
        at.append((len(out), len(part))); out += part_out
    top, more = stored(entries([(bytes([i + 1]), varint(at[k][0]) + varint(at[k][1])) for i, k in enumerate(handles)]))
    return out + more + (varint(0) * 2 + varint(len(out)) + varint(len(top))).ljust(40, b"\0") + good[-8:]
attack("block_twice", content=blocks(entries([header, (b"w", entry())]), struct.pack("<II", 0, 1), handles=[0, 1, 1, 1]))
attack("blocks_backwards", content=blocks(struct.pack("<II", 0, 1), entries([header, (b"w", entry())]), handles=[1, 0]))
attack("two_headers", content=index([header, header, (b"w", entry())]))
attack("same_elements", [(b"v", entry()), (b"w", entry())])
attack("overlap", [(b"v", entry(sizes=(3,), size=12)), (b"w", entry(offset=8))], data=bytes(16))

# The index of TensorFlow 1, read here by the same rules and written with Snappy.
v1 = open(path("v1.index"), "rb").read()
def uvarint(b, at):
    n = shift = 0
    while True:
        x = b[at]; n |= (x & 127) << shift; shift += 7; at += 1
        if x < 128: return n, at
def block(at, size):
    b, key, i, out = v1[at:at + size], b"", 0, []
    end = len(b) - 4 - 4 * struct.unpack("<I", b[-4:])[0]
    while i < end:
        shared, i = uvarint(b, i); own, i = uvarint(b, i); n, i = uvarint(b, i)
        key = key[:shared] + b[i:i + own]
        out.append((key, b[i + own:i + own + n])); i += own + n
    return out
f, at = v1[-48:], 0
handles = []
for _ in range(4):
    n, at = uvarint(f, at); handles.append(n)
pairs = []
for _, h in block(handles[2], handles[3]):
    start, i = uvarint(h, 0); size, _ = uvarint(h, i)
    pairs += block(start, size)
open(path("snappy.index"), "wb").write(index(pairs, compression=1))
shutil.copy(path("v1.data-00000-of-00001"), path("snappy.data-00000-of-00001"))
