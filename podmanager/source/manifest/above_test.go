package manifest_test

import (
	"context"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/podkeel/podkeel/podmanager/source/manifest"
)

// announced returns a source with a period that is longer than the test, so that only events cause scans.
type announced struct {
	*dir
	got  sink
	told chan manifest.Problem
}

func announce(t *testing.T, path ...string) *announced {
	at := filepath.Join(append([]string{t.TempDir()}, path...)...)
	return &announced{dir: &dir{t: t, path: at}, told: make(chan manifest.Problem, 100)}
}

// start runs the source until the test ends.
func (a *announced) start() {
	s, err := manifest.New(manifest.Config{
		Path: a.path, NodeName: "n1", Period: 24 * time.Hour, Report: func(p manifest.Problem) { a.told <- p },
	})
	require.NoError(a.t, err)
	a.source = s
	a.got = a.run()
}

// missed waits until the source has found that the path does not exist.
func (a *announced) missed() {
	a.t.Helper()
	late, cancel := context.WithTimeout(a.t.Context(), 20*time.Second)
	defer cancel()
	select {
	case p := <-a.told:
		require.ErrorIs(a.t, p.Err, manifest.ErrListing)
	case <-late.Done():
		require.FailNow(a.t, "it is not noticed that the directory is gone")
	}
}

// has waits for a snapshot.
func (a *announced) has(want string) {
	a.t.Helper()
	late, cancel := context.WithTimeout(a.t.Context(), 20*time.Second)
	defer cancel()
	for {
		select {
		case got := <-a.got:
			if got == want {
				return
			}
		case <-late.Done():
			require.FailNow(a.t, "it is not noticed", want)
		}
	}
}

func (a *announced) made() { require.NoError(a.t, os.MkdirAll(a.path, 0o700)) }

func (a *announced) removed() { require.NoError(a.t, os.RemoveAll(a.path)) }

// writes writes a manifest to the directory.
func (a *announced) writes(image string) {
	require.NoError(a.t, os.WriteFile(filepath.Join(a.path, "a"), []byte(podYAML("a", image)), 0o600))
}

// TestRun_F29_DirectoryMadeAgain: with real directories and fsnotify, a directory of manifests that was removed and
// created again is found at once, also if its parents were removed too.
func TestRun_F29_DirectoryMadeAgain(t *testing.T) {
	for name, between := range map[string]func(a *announced){
		"removed and made": func(a *announced) { a.removed(); a.missed(); a.made() },
		"at once":          func(a *announced) { a.removed(); a.made() },
		"moved away and made": func(a *announced) {
			require.NoError(a.t, os.Rename(a.path, a.path+".old"))
			a.missed()
			a.made()
		},
		"with what is above it": func(a *announced) {
			require.NoError(a.t, os.RemoveAll(filepath.Dir(a.path)))
			a.missed()
			a.made()
		},
		"a step at a time": func(a *announced) {
			require.NoError(a.t, os.RemoveAll(filepath.Dir(filepath.Dir(a.path))))
			a.missed()
			require.NoError(a.t, os.Mkdir(filepath.Dir(filepath.Dir(a.path)), 0o700))
			require.NoError(a.t, os.Mkdir(filepath.Dir(a.path), 0o700))
			require.NoError(a.t, os.Mkdir(a.path, 0o700))
		},
		"renamed into place": func(a *announced) {
			a.removed()
			a.missed()
			require.NoError(a.t, os.Mkdir(a.path+".new", 0o700))
			require.NoError(a.t, os.Rename(a.path+".new", a.path))
		},
	} {
		t.Run(name, func(t *testing.T) {
			a := announce(t, "two", "one", "m")
			a.made()
			a.writes("one")
			a.start()
			a.has("a-n1 one")
			between(a)
			a.writes("two")
			a.has("a-n1 two")
			a.writes("three")
			a.has("a-n1 three")
		})
	}
}

// TestRun_F29_PathComesLater: the path, a directory or one file, is created after the agent has started.
func TestRun_F29_PathComesLater(t *testing.T) {
	a := announce(t, "above", "m")
	a.start()
	a.missed()
	a.made()
	a.writes("one")
	a.has("a-n1 one")

	a = announce(t, "above", "web.yaml")
	a.start()
	a.missed()
	require.NoError(t, os.Mkdir(filepath.Dir(a.path), 0o700))
	for _, image := range []string{"one", "two"} {
		require.NoError(t, os.WriteFile(a.path, []byte(podYAML("web", image)), 0o600))
		a.has("web-n1 " + image)
	}
}

// TestRun_F29_LinkIsSwitched: programs that fetch manifests switch a link.
func TestRun_F29_LinkIsSwitched(t *testing.T) {
	a := announce(t, "m")
	for _, version := range []string{"one", "two", "three"} {
		require.NoError(t, os.Mkdir(a.path+version, 0o700))
		require.NoError(t, os.WriteFile(filepath.Join(a.path+version, "a"), []byte(podYAML("a", version)), 0o600))
		require.NoError(t, os.Symlink(a.path+version, a.path+".new"))
		require.NoError(t, os.Rename(a.path+".new", a.path))
		if version == "one" {
			a.start()
		}
		a.has("a-n1 " + version)
	}
	assert.Empty(t, a.told)
}

// TestRun_F29_LinkInAConfigMapVolume: the path is a link of a ConfigMap volume to a directory. The kubelet switches the
// link ..data.
func TestRun_F29_LinkInAConfigMapVolume(t *testing.T) {
	a := announce(t, "volume", "m")
	volume := filepath.Dir(a.path)
	for _, version := range []string{"one", "two", "three"} {
		made := filepath.Join(volume, ".."+version)
		require.NoError(t, os.MkdirAll(filepath.Join(made, "m"), 0o700))
		require.NoError(t, os.WriteFile(filepath.Join(made, "m", "a"), []byte(podYAML("a", version)), 0o600))
		require.NoError(t, os.Symlink(".."+version, filepath.Join(volume, "..data_tmp")))
		require.NoError(t, os.Rename(filepath.Join(volume, "..data_tmp"), filepath.Join(volume, "..data")))
		if version == "one" {
			require.NoError(t, os.Symlink("..data/m", a.path))
			a.start()
		}
		a.has("a-n1 " + version)
	}
	assert.Empty(t, a.told)
}
