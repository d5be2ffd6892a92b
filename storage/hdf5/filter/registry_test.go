package filter

import "testing"

// TestEveryFilterIsRegistered lists the filters that importing this package makes available.
func TestEveryFilterIsRegistered(t *testing.T) {
	for _, id := range []int{DeflateID, ShuffleID, Fletcher32ID, SzipID, NbitID, ScaleOffsetID, Bzip2ID, LZFID, BloscID,
		LZ4ID, BitshuffleID, Blosc2ID, LZOID, ZFPID, ZstdID, BitGroomID, BitRoundID} {
		if c, ok := Lookup(id); !ok || c.Decode == nil || c.Name == "" {
			t.Errorf("filter %d: %+v, want a name and a decoder", id, c)
		}
	}
	if err := CanDecode([]Filter{Deflate(1), {ID: 31999, Name: "future"}}); err == nil || err.Error() !=
		"filter 31999 (future) is not supported; h5repack -f NONE removes it where its plugin is installed" {
		t.Errorf("an unknown filter: %v", err)
	}
}

func TestRegisterPanicsOnDuplicates(t *testing.T) {
	defer func() {
		if recover() == nil {
			t.Error("no panic")
		}
	}()
	Register(Codec{ID: DeflateID})
}

// TestDecodeUnknownFilter decodes a chunk with a filter that is not registered, which is
// possible only if the filter was skipped when the chunk was written.
func TestDecodeUnknownFilter(t *testing.T) {
	pipeline := []Filter{{ID: 31999, Name: "future", Flags: 1}}
	chunk := []byte("chunk")
	if err := Decode(make([]byte, 5), chunk, pipeline, 1, 1); err != nil {
		t.Errorf("skipped filter: %v", err)
	}
	if err := Decode(make([]byte, 5), chunk, pipeline, 0, 1); err == nil {
		t.Error("unknown filter: no error")
	}
}
