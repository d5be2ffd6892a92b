package dataset

import (
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"fmt"
)

// A fingerprint reads fingerprintRows samples, or fewer if they have more than fingerprintBytes.
const (
	fingerprintRows  = 64
	fingerprintBytes = 16 << 20
)

// Fingerprint returns a hash of d: the number of samples, their fields, and the
// content of up to 64 of them, evenly spread from the first to the last. It follows
// from the data alone, not from file names, layouts or times, and costs little more
// than decoding the chunks that these samples lie in. Data that differs only in
// other samples has the same fingerprint.
func Fingerprint(d Dataset) (string, error) {
	h := sha256.New()
	number := func(n int) { h.Write(binary.LittleEndian.AppendUint64(nil, uint64(n))) }
	text := func(s string) { number(len(s)); h.Write([]byte(s)) }
	number(d.Len())
	for _, f := range d.Fields() {
		text(f.Name)
		text(f.Role.String())
		text(f.LengthOf)
		text(f.Type.String())
		number(len(f.Shape))
		for _, size := range f.Shape {
			number(size)
		}
	}
	rows := spreadRows(d.Len(), min(fingerprintRows, max(1, fingerprintBytes/max(1, sampleBytes(d)))))
	b, err := NewBatch(d, len(rows))
	if err == nil && len(rows) > 0 {
		err = d.Read(*b, rows)
	}
	if err != nil {
		return "", fmt.Errorf("dataset: fingerprint: %w", err)
	}
	for _, a := range b.Fields {
		if _, err := a.WriteTo(h); err != nil {
			return "", fmt.Errorf("dataset: fingerprint: %w", err)
		}
	}
	return hex.EncodeToString(h.Sum(nil)[:16]), nil
}

// spreadRows returns up to most of n rows, evenly spread, the first and the last
// among them.
func spreadRows(n, most int) []int {
	rows := make([]int, min(n, most))
	for k := range rows {
		// in two parts, so that the product cannot overflow
		rows[k] = k*((n-1)/max(1, len(rows)-1)) + k*((n-1)%max(1, len(rows)-1))/max(1, len(rows)-1)
	}
	return rows
}
