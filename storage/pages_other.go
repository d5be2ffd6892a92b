//go:build !linux

package storage

func hugePages([]byte) {}
