package main

import (
	"fmt"
	"strings"
	"sync"

	"github.com/h5dnn/h5dnn/storage"
)

// handles are the numbers that C has for files and arrays. No number comes twice.
var handles = struct {
	mu     sync.Mutex
	last   uint64
	things map[uint64]any
}{things: map[uint64]any{}}

// hold stores the number of a thing where C wants it.
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

// held returns the thing of a number, which is a T.
func held[T any, H ~uint64](h H) (T, error) {
	handles.mu.Lock()
	defer handles.mu.Unlock()
	return find[T](h)
}

// drop is held, and forgets the number: of two that do, one finds it no more.
func drop[T any, H ~uint64](h H) (T, error) {
	handles.mu.Lock()
	defer handles.mu.Unlock()
	thing, err := find[T](h)
	if err == nil {
		delete(handles.things, uint64(h))
	}
	return thing, err
}

// find is held, with the lock taken.
func find[T any, H ~uint64](h H) (T, error) {
	thing, ok := handles.things[uint64(h)].(T)
	if !ok {
		kind := strings.TrimPrefix(fmt.Sprintf("%T", thing), "*main.")
		return thing, fmt.Errorf("handle %d is no %s, or no longer one: %w", h, kind, storage.ErrState)
	}
	return thing, nil
}
