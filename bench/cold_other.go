//go:build !linux

package main

import "errors"

func cold(string) error {
	return errors.New("only Linux takes a file out of its page cache when asked")
}
