# Writes tiny HDF5 files that declare much: python3 make.py
import h5py, numpy as np
def never(name, make):
    with h5py.File(name, "w", libver="latest") as f: make(f)
def late(f, name, shape, dtype, chunks=None):
    p = h5py.h5p.create(h5py.h5p.DATASET_CREATE)
    p.set_alloc_time(h5py.h5d.ALLOC_TIME_LATE)
    if chunks: p.set_chunk(chunks); p.set_alloc_time(h5py.h5d.ALLOC_TIME_INCR); p.set_deflate(1)
    h5py.h5d.create(f.id, name.encode(), dtype if isinstance(dtype, h5py.h5t.TypeID) else h5py.h5t.py_create(np.dtype(dtype), logical=True), h5py.h5s.create_simple(shape), dcpl=p)
def s(n):
    t = h5py.h5t.C_S1.copy(); t.set_size(n); return t
never("numbers.h5", lambda f: (late(f,"x",(1<<40,),"f4"), late(f,"y",(2,1<<38),"f8"), late(f,"z",(1<<40,),"i8",(1<<20,))))
never("one.h5", lambda f: late(f,"x",(1<<31,),"f4"))
never("strings.h5", lambda f: late(f,"x",(3,),s((1<<31)-1)))
never("many.h5", lambda f: late(f,"x",(1<<28,),s(16)))
never("labels.h5", lambda f: late(f,"x",(1<<40,),"u1"))
never("arrays.h5", lambda f: late(f,"x",(4,),h5py.h5t.array_create(h5py.h5t.IEEE_F32LE,(1<<29,))))
t=h5py.h5t.create(h5py.h5t.COMPOUND,(1<<31)-1); t.insert(b"a",0,s((1<<31)-1))
never("compound.h5", lambda f: late(f,"x",(3,),t))
def sparse(f):
    for name, shape in ("x", (1<<40,)), ("y", (1<<16, 4)):
        d = f.create_dataset(name, shape, "i4", chunks=(1<<10,)+shape[1:], compression=1, fillvalue=7)
        d[5000:5010] = 1
with h5py.File("sparse.h5", "w") as f: sparse(f)
