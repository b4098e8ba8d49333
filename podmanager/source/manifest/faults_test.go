package manifest_test

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/fsnotify/fsnotify"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"k8s.io/utils/clock"

	"github.com/podkeel/podkeel/podmanager/source"
	"github.com/podkeel/podkeel/podmanager/source/manifest"
)

// faultLines returns the active faults, one line each, with their age.
func faultLines(s source.FaultReporter, dirs ...string) (lines []string) {
	now := s.Faults()
	for _, f := range now.First {
		line := fmt.Sprintf("%s; %s (%s)", f, f.Effect, time.Since(f.Since))
		for _, dir := range dirs {
			line = strings.ReplaceAll(line, dir, "DIR")
		}
		lines = append(lines, line)
	}
	if now.Count != len(now.First) {
		lines = append(lines, fmt.Sprintf("%d in all", now.Count))
	}
	return lines
}

// TestFaults_ActiveUntilResolved: the fault of a file is active until the file is good or removed. It began when
// the file became faulty.
func TestFaults_ActiveUntilResolved(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d := newDir(t)
		var over []string
		d.open(manifest.Config{Path: d.path, Strict: true, Resolved: func(f source.Fault) {
			over = append(over, strings.ReplaceAll(f.String(), d.path, "DIR"))
		}})
		d.write("a", podYAML("a", "i"))
		d.write("b", podYAML("b", "i"))
		d.write("comment", "# nothing yet\n")
		require.NoError(t, os.Mkdir(d.file("subdirectory"), 0o700))
		d.scan()
		assert.Empty(t, faultLines(d.source, d.path), "what is ignored or skipped is no fault")
		snapshot, err := d.source.Scan(t.Context())
		require.NoError(t, err)
		a, b := snapshot.Pods[0].UID, snapshot.Pods[1].UID

		d.write("a", "kind: [")
		d.write("new", podYAML("new", "i")+"bogus: 1\nother: 2\n")
		d.write("twin", podYAML("b", "other"))
		require.NoError(t, os.Symlink("nowhere", d.file("link")))
		d.scan()
		time.Sleep(time.Minute)
		d.write("a", "kind: Pod")
		d.scan()
		bad := []string{
			"DIR/a: line 1: apiVersion: missing: expected v1; its last good version stays in force (1m0s)",
			"DIR/link: cannot be read: stat DIR/link: no such file or directory; nothing of this file runs (1m0s)",
			"DIR/new: line 5: bogus: unknown field (and 1 more); nothing of this file runs (1m0s)",
			"DIR/twin: duplicate pod: DIR/b has a pod default/b-n1; the pod of the earlier file runs (1m0s)",
		}
		assert.Equal(t, bad, faultLines(d.source, d.path))
		assert.Empty(t, over)

		fault, ok := d.source.FaultOf(a)
		assert.True(t, ok)
		assert.Equal(t, d.file("a"), fault.Path)
		fault, ok = d.source.FaultOf(b)
		assert.True(t, ok)
		assert.Equal(t, d.file("twin"), fault.Path, "somebody means to change it")
		_, ok = d.source.FaultOf("none")
		assert.False(t, ok)

		d.write("a", podYAML("a", "i"))
		d.remove("twin")
		d.remove("new")
		d.remove("link")
		d.scan()
		assert.Empty(t, faultLines(d.source, d.path))
		assert.ElementsMatch(t, []string{
			"DIR/a: line 1: apiVersion: missing: expected v1",
			"DIR/link: cannot be read: stat DIR/link: no such file or directory",
			"DIR/new: line 5: bogus: unknown field (and 1 more)",
			"DIR/twin: duplicate pod: DIR/b has a pod default/b-n1",
		}, over)
		_, ok = d.source.FaultOf(a)
		assert.False(t, ok)
	})
}

