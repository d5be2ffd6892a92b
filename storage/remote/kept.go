package remote

import (
	"cmp"
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"sync"

	"github.com/h5dnn/h5dnn/internal/atomicfile"
	"github.com/h5dnn/h5dnn/storage"
)

// kept is the ranges of a file that are on disk, in Options.Folder: in NAME.data at their offsets, in a sparse
// file, and listed in NAME.json. NAME has hashes of the URL without secrets and of the validator, so that processes that read
// different versions do not disturb each other; those that read the same one write the same bytes. The list is
// written after the bytes have reached the disk.
type kept struct {
	client *Client
	name   string // of its files, without an extension

	mu     sync.Mutex
	data   *os.File // nil after a failure
	ranges []storage.Range
	grown  int64 // bytes that are not in the list on disk
}

// saveEvery is the number of bytes after which the list is written.
const saveEvery = 64 << 20

// keep opens what the client's folder has of f. It returns nil if there is no folder, or if the server sends
// nothing that tells versions apart.
func (c *Client) keep(f *File) *kept {
	if c.o.Folder == "" || f.validator.etag == "" && f.validator.modified == "" {
		return nil
	}
	hash := func(text string) string { return fmt.Sprintf("%x", sha256.Sum256([]byte(text)))[:24] }
	ofFile := filepath.Join(c.o.Folder, hash(f.name))
	k := &kept{client: c, name: ofFile + "-" + hash(fmt.Sprint(f.size, f.validator))}
	if err := k.open(ofFile); err != nil {
		k.fail(err)
	}
	return k
}

// open opens the files, and removes files of other versions.
func (k *kept) open(ofFile string) error {
	if err := os.MkdirAll(k.client.o.Folder, 0o700); err != nil {
		return err
	}
	versions, err := filepath.Glob(ofFile + "-*")
	if err != nil {
		return err
	}
	for _, name := range versions {
		if name != k.name+".data" && name != k.name+".json" {
			os.Remove(name)
		}
	}
	if k.data, err = os.OpenFile(k.name+".data", os.O_RDWR|os.O_CREATE, 0o600); err != nil {
		return err
	}
	k.ranges = k.listed()
	return nil
}

// listed returns the ranges in the list on disk, as far as the data have them.
func (k *kept) listed() (ranges []storage.Range) {
	text, err := os.ReadFile(k.name + ".json")
	info, failed := k.data.Stat()
	if err != nil || failed != nil || json.Unmarshal(text, &ranges) != nil {
		return nil
	}
	return slices.DeleteFunc(ranges, func(r storage.Range) bool { return r.At < 0 || r.Len <= 0 || r.At+r.Len > info.Size() })
}

// read fills parts with bytes from an offset on, if all of them are kept.
func (k *kept) read(parts [][]byte, at int64) bool {
	if k == nil {
		return false
	}
	k.mu.Lock()
	data := k.data
	i, found := slices.BinarySearchFunc(k.ranges, at, func(r storage.Range, at int64) int { return cmp.Compare(r.At, at) })
	if !found {
		i--
	}
	n := int64(total(parts))
	has := data != nil && i >= 0 && k.ranges[i].At+k.ranges[i].Len >= at+n
	k.mu.Unlock()
	if !has {
		return false
	}
	for _, b := range parts {
		if _, err := data.ReadAt(b, at); err != nil {
			return false // it is fetched again
		}
		at += int64(len(b))
	}
	k.client.stats.fromFolder.Add(n)
	return true
}

// write keeps bytes from an offset on.
func (k *kept) write(parts [][]byte, at int64) {
	if k == nil {
		return
	}
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.data == nil {
		return
	}
	r := storage.Range{At: at, Len: int64(total(parts))}
	for _, b := range parts {
		if _, err := k.data.WriteAt(b, at); err != nil {
			k.fail(err)
			return
		}
		at += int64(len(b))
	}
	k.ranges = union(append(k.ranges, r))
	if k.grown += r.Len; k.grown >= saveEvery {
		k.save()
	}
}

// union returns the union of ranges, by offset.
func union(ranges []storage.Range) []storage.Range {
	const unlimited = 1 << 62
	return merge(ranges, unlimited, 0, unlimited)
}

// save writes the list, together with what other processes have listed.
func (k *kept) save() {
	k.grown = 0
	err := k.data.Sync()
	if err == nil {
		var text []byte
		if text, err = json.Marshal(union(append(k.listed(), k.ranges...))); err == nil {
			err = atomicfile.Write(k.name+".json", func(f *atomicfile.File) error {
				_, err := f.Write(text)
				return err
			})
		}
	}
	if err != nil {
		k.fail(err)
	}
}

// fail ends the use of the files, and notes why.
func (k *kept) fail(err error) {
	if k.data != nil {
		k.data.Close()
		k.data = nil
	}
	k.client.fault.Store(&err)
}

func (k *kept) close() {
	if k == nil {
		return
	}
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.data == nil {
		return
	}
	if k.grown > 0 {
		k.save()
	}
	if k.data != nil {
		k.data.Close()
		k.data = nil
	}
}
