package main

import (
	"os"
	"strings"
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

func exists(file string) bool {
	_, err := os.Stat(file)
	return err == nil
}
