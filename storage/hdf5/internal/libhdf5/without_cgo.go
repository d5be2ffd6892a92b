//go:build !cgo

package libhdf5

import (
	"errors"

	"github.com/h5dnn/h5dnn/dtype"
)

// What calls libhdf5 where there is cgo.
var errWithoutCgo = errors.New("this program was built without cgo, which writing HDF5 files needs; build it with CGO_ENABLED=1 and a C compiler")

// A File is a file that is open in the library.
type File struct{}

func Version() (string, error)                   { return "", errWithoutCgo }
func CreateFile(string, int, int) (*File, error) { return nil, errWithoutCgo }
func OpenFile(string) (*File, error)             { return nil, errWithoutCgo }
func Type(dtype.Type) (ID, error)                { return 0, errWithoutCgo }
func DecodeType([]byte) (ID, error)              { return 0, errWithoutCgo }
func NewProperties() (ID, error)                 { return 0, errWithoutCgo }

func (id ID) Close() error                                          { return errWithoutCgo }
func (id ID) Extend([]int) error                                    { return errWithoutCgo }
func (id ID) WriteChunk([]int, uint32, []byte) error                { return errWithoutCgo }
func (id ID) ReadChunk([]int) ([]byte, uint32, error)               { return nil, 0, errWithoutCgo }
func (id ID) AddExternal(string, int, int) error                    { return errWithoutCgo }
func (id ID) AddVirtual(Selection, string, string, Selection) error { return errWithoutCgo }
func (id ID) WriteImage(ID, []int, []int, Image) error              { return errWithoutCgo }

func (f *File) Close() error                                    { return errWithoutCgo }
func (f *File) Group(string) error                              { return errWithoutCgo }
func (f *File) SoftLink(string, string) error                   { return errWithoutCgo }
func (f *File) HardLink(string, string) error                   { return errWithoutCgo }
func (f *File) ExternalLink(string, string, string) error       { return errWithoutCgo }
func (f *File) Comment(string, string) error                    { return errWithoutCgo }
func (f *File) CommitUnnamed(ID) error                          { return errWithoutCgo }
func (f *File) LinkType(string, ID) error                       { return errWithoutCgo }
func (f *File) Region(string, Selection) ([]byte, error)        { return nil, errWithoutCgo }
func (f *File) Address(string) (uint64, error)                  { return 0, errWithoutCgo }
func (f *File) Contiguous(string, ID, []int) (ID, int64, error) { return 0, 0, errWithoutCgo }
func (f *File) Chunked(string, ID, []int, []int, []int, []uint32) (ID, error) {
	return 0, errWithoutCgo
}
func (f *File) Create(string, DatasetSpec) (ID, int64, error)        { return 0, 0, errWithoutCgo }
func (f *File) Strings(string, []int, StringBlock) error             { return errWithoutCgo }
func (f *File) StringAttr(string, string, []int, []byte, bool) error { return errWithoutCgo }
func (f *File) Attr(string, string, ID, []int, []byte) error         { return errWithoutCgo }
func (f *File) AttrImage(string, string, ID, []int, Image) error     { return errWithoutCgo }
func (f *File) Read(string, ID, []int, []int, []byte) error          { return errWithoutCgo }
