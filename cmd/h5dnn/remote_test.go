package main

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/h5dnn/h5dnn/storage"
	"github.com/h5dnn/h5dnn/storage/hdf5/hdf5write"
	"github.com/h5dnn/h5dnn/storage/remote/remotetest"
)

// TestCommandsReadURLs runs commands with the names of files and with their URLs, and compares what they print and
// write.
func TestCommandsReadURLs(t *testing.T) {
	files := map[string][]byte{}
	for _, name := range []string{"cells.h5ad", "climate.nc"} {
		content, err := os.ReadFile("../../testdata/" + name)
		if err != nil {
			t.Fatal(err)
		}
		files[name] = content
	}
	withDigits(t)
	ctx := context.Background()
	for name, content := range files {
		if err := os.WriteFile("testdata/"+name, content, 0o666); err != nil {
			t.Fatal(err)
		}
	}
	for _, prepare := range [][]string{
		append(strings.Fields("train --data testdata/digits.h5 --x train/images --y train/labels --epochs 1 --threads 1"), "-o", "run.h5"),
		{"slice", "testdata/digits.h5:/test/images", "-o", "a.npy"},
		{"convert", "testdata/digits.h5", "a.safetensors"},
		{"shard", "a.safetensors", "s.safetensors.index.json", "--size", "100KiB"},
	} {
		if status, _, errs := in(t, ctx, prepare...); status != 0 {
			t.Fatal(prepare, errs)
		}
	}
	names, err := filepath.Glob("*")
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range append(names, "testdata/digits.h5") {
		if content, err := os.ReadFile(name); err == nil {
			files[filepath.Base(name)] = content
		}
	}
	s := remotetest.NewServer(t, files, remotetest.Settings{})
	secret := func(file string) string {
		return strings.Replace(s.URL, "://", "://user:hidden-password@", 1) + file + "?X-Amz-Signature=hidden-signature"
	}
	const query = "?X-Amz-Signature=xxxxx"
	shown := storage.WithoutSecrets(secret("")) // in messages
	for _, line := range []string{
		"inspect digits.h5",
		"inspect --json digits.h5:/test",
		"inspect --stats digits.h5:/test/labels",
		"inspect cells.h5ad",
		"inspect climate.nc",
		"inspect run.h5",
		"inspect s.safetensors.index.json",
		"slice digits.h5:/test/images[3,:2]",
		"slice a.npy[0]",
		"slice s.safetensors.index.json:/test/images[0]",
		"convert digits.h5 OUT.npz",
		"convert s.safetensors.index.json OUT.h5",
		"convert a.npy OUT.npy",
		"verify digits.h5",
		"verify a.safetensors",
		"diff digits.h5 a.safetensors",
		"cast a.safetensors OUT.safetensors --to f16",
		"strip run.h5 OUT.h5",
		"repack digits.h5 OUT.h5",
		"predict run.h5 digits.h5:/test/images -o OUT.npy",
		"eval run.h5 --data digits.h5 --x test/images --y test/labels",
		"train --data digits.h5 --x train/images --y train/labels --epochs 1 --threads 1 -o OUT.h5",
		"init digits.h5 OUT.yaml",
	} {
		t.Run(line, func(t *testing.T) {
			outputs := map[string]string{}
			printed := map[string]string{}
			for _, at := range []string{"", s.URL} {
				s.Requests()
				os.RemoveAll("out")
				if err := os.Mkdir("out", 0o777); err != nil {
					t.Fatal(err)
				}
				var args []string
				for _, arg := range strings.Fields(line) {
					file, _, _ := strings.Cut(strings.ReplaceAll(arg, "[", ":"), ":")
					switch _, served := files[file]; {
					case served && at == "" && strings.HasPrefix(file, "digits") || served && at == "" && (file == "cells.h5ad" || file == "climate.nc"):
						arg = "testdata/" + arg
					case served && at != "":
						arg = secret(file) + arg[len(file):]
					case strings.HasPrefix(arg, "OUT."):
						arg = "out/" + arg
					}
					args = append(args, arg)
				}
				status, out, errs := in(t, ctx, args...)
				if status > 1 || at == "" && status != 0 && !strings.HasPrefix(line, "diff") {
					t.Fatalf("%v: status %d: %s%s", args, status, out, errs)
				}
				if strings.Contains(out+errs, "hidden") {
					t.Errorf("%v prints a secret: %s%s", args, out, errs)
				}
				if requests, _ := s.Requests(); (at != "") != (len(requests) > 0) || (at != "") != strings.Contains(errs, " read in ") {
					t.Errorf("%v: %d requests; %s", args, len(requests), errs)
				}
				out = strings.NewReplacer(strings.TrimSuffix(shown, query), "", query, "", "testdata/", "").Replace(mask(out))
				printed[at] = out
				made, _ := filepath.Glob("out/*")
				for _, name := range made {
					content, err := os.ReadFile(name)
					if err != nil {
						t.Fatal(err)
					}
					if strings.Contains(string(content), "hidden") {
						t.Errorf("%v writes a secret to %s", args, name)
					}
					if ext := filepath.Ext(name); ext == ".npz" || ext == ".npy" || ext == ".safetensors" {
						outputs[at] += string(content)
					}
				}
			}
			if !strings.HasPrefix(line, "train") && !strings.HasPrefix(line, "init") && printed[""] != printed[s.URL] {
				t.Errorf("printed %s\nwant %s", printed[s.URL], printed[""])
			}
			if outputs[""] != outputs[s.URL] {
				t.Errorf("other files are written")
			}
		})
	}
}

