package main

import "testing"

func TestVersionText(t *testing.T) {
	for _, c := range []struct {
		version, commit string
		modified        bool
		want            string
	}{
		{"(devel)", "", false, "devel"}, {"", "", false, "devel"}, {"v1.2.0", "", false, "v1.2.0"},
		{"(devel)", "0123456789abcdef0123", false, "devel (commit 0123456789ab)"},
		{"v0.0.0-20260102150405-0123456789ab+dirty", "0123456789abcdef0123", true, "devel (commit 0123456789ab, modified)"},
		{"v1.2.0", "0123456789abcdef0123", true, "v1.2.0 (commit 0123456789ab, modified)"},
	} {
		if got := versionText(c.version, c.commit, c.modified); got != c.want {
			t.Errorf("%+v: %q", c, got)
		}
	}
}