// TestFaults_OfTheDirectory: a fault of the directory concerns all its pods.
func TestFaults_OfTheDirectory(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d := newDir(t, "m")
		require.NoError(t, os.Mkdir(d.file("m"), 0o700))
		d.write("m/a", podYAML("a", "i"))
		snapshot, err := d.source.Scan(t.Context())
		require.NoError(t, err)
		require.NoError(t, os.Rename(d.file("m"), d.file("away")))
		d.scan()
		want := []string{"DIR/m: cannot be listed: stat DIR/m: no such file or directory; everything stays as it was (0s)"}
		assert.Equal(t, want, faultLines(d.source, d.path))
		_, ok := d.source.FaultOf(snapshot.Pods[0].UID)
		assert.True(t, ok)
		require.NoError(t, os.Rename(d.file("away"), d.file("m")))
		d.scan()
		assert.Empty(t, faultLines(d.source, d.path))
	})
}

// TestFaults_Many: all faults are counted, and only some are listed.
func TestFaults_Many(t *testing.T) {
	d := newDir(t)
	for i := range 150 {
		d.write(fmt.Sprintf("%03d", i), "x")
	}
	d.scan()
	lines := faultLines(d.source, d.path)
	require.Len(t, lines, source.MaxFaults+1)
	assert.Contains(t, lines[99], "DIR/099: ")
	assert.Equal(t, "150 in all", lines[100])
}

// TestFaults_URL: a server does not answer, or returns an invalid document.
func TestFaults_URL(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := &web{answer: says(200, podYAML("web", "one"))}
		var over []string
		s, _ := w.open(t, manifest.URLConfig{Resolved: func(f source.Fault) { over = append(over, f.String()) }})
		poll := func() []string {
			_, _ = s.Poll(t.Context())
			return faultLines(s, "-")
		}
		assert.Empty(t, poll())
		pod := s.FaultOf
		w.set(says(503, ""))
		poll()
		time.Sleep(time.Second)
		down := "https://example.com/pods.yaml: cannot be fetched: the server answers 503 Service Unavailable; everything stays as it was (1s)"
		assert.Equal(t, []string{down}, poll())
		w.set(says(200, "kind: ["))
		nonsense := "https://example.com/pods.yaml: line 1: not YAML: did not find expected node content; its last good version stays in force (0s)"
		assert.Equal(t, []string{nonsense}, poll())
		snapshot, _ := s.Poll(t.Context())
		_, ok := pod(snapshot.Pods[0].UID)
		assert.True(t, ok)
		w.set(says(200, podYAML("web", "one")))
		assert.Empty(t, poll())
		assert.Len(t, over, 2)
	})
}

// TestKeep_I47_F2_FilesOverRestarts: the pods that an earlier process has read from a file stay until the file is good
// or removed, whatever the file contains when the process starts.
func TestKeep_I47_F2_FilesOverRestarts(t *testing.T) {
	for name, now := range map[string]func(d *dir){
		"half":         func(d *dir) { d.write("a", "apiVersion: v1\nkind: Po") },
		"empty":        func(d *dir) { d.write("a", "") },
		"comment":      func(d *dir) { d.write("a", "# later\n") },
		"directory":    func(d *dir) { d.remove("a"); require.NoError(d.t, os.Mkdir(d.file("a"), 0o700)) },
		"a lost link":  func(d *dir) { d.remove("a"); require.NoError(d.t, os.Symlink("nowhere", d.file("a"))) },
		"unknown kind": func(d *dir) { d.write("a", strings.Replace(podYAML("a", "i"), "Pod", "Job", 1)) },
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				state := filepath.Join(t.TempDir(), "state")
				d := newDir(t)
				open := func() { d.openKept(state) }
				open()
				d.write("a", podYAML("a", "i"))
				d.write("b", podYAML("b", "i"))
				stop, got := d.runUntilStopped()
				assert.Equal(t, "a-n1 b-n1 i i", <-got)
				synctest.Wait()
				before, err := d.source.Scan(t.Context())
				require.NoError(t, err)
				stop()

				now(d)
				open()
				d.problems = nil
				after, err := d.source.Scan(t.Context())
				require.NoError(t, err)
				assert.Equal(t, before, after)
				require.Len(t, d.problems, 1)
				assert.True(t, d.problems[0].Kept)
				faults := d.source.Faults()
				require.Equal(t, 1, faults.Count)
				assert.Equal(t, "its last good version stays in force", faults.First[0].Effect)
				assert.Equal(t, "a-n1 b-n1", d.scan(), "told once")

				open()
				d.remove("a")
				stop, got = d.runUntilStopped()
				assert.Equal(t, "b-n1 i", <-got, "it has gone")
				synctest.Wait()
				stop()
				assert.Len(t, savedFiles(t, state), 1)
				open()
				d.write("a", "kind: [")
				assert.Equal(t, "b-n1 incomplete [a:1 syntax]", d.scan(), "and nothing of it comes back")
			})
		})
	}
}