// TestURLsAreNotWritten: commands that write refuse a URL as output, and those that need a file a URL as input.
func TestURLsAreNotWritten(t *testing.T) {
	withDigits(t)
	for _, line := range []string{
		"convert testdata/digits.h5 http://localhost/x.h5",
		"slice testdata/digits.h5:/test/images -o s3://bucket/x.npy",
		"repack --in-place http://localhost/x.h5",
		"predict http://localhost/x.h5 testdata/digits.h5:/test/images -o https://localhost/x.npy",
		"train http://localhost/x.yaml",
	} {
		status, _, errs := in(t, context.Background(), strings.Fields(line)...)
		if status != 2 || !strings.Contains(errs, "://") || strings.Count(errs, "\n") != 1 {
			t.Errorf("%s: status %d: %s", line, status, errs)
		}
	}
}

func TestAddressesOfURLs(t *testing.T) {
	for text, want := range map[string]address{
		"https://h/a.h5":                     {"https://h/a.h5", ""},
		"https://h:80/a.h5":                  {"https://h:80/a.h5", ""},
		"http://[::1]:80/a.h5:/x[0]":         {"http://[::1]:80/a.h5", "/x[0]"},
		"https://h:80/a.h5:/x[1:2]":          {"https://h:80/a.h5", "/x[1:2]"},
		"https://h/a.npy[3]":                 {"https://h/a.npy", "[3]"},
		"https://h/a.h5?sign=a%2Fb&x=1:/x/y": {"https://h/a.h5?sign=a%2Fb&x=1", "/x/y"},
		"s3://bucket/2024-01-01T00:00.h5":    {"s3://bucket/2024-01-01T00:00.h5", ""},
		"s3://bucket/k:0.h5:/x":              {"s3://bucket/k:0.h5", "/x"},
	} {
		if got := parseAddress(text); got != want {
			t.Errorf("%s: %v, want %v", text, got, want)
		}
	}
}

// TestDoctorMeasuresNoURL: it reads what describes a file, and does not say that it is ready.
func TestDoctorMeasuresNoURL(t *testing.T) {
	withDigits(t)
	content, err := os.ReadFile("testdata/digits.h5")
	if err != nil {
		t.Fatal(err)
	}
	s := remotetest.NewServer(t, map[string][]byte{"x.h5": content}, remotetest.Settings{})
	status, out, errs := in(t, context.Background(), "doctor", s.URL+"x.h5")
	if status != 0 || !strings.Contains(out, "not measured") || strings.Contains(out, "ready for training") {
		t.Errorf("status %d: %s%s", status, out, errs)
	}
}

