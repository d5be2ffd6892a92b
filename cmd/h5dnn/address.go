package main

import (
	"os"
	"strings"

	"github.com/h5dnn/h5dnn/storage"
)

// An address is a command line argument that selects a file or data in it: FILE,
// FILE:/path or FILE:/path[EXPR].
type address struct {
	file string
	path string // "" for the file as a whole
}

// parseAddress splits text at the first colon that follows the name of an existing
// file. If there is no such file, it splits at ":/", so that the error names the
// file.
func parseAddress(text string) address {
	if storage.IsURL(text) {
		return parseURL(text)
	}
	if exists(text) {
		return address{file: text}
	}
	for i, r := range text {
		if r == ':' && exists(text[:i]) {
			return address{text[:i], text[i+1:]}
		}
	}
	if file, path, found := strings.Cut(text, ":/"); found {
		return address{file, "/" + path}
	}
	if bracket := strings.IndexByte(text, '['); bracket > 0 && exists(text[:bracket]) { // a.npy[3]
		return address{text[:bracket], text[bracket:]}
	}
	return address{file: text}
}

// parseURL splits a URL at the first ":/" behind its host, or else at the first bracket there. In a URL itself
// these can be written as %3A and %5B.
func parseURL(text string) address {
	scheme, rest, _ := strings.Cut(text, "://")
	at := len(scheme) + len("://") + max(0, strings.IndexByte(rest, '/'))
	if i := strings.Index(text[at:], ":/"); i >= 0 {
		return address{text[:at+i], text[at+i+1:]}
	}
	if i := strings.IndexByte(text[at:], '['); i >= 0 {
		return address{text[:at+i], text[at+i:]}
	}
	return address{file: text}
}

// exists reports whether a file exists, as far as that is known without a request.
func exists(file string) bool {
	if storage.IsURL(file) {
		return true
	}
	_, err := os.Stat(file)
	return err == nil
}
