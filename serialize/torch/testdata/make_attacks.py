"""Writes hostile files to attacks, each of which must be refused, and valid ones with odd keys
to odd. Nothing here is ever unpickled.

    python3 make_attacks.py
"""
import io, os, struct, tarfile, zipfile
here = os.path.dirname(os.path.abspath(__file__))
folder = os.path.join(here, "attacks")
os.makedirs(folder, exist_ok=True)
os.makedirs(os.path.join(here, "odd"), exist_ok=True)


def write(name, content):
    with open(os.path.join(folder, name + ".pt"), "wb") as f:
        f.write(content)


# Pieces of pickles.
def text(s): return b"X" + struct.pack("<I", len(s.encode())) + s.encode()
def num(n):
    if 0 <= n < 256: return b"K" + bytes([n])
    if -2**31 <= n < 2**31: return b"J" + struct.pack("<i", n)
    b = n.to_bytes(n.bit_length() // 8 + 1, "little", signed=True)
    return b"\x8a" + bytes([len(b)]) + b
def tup(*items): return b"(" + b"".join(items) + b"t"
def glob(module, name): return b"c" + module.encode() + b"\n" + name.encode() + b"\n"
def storage(key="0", numel=4, cls="FloatStorage", *more): return tup(text("storage"), glob("torch", cls), text(key), text("cpu"), num(numel), *more) + b"Q"
def tensor(offset=0, size=(2, 2), stride=(2, 1), at=None, hooks=glob("collections", "OrderedDict") + b")R"):
    ints = lambda t: tup(*map(num, t))
    return glob("torch._utils", "_rebuild_tensor_v2") + tup(at or storage(), num(offset), ints(size), ints(stride), b"\x89", hooks) + b"R"
def dict_(**items): return b"}(" + b"".join(text(k) + v for k, v in items.items()) + b"u"
def ordered(items, **attributes): return glob("collections", "OrderedDict") + b")R(" + items + b"u" + dict_(**attributes) + b"b"
def pickle(value): return b"\x80\x02" + value + b"."


def archive(records, compression=zipfile.ZIP_STORED):
    b = io.BytesIO()
    with zipfile.ZipFile(b, "w", compression) as z:
        for name, content in records:
            z.writestr("archive/" + name, content)
    return b.getvalue()


def model(value, data=bytes(16), *more):
    return archive([("data.pkl", pickle(value)), ("byteorder", b"little"), ("data/0", data), ("version", b"3\n"), *more])


good = model(dict_(w=tensor()))

# Calls.
write("os_system", model(dict_(w=tensor(), x=glob("posix", "system") + tup(text("touch /tmp/attacked")) + b"R")))
write("eval", model(glob("__builtin__", "eval") + tup(text("1")) + b"R"))
write("subprocess_in_protocol_4", model(b"\x8c\x0asubprocess\x8c\x05Popen\x93" + tup(text("id")) + b"R"))
write("call_in_hooks", model(dict_(w=tensor(hooks=glob("os", "popen") + tup(text("id")) + b"R"))))
write("import_without_call", model(dict_(w=tensor(), x=glob("importlib", "import_module"))))

# Values that are larger than their file.
laughs = b"]q\x00" + b"".join(b"](" + b"h" + bytes([i]) + b"h" + bytes([i]) + b"eq" + bytes([i + 1]) for i in range(60))
write("exponential_lists", model(b"(" + laughs + b"t"))
write("cycle", model(b"]q\x00h\x00a"))
write("cycle_of_dicts", model(b"}q\x00" + text("a") + b"h\x00s"))
write("deep_lists", model(b"](" * 5000 + b"e" * 5000))
write("deep_key", model(b"}(" + b")" + b"\x85" * 5000 + b"Nu"))
write("exponential_key", model(b"}()q\x00" + b"h\x00h\x00\x86q\x00" * 40 + b"Nu"))
write("../odd/exponential_object_key", model(dict_(w=tensor()) + b"(" + b")q\x00" + b"h\x00h\x00\x86q\x00" * 40 + b"1" + b"(" + glob("m", "C") + tup(b"h\x00") + b"R" + b"t" + b"Ns"))
write("long_names", model(dict_(x=text("n" * 60000) + b"q\x00") [:-1] + b"h\x00" + b"}(h\x00" * 600 + tensor() + b"u" * 600 + b"u"))
write("../odd/equal_names", model(b"}(" + b"".join(glob("m", "C") + b")R" + tensor() for _ in range(3)) + b"u"))
write("../odd/key_that_is_a_tuple", model(ordered(tup() + tensor(), h5dnn=dict_(model=tup(), meta=b"}"))))
write("../odd/buffers_of_tuples", model(glob("m", "C") + b")\x81" + dict_(
    _parameters=b"}", _modules=b"}", _buffers=b"}(" + tup(text("a")) + tensor() + text("b") + tensor() + b"u", _non_persistent_buffers_set=b"\x8f(" + tup(text("a")) + b"\x90") + b"b"))
write("../odd/keys_of_equal_text", model(b"}(" + tup(text("a string b")) + tensor() + tup(text("a"), text("b")) + tensor() + b"u"))
write("../odd/prefixes", model(dict_(**{"module." * 20000 + "w": tensor()})))
write("declared_text", model(b"X" + struct.pack("<I", 2**31)))
write("declared_bytes", model(b"\x8e" + struct.pack("<Q", 2**62)))
write("long_integer", model(b"\x8b" + struct.pack("<I", 1 << 17) + bytes(1 << 17)))
write("endless_name", model(b"c" + b"a" * 5000))

# Pickles that are no pickles.
write("no_stop", archive([("data.pkl", b"\x80\x02}")]))
write("empty_stack", model(b"R"))
write("empty_stack_of_dict", model(b"s"))
write("no_mark", model(b"t"))
write("unknown_memo", model(b"j\xff\xff\xff\xff"))
write("unknown_instruction", model(b"I1\n"))
write("protocol_9", archive([("data.pkl", b"\x80\x09}.")]))
write("items_of_a_list", model(b"](" + text("a") + b"Nu"))
write("appended_to_a_dict", model(b"}(Ne"))
write("unhashable_key", model(b"}(]Nu"))
write("key_without_value", model(b"}(Nu"))
write("call_of_a_number", model(num(1) + b")R"))
write("call_with_a_list", model(glob("collections", "OrderedDict") + b"]R"))
write("attributes_of_a_number", model(num(1) + b"}b"))
write("not_utf8", model(b"X\x01\x00\x00\x00\xff"))
write("left_on_the_stack", model(b"NN"))

# Views outside of their storage.
write("size_beyond_storage", model(dict_(w=tensor(size=(3, 2)))))
write("offset_beyond_storage", model(dict_(w=tensor(offset=1))))
write("negative_offset", model(dict_(w=tensor(offset=-1))))
write("negative_stride", model(dict_(w=tensor(offset=3, stride=(-2, -1)))))
write("negative_size", model(dict_(w=tensor(size=(-2, -2)))))
write("huge_stride", model(dict_(w=tensor(stride=(2**62, 1)))))
write("huge_size", model(dict_(w=tensor(size=(2**62, 4), stride=(0, 1)))))
write("terabytes_of_one_element", model(dict_(w=tensor(size=(2**38,), stride=(0,)))))
write("integer_beyond_64_bits", model(dict_(w=tensor(size=(2**64 + 2, 2)))))
write("ranks_differ", model(dict_(w=tensor(stride=(1,)))))
write("rank_100", model(dict_(w=tensor(size=(1,) * 100, stride=(1,) * 100))))
write("storage_larger_than_record", model(dict_(w=tensor(at=storage(numel=2**40), size=(2**40,), stride=(1,)))))
write("storage_smaller_than_record", model(dict_(w=tensor(at=storage(numel=4))), bytes(20)))
write("storage_of_negative_size", model(dict_(w=tensor(at=storage(numel=-4)))))
write("storage_of_overflowing_size", model(dict_(w=tensor(at=storage(numel=2**62)))))
write("storage_as_other_type", model(dict_(a=tensor(), b=tensor(at=storage(cls="DoubleStorage")))))
write("unknown_storage_class", model(dict_(w=tensor(at=storage(cls="SecretStorage")))))
write("path_outside", model(dict_(w=tensor(at=storage(key="../../../etc/passwd")))))
write("record_missing", model(dict_(w=tensor(at=storage(key="7")))))
write("quantized", model(dict_(w=glob("torch._utils", "_rebuild_qtensor") + tup(storage()) + b"R")))

# Archives.
def compressed(numel, declared, size):
    """size zeros, compressed, of which the directory says that they are declared bytes."""
    value = dict_(w=tensor(at=storage(numel=numel), size=(numel,), stride=(1,)))
    b = bytearray(archive([("data.pkl", pickle(value)), ("data/0", bytes(size))], zipfile.ZIP_DEFLATED))
    struct.pack_into("<I", b, b.rindex(b"archive/data/0") - 46 + 24, declared)
    return bytes(b)
write("zip_bomb", compressed(0x3ffffffc, 0xfffffff0, 1 << 24))
write("compressed_more_than_declared", compressed(4, 16, 1 << 16))
write("compressed_less_than_declared", compressed(9 << 10, 9 << 12, 1 << 15))
at = good.rindex(b"PK\x01\x02", 0, good.index(b"archive/version", good.index(b"PK\x01\x02")))
overlapping = bytearray(good)
data = good.index(b"PK\x01\x02", good.index(b"archive/data/0", good.index(b"PK\x01\x02")) - 60)
entry = good.rindex(b"PK\x01\x02", 0, good.rindex(b"archive/data/0"))
overlapping[entry + 42:entry + 46] = struct.pack("<I", 0)
write("overlapping_records", bytes(overlapping))
beyond = bytearray(good)
beyond[entry + 20:entry + 28] = struct.pack("<II", 1 << 20, 1 << 20)
write("record_beyond_file", bytes(beyond))
encrypted = bytearray(good)
encrypted[entry + 8] |= 1
write("encrypted", bytes(encrypted))
end = good.rindex(b"PK\x05\x06")
count = bytearray(good)
count[end + 8:end + 12] = struct.pack("<HH", 3, 3)
write("records_of_the_directory", bytes(count))
outside = bytearray(good)
outside[end + 16:end + 20] = struct.pack("<I", 1 << 30)
write("directory_outside", bytes(outside))
write("truncated", good[:len(good) - 200])
import warnings; warnings.simplefilter("ignore")
write("name_twice", model(dict_(w=tensor()), bytes(16), ("data/0", bytes(16))))
write("no_pickle", archive([("data/0", bytes(16))]))
write("byte_order", archive([("data.pkl", pickle(dict_(w=tensor()))), ("byteorder", b"middle"), ("data/0", bytes(16))]))
write("torchscript", archive([("data.pkl", pickle(b"N")), ("constants.pkl", pickle(b")"))]))

# Older formats.
magic = pickle(num(0x1950a86a20f9469cfc6c))
system = pickle(dict_(protocol_version=num(1001), little_endian=b"\x88"))
legacy_storage = lambda numel=4, view=b"N": storage("0", numel, "FloatStorage", view)
def legacy(value, keys=b"](" + text("0") + b"e", data=struct.pack("<q", 4) + bytes(16), version=num(1001)):
    return magic + pickle(version) + system + pickle(value) + pickle(keys) + data
write("legacy_unused_storage", legacy(dict_(w=tensor(at=legacy_storage())), keys=b"](" + text("9") + b"e"))
write("legacy_size_differs", legacy(dict_(w=tensor(at=legacy_storage())), data=struct.pack("<q", 5) + bytes(20)))
write("legacy_truncated", legacy(dict_(w=tensor(at=legacy_storage())), data=struct.pack("<q", 4) + bytes(8)))
write("legacy_huge", legacy(dict_(w=tensor(at=legacy_storage(2**60))), data=struct.pack("<q", 2**60) + bytes(8)))
write("legacy_view_outside", legacy(dict_(w=tensor(at=legacy_storage(4, tup(text("1"), num(3), num(4)))))))
write("../odd/legacy_view", legacy(dict_(w=tensor(offset=1, size=(2,), stride=(1,), at=legacy_storage(4, tup(text("1"), num(1), num(3))))), data=struct.pack("<q4f", 4, 0, 1, 2, 3)))
write("legacy_storage_twice", legacy(dict_(w=tensor(at=legacy_storage())), keys=b"](" + text("0") + text("0") + b"e", data=(struct.pack("<q", 4) + bytes(16)) * 2))
write("legacy_version", legacy(dict_(w=tensor(at=legacy_storage())), version=num(7)))
write("preview", b"PYTORCH1" + bytes(100))
b = io.BytesIO()
with tarfile.open(fileobj=b, mode="w", format=tarfile.USTAR_FORMAT) as t:
    for name in ["storages", "tensors", "pickle"]:
        t.addfile(tarfile.TarInfo(name))
write("tar", b.getvalue())
