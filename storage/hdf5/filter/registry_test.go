package filter

import "testing"

// TestEveryFilterIsRegistered lists the filters that importing this package makes available.
func TestEveryFilterIsRegistered(t *testing.T) {
	for _, id := range []int{DeflateID, ShuffleID, Fletcher32ID, SzipID, NbitID, ScaleOffsetID, Bzip2ID, LZFID, BloscID,
		LZ4ID, BitshuffleID, ZFPID, ZstdID, BitGroomID, BitRoundID} {
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
