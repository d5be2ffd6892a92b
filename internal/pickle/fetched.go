package pickle

import (
	"encoding/binary"
	"errors"
	"fmt"
	"io"
)

// Fetched returns the numbers of the memo's entries that a pickle fetches, of which the list may take
// up to limit bytes. Pickles store nearly every value in the memo and fetch few of them again.
func Fetched(r io.Reader, limit int) (map[uint64]struct{}, error) {
	s := scanner{newBlockReader(r, maxBlock)}
	fetched := map[uint64]struct{}{}
	for {
		b, err := s.peek(1)
		if err != nil {
			return nil, err
		}
		switch code := b[0]; code {
		case opStop:
			return fetched, nil
		case opGlobal:
			if err := s.skipLines(2); err != nil {
				return nil, err
			}
		case opBinGet, opLongBinGet:
			at, err := s.number(widths[code])
			if err != nil {
				return nil, err
			}
			fetched[at] = struct{}{}
			if len(fetched) > limit/valueSize {
				return nil, errors.New("more values are fetched again than allowed")
			}
		default:
			if err := s.skip(code); err != nil {
				return nil, err
			}
		}
	}
}

// fixed are the bytes that follow instructions of constant size.
var fixed = [256]uint64{opProto: 1, opFrame: 8, opBinInt1: 1, opBinInt2: 2, opBinInt: 4, opBinFloat: 8, opBinPut: 1, opLongBinPut: 4}

// A scanner goes through the instructions of a pickle without running them.
type scanner struct{ blockReader }

// number reads an instruction and the integer of n bytes behind it.
func (s *scanner) number(n uint64) (uint64, error) {
	b, err := s.peek(1 + int(n))
	if err != nil {
		return 0, err
	}
	var word [8]byte
	copy(word[:], b[1:1+n])
	s.at += 1 + int(n)
	return binary.LittleEndian.Uint64(word[:]), nil
}

// skip skips an instruction and what follows it.
func (s *scanner) skip(code byte) error {
	switch {
	case instructions[code] == nil:
		return fmt.Errorf("instruction %q", code)
	case fixed[code] > 0 || widths[code] == 0:
		_, err := s.peek(1 + int(fixed[code]))
		s.at += 1 + int(fixed[code])
		return err
	}
	n, err := s.number(widths[code])
	if err != nil {
		return err
	}
	return s.discard(n)
}

// skipLines skips an instruction and n lines.
func (s *scanner) skipLines(n int) error {
	s.at++
	for range n {
		if _, err := s.line(); err != nil {
			return err
		}
	}
	return nil
}