// openKept creates the source with a state directory. It only polls.
func (d *dir) openKept(state string) {
	d.open(manifest.Config{Path: d.path, StateDir: state})
	d.source.WatchWith(&manifest.News{})
}

// savedFiles returns the files in a state directory.
func savedFiles(t *testing.T, state string) (files []string) {
	files, err := filepath.Glob(filepath.Join(state, "*"))
	require.NoError(t, err)
	return files
}

// TestKeep_DeliveredVersion: a delivered good version is saved, also if the file changes or the process exits right
// after that.
func TestKeep_DeliveredVersion(t *testing.T) {
	state := filepath.Join(t.TempDir(), "state")
	d := newDir(t)
	d.write("a", podYAML("a", "i"))
	d.openKept(state)
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	require.NoError(t, d.source.Run(ctx, handed(func() {
		d.write("a", "kind: [")
		cancel()
	})))
	d.openKept(state)
	assert.Equal(t, "a-n1 [a:1 syntax kept]", d.scan())

	d.write("b", podYAML("b", "i"))
	d.scan()
	d.write("b", "kind: [")
	assert.Equal(t, "a-n1 b-n1 [b:1 syntax kept]", d.scan())
	assert.False(t, d.source.KeepSome(t.Context()))
	d.openKept(state)
	assert.Equal(t, "a-n1 b-n1 [a:1 syntax kept] [b:1 syntax kept]", d.scan())
}

// TestKeep_ChangesComeFirst: a change is noticed before all of many files are saved.
func TestKeep_ChangesComeFirst(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		state := filepath.Join(t.TempDir(), "state")
		d := newDir(t)
		for i := range manifest.KeptAtOnce + 1 {
			d.write(fmt.Sprintf("%04d", i), podYAML(fmt.Sprint("p", i), "i"))
		}
		d.openKept(state)
		news := &manifest.News{Events: make(chan fsnotify.Event, 1)}
		d.source.WatchWith(news)
		ctx, cancel := context.WithCancel(t.Context())
		defer cancel()
		seen := 0
		require.NoError(t, d.source.Run(ctx, handed(func() {
			if seen++; seen == 2 {
				assert.Len(t, savedFiles(t, state), manifest.KeptAtOnce)
				cancel()
				return
			}
			d.write("new", podYAML("new", "i"))
			news.Events <- fsnotify.Event{Name: d.file("new"), Op: fsnotify.Create}
		})))
		assert.Equal(t, 2, seen)
		assert.Len(t, savedFiles(t, state), manifest.KeptAtOnce+2)
	})
}

