package atomicfile

import (
	"os"
	"sync"
)

// unfinished are the temporary files and folders of this process.
var unfinished names

type names struct {
	mu  sync.Mutex
	set map[string]bool
}

func (n *names) add(name string) {
	n.mu.Lock()
	defer n.mu.Unlock()
	if n.set == nil {
		n.set = map[string]bool{}
	}
	n.set[name] = true
}

func (n *names) remove(name string) {
	n.mu.Lock()
	defer n.mu.Unlock()
	delete(n.set, name)
}

// TempFolder creates a folder for temporary files, and returns a function that removes it.
func TempFolder() (name string, remove func(), err error) {
	if name, err = os.MkdirTemp("", "h5dnn"); err != nil {
		return "", nil, err
	}
	unfinished.add(name)
	return name, func() {
		os.RemoveAll(name)
		unfinished.remove(name)
	}, nil
}

// committing is locked while the files of a Set are put in place.
var committing sync.Mutex

// RemoveUnfinished removes the temporary files and folders of this process, for a program
// that is about to exit in the middle of writing. It waits for a Set whose files are being put
// in place. Files that are being written afterwards are not committed.
func RemoveUnfinished() {
	committing.Lock()    // and keep it
	unfinished.mu.Lock() // and keep it: nothing is created from now on
	for name := range unfinished.set {
		os.RemoveAll(name)
	}
}
