// Package signature names the formats of files that this program does not read, by the
// bytes that they begin with, for error messages.
package signature

import (
	"bytes"
	"fmt"
	"io"
	"strings"
	"unicode"
	"unicode/utf8"
)

// A format is recognized by bytes at an offset.
type format struct {
	at    int
	magic string
	name  string
	hint  string // what to do; may be empty
}

const zipMagic = "PK\x03\x04"

var formats = []format{
	{0, "\x89HDF\r\n\x1a\n", "an HDF5 file", ""},
	{0, "\x0e\x03\x13\x01", "an HDF4 file", "h4toh5 converts it"},
	{0, "CDF\x01", "a netCDF-3 file", "nccopy -k nc4 IN OUT converts it"},
	{0, "CDF\x02", "a netCDF-3 file", "nccopy -k nc4 IN OUT converts it"},
	{0, "CDF\x05", "a netCDF-3 file (CDF-5)", "nccopy -k nc4 IN OUT converts it"},
	{0, "MATLAB 5.0 MAT-file", "a MATLAB file before version 7.3", "save it with -v7.3"},
	{0, "\x93NUMPY", "a .npy file", ""},
	{0, zipMagic, "a zip archive", "unpack it"},
	{0, "PK\x05\x06", "an empty zip archive", ""},
	{0, "\x1f\x8b", "a gzip file", "decompress it with gunzip"},
	{0, "BZh", "a bzip2 file", "decompress it with bunzip2"},
	{0, "\xfd7zXZ\x00", "an xz file", "decompress it with unxz"},
	{0, "\x28\xb5\x2f\xfd", "a Zstandard file", "decompress it with unzstd"},
	{0, "\x04\x22\x4d\x18", "an LZ4 file", "decompress it with unlz4"},
	{0, "7z\xbc\xaf\x27\x1c", "a 7-Zip archive", "unpack it"},
	{257, "ustar", "a tar archive", "unpack it"},
	{0, "\x89PNG\r\n\x1a\n", "a PNG image", "import takes folders of images"},
	{0, "\xff\xd8\xff", "a JPEG image", "import takes folders of images"},
	{0, "GIF8", "a GIF image", ""},
	{0, "II*\x00", "a TIFF image", ""},
	{0, "MM\x00*", "a TIFF image", ""},
	{0, "II+\x00", "a BigTIFF image", ""},
	{0, "MM\x00+", "a BigTIFF image", ""},
	{0, "PAR1", "a Parquet file", ""},
	{0, "ARROW1", "an Arrow file without its end", "it may be truncated"},
	{0, "FEA1", "a Feather file", ""},
	{0, "GRIB", "a GRIB file", ""},
	{0, "SIMPLE  =", "a FITS file", ""},
	{0, "#ASDF", "an ASDF file", ""},
	{128, "DICM", "a DICOM file", ""},
	{344, "n+1\x00", "a NIfTI file", ""},
	{0, "root\x00", "a ROOT file", ""},
	{2, "b2frame\x00", "a Blosc2 frame", ""},
	{0, "SQLite format 3\x00", "an SQLite database", ""},
	{0, "%PDF", "a PDF document", ""},
	{13, "torch.distributed.checkpoint.metadata", "the index of a checkpoint of torch.distributed.checkpoint", "python -m torch.distributed.checkpoint.format_utils dcp_to_torch FOLDER FILE converts it"},
	{19, "torch.", "a file of Lua Torch (.t7)", "Python's package torchfile reads it; save its tensors with torch.save"},
	{12, "torch.", "a file of Lua Torch (.t7)", "Python's package torchfile reads it; save its tensors with torch.save"},
	{0, "4\n1\n3\nV 1\n", "a file of Lua Torch (.t7) as text", "Python's package torchfile reads it; save its tensors with torch.save"},
	{0, "\x78\x9c", "a zlib stream, as joblib writes", "load it with joblib and save its arrays with numpy.savez"},
	{0, "\x78\x5e", "a zlib stream, as joblib writes", "load it with joblib and save its arrays with numpy.savez"},
	{0, "\x78\x01", "a zlib stream, as joblib writes", "load it with joblib and save its arrays with numpy.savez"},
	{0, "\x80\x02", "a Python pickle", "save its arrays with torch.save or numpy.savez"},
	{0, "\x80\x03", "a Python pickle", "save its arrays with torch.save or numpy.savez"},
	{0, "\x80\x04", "a Python pickle", "save its arrays with torch.save or numpy.savez"},
	{0, "\x80\x05", "a Python pickle", "save its arrays with torch.save or numpy.savez"},
	{0, "version https://git-lfs", "a pointer of Git LFS, not the file", "git lfs pull fetches it"},
	{0, "<!DOCTYPE html", "a web page, not the file", "download it again"},
	{0, "<html", "a web page, not the file", "download it again"},
}

// of returns the name of a file's format with an article, and what to do with it, or
// "" if it is not known.
func of(r io.ReaderAt, size int64) (name, hint string) {
	if size == 0 {
		return "an empty file", ""
	}
	head := make([]byte, min(size, 512))
	if n, _ := r.ReadAt(head, 0); n < len(head) {
		return "", ""
	}
	for _, f := range formats {
		if len(head) >= f.at+len(f.magic) && bytes.HasPrefix(head[f.at:], []byte(f.magic)) {
			if f.magic == zipMagic && !hasDirectory(r, size) {
				return "a zip archive without its end", "it may be truncated: copy or download it again"
			}
			return f.name, f.hint
		}
	}
	return "", ""
}

// hasDirectory reports whether the end of a zip archive has the record of the end of its directory,
// which only a comment of 64 KiB at most can follow.
func hasDirectory(r io.ReaderAt, size int64) bool {
	tail := make([]byte, min(size, 22+1<<16))
	n, _ := r.ReadAt(tail, size-int64(len(tail)))
	return bytes.Contains(tail[:n], []byte("PK\x05\x06"))
}

// Text returns an error about a file: "this is a netCDF-3 file, which is not read; nccopy …",
// or "" if the format is not known.
func Text(r io.ReaderAt, size int64) string {
	name, hint := of(r, size)
	switch {
	case name == "":
		return ""
	case size == 0:
		return "this is " + name
	case hint == "":
		return "this is " + name + ", which is not read"
	}
	return "this is " + name + ", which is not read; " + hint
}

// Beginning describes the first bytes of a file whose format is not known: "it begins with
// the text "epoch" …".
func Beginning(r io.ReaderAt, size int64) string {
	head := make([]byte, min(size, 512))
	n, _ := r.ReadAt(head, 0)
	head = head[:n]
	if len(bytes.Trim(head, "\x00")) == 0 {
		return fmt.Sprintf("its first %d bytes are zeros, as in a copy or a download that did not finish", n)
	}
	line, _, _ := bytes.Cut(head[:min(n, 40)], []byte("\n"))
	if text := strings.TrimSuffix(string(line), "\r"); len(text) > 0 && isText(text) {
		return fmt.Sprintf("it begins with the text %q", text)
	}
	return fmt.Sprintf("it begins with the bytes % x", head[:min(n, 8)])
}

// isText reports whether s is printable, except that its last character may be cut off.
func isText(s string) bool {
	for i, r := range s {
		if r == utf8.RuneError && len(s)-i >= utf8.UTFMax || r != utf8.RuneError && r != '\t' && !unicode.IsPrint(r) {
			return false
		}
	}
	return true
}