// TestKeep_HeldTexts: texts are kept up to a bound, and other files are read again. A text is dropped as soon as it is
// saved.
func TestKeep_HeldTexts(t *testing.T) {
	state := filepath.Join(t.TempDir(), "state")
	d := newDir(t)
	d.openKept(state)
	large := podYAML("a", "i") + strings.Repeat("# 0123456789\n", manifest.MaxHeld*2/5/13)
	for _, name := range []string{"a", "b", "c"} {
		d.write(name, strings.Replace(large, "{name: a}", "{name: "+name+"}", 1))
	}
	assert.Equal(t, "a-n1 b-n1 c-n1", d.scan())
	assert.InDelta(t, manifest.MaxHeld*4/5, d.source.Held(), 1000)
	assert.False(t, d.source.KeepSome(t.Context()))
	assert.Zero(t, d.source.Held())
	assert.Len(t, savedFiles(t, state), 3)

	d.openKept(state)
	d.write("a", "# nothing")
	d.write("b", large)
	d.scan()
	d.remove("b")
	d.scan()
	d.source.KeepSome(t.Context())
	assert.Zero(t, d.source.Held())
}

// hasty is a clock on which each read takes three seconds.
type hasty struct {
	clock.RealClock
	now time.Time
}

func (h *hasty) Now() time.Time {
	h.now = h.now.Add(3 * time.Second)
	return h.now
}

// TestKeep_ExitIsBounded: Run saves for at most five seconds after its context is done.
func TestKeep_ExitIsBounded(t *testing.T) {
	state := filepath.Join(t.TempDir(), "state")
	d := newDir(t)
	for _, name := range []string{"a", "b", "c"} {
		d.write(name, podYAML(name, "i"))
	}
	d.open(manifest.Config{Path: d.path, StateDir: state, Clock: &hasty{}})
	d.source.WatchWith(&manifest.News{})
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	require.NoError(t, d.source.Run(ctx, handed(cancel)))
	assert.Len(t, savedFiles(t, state), 2)
}

// handed is called with each snapshot.
type handed func()

func (h handed) Set(source.Snapshot) { h() }

// TestKeep_ManyInBatches: changes are noticed while thousands of files are saved for the first time. A file that
// cannot be saved does not delay the others.
func TestKeep_ManyInBatches(t *testing.T) {
	state := filepath.Join(t.TempDir(), "state")
	d := newDir(t)
	d.openKept(state)
	for i := range manifest.KeptAtOnce + 2 {
		d.write(fmt.Sprintf("%04d", i), podYAML(fmt.Sprint("p", i), "i"))
	}
	d.scan()
	require.NoError(t, os.WriteFile(state, nil, 0o600))
	assert.True(t, d.source.KeepSome(t.Context()), "nothing can be kept here")
	require.NoError(t, os.Remove(state))
	assert.False(t, d.source.KeepSome(t.Context()))
	assert.Len(t, savedFiles(t, state), 2)

	d.write("0000", podYAML("p", "j"))
	assert.Contains(t, d.scan(), "p-n1")
	assert.False(t, d.source.KeepSome(t.Context()))
	assert.Len(t, savedFiles(t, state), manifest.KeptAtOnce+2)
}

// TestKeep_OnlyTheOwnerReads: saved files are readable by their owner only. An unchanged version is not written again.
func TestKeep_OnlyTheOwnerReads(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		state := filepath.Join(t.TempDir(), "state")
		d := newDir(t)
		d.write("a", podYAML("a", "i"))
		d.write("list", "apiVersion: v1\nkind: List\nitems: []\n")
		var written os.FileInfo
		for range 2 {
			d.openKept(state)
			stop, got := d.runUntilStopped()
			<-got
			synctest.Wait()
			stop()
			files := savedFiles(t, state)
			require.Len(t, files, 1, "what has no pods is not kept")
			info, err := os.Stat(files[0])
			require.NoError(t, err)
			assert.Equal(t, os.FileMode(0o600), info.Mode())
			assert.True(t, written == nil || os.SameFile(written, info))
			written = info
		}
	})
}

