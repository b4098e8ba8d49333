package manifest_test

import (
	"bytes"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/podkeel/podkeel/podmanager/source/manifest"
	"github.com/podkeel/podkeel/podmanager/validation"
)

// FuzzLoad: the result for any file is valid pods or an error of a known kind, and it is the same each time.
func FuzzLoad(f *testing.F) {
	for _, seed := range seeds(f) {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		pods, err := manifest.Load(bytes.Clone(data), "n1", "/m/f", false)
		if err != nil {
			check(t, err)
			return
		}
		again, err := manifest.Load(data, "n1", "/m/f", false)
		if err != nil || len(again) != len(pods) {
			t.Fatalf("the second time: %v", err)
		}
		for i, pod := range pods {
			if pod.UID != again[i].UID || pod.UID == "" {
				t.Fatalf("UIDs %q and %q", pod.UID, again[i].UID)
			}
			for _, s := range []string{pod.Name, pod.Namespace, string(pod.UID)} {
				if strings.Contains(s, "/") || strings.HasPrefix(s, ".") {
					t.Fatalf("%q leads somewhere", s)
				}
			}
			if errs := validation.Validate(pod); len(errs) > 0 {
				t.Fatalf("a pod that breaks the rules: %v", errs)
			}
		}
	})
}

// check fails unless the error is useful for people.
func check(t *testing.T, err error) {
	if !errors.Is(err, manifest.ErrEmpty) && !errors.Is(err, manifest.ErrSyntax) && !errors.Is(err, manifest.ErrInvalid) {
		t.Fatalf("of no kind: %v", err)
	}
	var faults manifest.Faults
	if errors.As(err, &faults) {
		for _, f := range faults {
			if f.Reason == "" || f.Line < 0 || strings.ContainsRune(f.String(), 0) || len(f.String()) > 5000 {
				t.Fatalf("a fault nobody can use: %q", f)
			}
		}
	}
}

// seeds returns the manifests of the stories.
func seeds(f *testing.F) (seeds []string) {
	files, err := filepath.Glob("testdata/*.txt")
	if err != nil || len(files) == 0 {
		f.Fatal("no stories", err)
	}
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			f.Fatal(err)
		}
		for _, story := range strings.Split(string(text), "\nload") {
			if _, story, ok := strings.Cut(story, "\n"); ok {
				manifest, _, _ := strings.Cut(story, "\n----")
				seeds = append(seeds, manifest)
			}
		}
	}
	return seeds
}
