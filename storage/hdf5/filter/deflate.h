#ifndef H5DNN_DEFLATE_H
#define H5DNN_DEFLATE_H

#if __has_include(<libdeflate.h>)
#include <libdeflate.h>
#else
#error "libdeflate.h was not found: install libdeflate-dev (Debian, Ubuntu), libdeflate-devel (Fedora) or libdeflate (Arch, Homebrew)"
#endif

#endif