// TestKeep_I47_Damaged: a saved version that cannot be read may have pods. The pods of the file keep running until the
// file is good, the saved version can be read, or a person removes it.
func TestKeep_I47_Damaged(t *testing.T) {
	const unkept = "DIR/a: cannot be kept over a restart: the file manifest-file-X.json is damaged; a restart without the server, or with a faulty file, may end its pods (0s)"
	for name, c := range map[string]struct {
		now    func(d *dir, file string, good []byte) error
		scan   string
		faults []string
	}{
		"half": {
			func(_ *dir, file string, good []byte) error { return os.WriteFile(file, good[:9], 0o600) },
			"incomplete", []string{unkept, "DIR/a: empty; what runs of it goes on, and nothing of it is started (0s)"},
		},
		"of another path": {
			func(_ *dir, file string, good []byte) error {
				return os.WriteFile(file, bytes.Replace(good, []byte(`"url":"`), []byte(`"url":"0`), 1), 0o600)
			},
			"incomplete", []string{unkept, "DIR/a: empty; what runs of it goes on, and nothing of it is started (0s)"},
		},
		"directory": {
			func(d *dir, _ string, _ []byte) error { d.remove("a"); return os.Mkdir(d.file("a"), 0o700) },
			"incomplete [a:0 not a file]", []string{unkept, "DIR/a: not a regular file: a directory; what runs of it goes on, and nothing of it is started (0s)"},
		},
		"good": {func(d *dir, _ string, _ []byte) error { d.write("a", podYAML("a", "k")); return nil }, "a-n1", []string{unkept}},
		"readable": {
			func(_ *dir, file string, good []byte) error { return os.WriteFile(file, good, 0o600) },
			"a-n1 [a:0 empty kept]", []string{"DIR/a: empty; its last good version stays in force (0s)"},
		},
		"removed": {func(_ *dir, file string, _ []byte) error { return os.Remove(file) }, "[a:0 empty]", nil},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				state := filepath.Join(t.TempDir(), "state")
				d := newDir(t)
				d.write("a", podYAML("a", "i"))
				d.openKept(state)
				stop, got := d.runUntilStopped()
				<-got
				synctest.Wait()
				stop()
				file := savedFiles(t, state)[0]
				good, err := os.ReadFile(file)
				require.NoError(t, err)

				d.write("a", "# later\n")
				require.NoError(t, os.WriteFile(file, good[:len(good)/2], 0o600))
				d.openKept(state)
				assert.Equal(t, "incomplete [a:0 unknown] [a:0 empty]", d.scan())
				assert.Equal(t, "incomplete", d.scan(), "told once")
				require.NoError(t, c.now(d, file, good))
				assert.Equal(t, c.scan, d.scan())
				var faults []string
				for _, line := range faultLines(d.source, d.path) {
					faults = append(faults, strings.ReplaceAll(line, filepath.Base(file), "manifest-file-X.json"))
				}
				assert.Equal(t, c.faults, faults)
			})
		})
	}
}

// TestKeep_CannotBeKept: a failure to save is reported once and has no other effect. The same holds for a failure to
// delete a saved version, after which a removed file may return.
func TestKeep_CannotBeKept(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		state := filepath.Join(t.TempDir(), "state")
		require.NoError(t, os.WriteFile(state, nil, 0o600))
		d := newDir(t)
		d.write("a", podYAML("a", "i"))
		d.openKept(state)
		got := d.run()
		assert.Equal(t, "a-n1 i", <-got)
		time.Sleep(time.Minute)
		synctest.Wait()
		for _, p := range d.problems {
			assert.ErrorIs(t, p.Err, manifest.ErrKeep)
		}
		assert.ElementsMatch(t, []string{
			"DIR/a: cannot be kept over a restart: mkdir DIR/state: not a directory; a restart without the server, or with a faulty file, may end its pods (1m0s)",
			"DIR/state: cannot be kept over a restart: cannot delete the saved versions of removed files: open DIR/state: not a directory: a regular file; a file that is gone may count again after a restart (1m0s)",
		}, faultLines(d.source, d.path, filepath.Dir(state)))
		require.Len(t, d.problems, 2)
		require.NoError(t, os.Remove(state))
		time.Sleep(time.Minute)
		synctest.Wait()
		count := d.source.Faults().Count
		assert.Zero(t, count)
		assert.Len(t, savedFiles(t, state), 1)
	})
}
