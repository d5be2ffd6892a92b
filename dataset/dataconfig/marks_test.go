package dataconfig_test

import (
	"errors"
	"fmt"
	"testing"

	"github.com/h5dnn/h5dnn/dataset/dataconfig"
	"github.com/h5dnn/h5dnn/storage"
)

func TestMarked(t *testing.T) {
	files := shelf{
		"f:mask":   storage.From([]bool{true, false, true}, 3),
		"f:mask2":  storage.From([]bool{true, false, false, false, true, true}, 3, 2),
		"f:list":   storage.From([]int32{2, -1, 2}, 3),
		"f:label":  storage.From([]int32{7, 8, 7}, 3),
		"f:label2": storage.From([]int32{7, 8, 7, 7, 8, 8}, 3, 2),
		"f:city":   []string{"a", "b", "a"},
	}
	for _, c := range []struct{ text, want string }{
		{"mask", "[[0 2]]"}, {"mask2", "[[0 2 2] [0 0 1]]"}, {"list", "[[2 -1 2]]"}, {"label==7", "[[0 2]]"},
		{"label2>7", "[[0 2 2] [1 0 1]]"}, {"city!='a'", "[[1]]"}, {"label", "[[7 8 7]]"},
		{"float", "f: no float"}, {"mask2==2", "mask2: compare bool with \"2\": invalid syntax"},
	} {
		got, err := dataconfig.Marked(files, "f", "/data/a/x", c.text, []int{3, 2})
		if text := fmt.Sprint(got); text != c.want && fmt.Sprint(err) != c.want {
			t.Errorf("%s: %s, %v; want %s", c.text, text, err, c.want)
		}
	}
	if got, err := dataconfig.Marked(files, "f", "/data/a/x", "city", []int{4}); err != nil || fmt.Sprint(got) != "[[0 1 2 3]]" {
		t.Errorf("an episode that is listed: %v, %v", got, err)
	}
	if _, err := dataconfig.Marked(files, "f", "/data/c/x", "city", []int{4}); !errors.Is(err, dataconfig.ErrUnlisted) {
		t.Errorf("an episode that is not listed: %v", err)
	}
	if _, err := dataconfig.Marked(files, "f", "x", "mask2", []int{3, 3}); err == nil {
		t.Error("a mask of another shape is taken")
	}
}