// TestRemoteCacheIsReused: the second command fetches only what tells it the version of the file.
func TestRemoteCacheIsReused(t *testing.T) {
	withDigits(t)
	ctx := context.Background()
	if status, _, errs := in(t, ctx, "repack", "testdata/digits.h5", "x.h5", "--layout", "contiguous"); status != 0 {
		t.Fatal(errs)
	}
	content, err := os.ReadFile("x.h5")
	if err != nil {
		t.Fatal(err)
	}
	s := remotetest.NewServer(t, map[string][]byte{"x.h5": content}, remotetest.Settings{})
	for round := range 2 {
		args := []string{"slice", fmt.Sprintf("%sx.h5?X-Amz-Date=%d&X-Amz-Signature=%d:/train/images[-1]", s.URL, round, round), "--remote-cache", "cache"}
		status, _, errs := in(t, ctx, args...)
		requests, _ := s.Requests()
		if status != 0 || round == 0 && len(requests) < 2 || round == 1 && (len(requests) != 1 || !strings.Contains(errs, "reused from --remote-cache")) {
			t.Errorf("%v: status %d, %d requests of a file of %d bytes: %s", args, status, len(requests), len(content), errs)
		}
	}
}

// TestPatternsOfURLsAreTrainedOn: braces at any server, stars where files are listed.
func TestPatternsOfURLsAreTrainedOn(t *testing.T) {
	withDigits(t)
	content, err := os.ReadFile("testdata/digits.h5")
	if err != nil {
		t.Fatal(err)
	}
	s := remotetest.NewServer(t, map[string][]byte{"lab/digits_08.h5": content, "lab/digits_09.h5": content, "lab/notes.txt": nil}, remotetest.Settings{})
	t.Setenv("AWS_ENDPOINT_URL", s.URL)
	t.Setenv("AWS_NO_SIGN_REQUEST", "yes")
	for k, pattern := range []string{s.URL + "lab/digits_{08..09}.h5", "s3://lab/digits_*.h5"} {
		run := fmt.Sprintf("run%d.h5", k)
		s.Requests()
		status, out, errs := in(t, context.Background(), "train", "--data", pattern, "--x", "train/images", "--y", "train/labels", "--epochs", "1", "--threads", "1", "-o", run)
		if status != 0 || !strings.Contains(out, "2874 samples") {
			t.Fatalf("%s: status %d: %s%s", pattern, status, out, errs)
		}
		if requests, _ := s.Requests(); !strings.Contains(errs, fmt.Sprintf(" read in %d requests", len(requests))) {
			t.Errorf("%s: %d requests, lists of files among them; it says %s", pattern, len(requests), errs)
		}
		if status, out, errs = in(t, context.Background(), "predict", run, pattern+":/test/images", "-o", "p.h5", "--force"); status != 0 {
			t.Errorf("predict %s: status %d: %s%s", pattern, status, out, errs)
		}
	}
	status, _, errs := in(t, context.Background(), "train", "--data", s.URL+"lab/*.h5", "--x", "train/images", "--y", "train/labels")
	if status != 2 || !strings.Contains(errs, "do not list files") || strings.Count(errs, "\n") != 1 {
		t.Errorf("status %d: %s", status, errs)
	}
}

// TestDoctorSaysWhatListingCosts: a file of many headers takes many requests at a URL, and few in pages.
func TestDoctorSaysWhatListingCosts(t *testing.T) {
	t.Chdir(t.TempDir())
	w, err := hdf5write.Create("x.h5", hdf5write.CreateOptions{})
	if err != nil {
		t.Fatal(err)
	}
	for k := range 200 {
		err := w.WriteWith(fmt.Sprintf("/g%d/d%d", k%5, k), storage.From(make([]float32, 9<<10), 9, 1024), hdf5write.Layout{})
		if err != nil {
			t.Fatal(err)
		}
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	if status, _, errs := in(t, context.Background(), "repack", "x.h5", "paged.h5", "--paged", "auto"); status != 0 {
		t.Fatal(errs)
	}
	cost := func(name string) (requests int) {
		d := &doctor{ctx: context.Background(), name: name}
		c, err := d.listRemotely()
		if err != nil || c == nil || !c.ended || !strings.HasPrefix(c.String(), "at a URL, 20 ms and 1 Gbit/s away: listing takes ") {
			t.Fatalf("%s: %v, %v", name, c, err)
		}
		return int(c.requests)
	}
	if before, after := cost("x.h5"), cost("paged.h5"); after > 4 || before < after {
		t.Errorf("%d requests, %d in pages", before, after)
	}
}
