#ifndef H5DNN_HDF5_HEADER_H
#define H5DNN_HDF5_HEADER_H

#if __has_include(<hdf5.h>)
#include <hdf5.h>
#else
#error "hdf5.h was not found: install libhdf5-dev (Debian, Ubuntu), hdf5-devel (Fedora) or hdf5 (Arch, Homebrew)"
#endif

#endif
