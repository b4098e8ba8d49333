//go:build unix

package objects_test

import (
	"context"
	"net"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/podkeel/podkeel/podworkers/podsync/objects"
	"github.com/podkeel/podkeel/runtime"
)

// strangeFiles are the kinds of files that must not be opened as if they were
// others.
func strangeFiles(t *testing.T) map[string]func(path string) error {
	all := map[string]func(path string) error{
		"a FIFO": func(path string) error { return syscall.Mkfifo(path, 0o644) },
		"a socket": func(path string) error {
			// The path of a socket is short: bind it from its directory.
			t.Chdir(filepath.Dir(path))
			l, err := net.ListenUnix("unix", &net.UnixAddr{Name: filepath.Base(path), Net: "unix"})
			if err == nil {
				l.SetUnlinkOnClose(false)
				err = l.Close()
			}
			return err
		},
	}
	if os.Geteuid() == 0 {
		// It has no driver, so opening it fails in another way.
		all["a character device"] = func(path string) error { return syscall.Mknod(path, syscall.S_IFCHR|0o644, 250<<8|250) }
	}
	return all
}

// TestFiles_F31_StrangeFiles: if a pipe or a device is in the place of a directory or a file, the read
// does not wait and the error names its kind.
func TestFiles_F31_StrangeFiles(t *testing.T) {
	for kind, create := range strangeFiles(t) {
		for place, want := range map[string]string{
			".":                       "not a directory",
			"configmaps":              "not a directory",
			"configmaps/ns":           "not a directory",
			"configmaps/ns/name":      "configmaps/ns/name: KIND: expected a directory with a file for each key",
			"configmaps/ns/name/key":  `configmaps/ns/name: key "key": KIND: expected a regular file`,
			"configmaps/ns/name.yaml": "configmaps/ns/name.yaml: KIND: expected a regular file",
			"configmaps/ns/name.yml":  "configmaps/ns/name.yml: KIND: expected a regular file",
			"configmaps/ns/name.json": "configmaps/ns/name.json: KIND: expected a regular file",
		} {
			t.Run(kind+" as "+place, func(t *testing.T) {
				dir := filepath.Join(t.TempDir(), "objects")
				path := filepath.Join(dir, place)
				require.NoError(t, os.MkdirAll(filepath.Dir(path), 0o755))
				require.NoError(t, create(path))
				f, err := objects.NewFiles(dir)
				require.NoError(t, err)
				_, err = inTime(t, func() (any, error) { return f.ConfigMap(context.Background(), "ns", "name") })
				require.Error(t, err)
				assert.NotErrorIs(t, err, runtime.ErrNotFound, "nothing follows from it")
				assert.ErrorContains(t, err, strings.ReplaceAll(want, "KIND", kind))

				if !strings.HasSuffix(place, ".yaml") {
					return
				}
				var m objects.Map
				_, err = inTime(t, func() (any, error) { return nil, m.Load(os.DirFS(dir)) })
				assert.EqualError(t, err, "objects: configmaps/ns/name.yaml: "+kind+": expected a regular file")
			})
		}
	}
}

// inTime fails the test if a call does not return soon.
func inTime(t *testing.T, ask func() (any, error)) (value any, err error) {
	late, cancel := context.WithTimeout(t.Context(), 10*time.Second)
	defer cancel()
	done := make(chan struct{})
	go func() {
		defer close(done)
		value, err = ask()
	}()
	select {
	case <-done:
	case <-late.Done():
		require.FailNow(t, "it is waited for")
	}
	return value, err
}

func TestFiles_FileAsDirectory(t *testing.T) {
	f, _ := files(t, map[string]string{"configmaps/ns/name": "x"})
	_, err := f.ConfigMap(background, "ns", "name")
	assert.EqualError(t, err, "objects: ConfigMap ns/name: configmaps/ns/name: a regular file: expected a directory with a file for each key")
}
