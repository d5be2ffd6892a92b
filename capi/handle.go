package main

import (
	"fmt"
	"strings"
	"sync"

	"github.com/h5dnn/h5dnn/storage"
)

// handles maps the handles that C has to files and arrays. No handle is reused.
var handles = struct {
	mu     sync.Mutex
	last   uint64
	things map[uint64]any
}{things: map[uint64]any{}}

// hold stores a new handle of a thing at the address that C gave.
func hold[H ~uint64](to *H, thing any) error {
	handles.mu.Lock()
	defer handles.mu.Unlock()
	if err := put(to, H(handles.last+1)); err != nil {
		return err
	}
	handles.last++
	handles.things[handles.last] = thing
	return nil
}

// held returns the thing with that handle. It fails unless it is a T.
func held[T any, H ~uint64](h H) (T, error) {
	handles.mu.Lock()
	defer handles.mu.Unlock()
	return find[T](h)
}

// drop is held and removes the handle; of two concurrent calls one fails.
func drop[T any, H ~uint64](h H) (T, error) {
	handles.mu.Lock()
	defer handles.mu.Unlock()
	thing, err := find[T](h)
	if err == nil {
		delete(handles.things, uint64(h))
	}
	return thing, err
}

// find is held for callers that hold the lock.
func find[T any, H ~uint64](h H) (T, error) {
	thing, ok := handles.things[uint64(h)].(T)
	if !ok {
		kind := strings.TrimPrefix(fmt.Sprintf("%T", thing), "*main.")
		return thing, fmt.Errorf("handle %d is not an open %s: %w", h, kind, storage.ErrState)
	}
	return thing, nil
}
