package manifest_test

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/fstest"
	"testing/synctest"
	"time"

	"github.com/fsnotify/fsnotify"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/podkeel/podkeel/podmanager/source/manifest"
)

// TestChanged_CF15_WhatAnEventNames: an event names one file only if it is about a file in the directory, and if the
// system names each changed file.
func TestChanged_CF15_WhatAnEventNames(t *testing.T) {
	for _, one := range []struct {
		event, fileName, parent, nameInParent string
		vague                                 bool
		want                                  string
	}{
		{event: "/d/m/a.yaml", want: "a.yaml"},
		{event: "/d/m/a.yaml", vague: true, want: "all"},
		{event: "/d/m/.hidden", want: ""},
		{event: "/d/m/a.yaml.swp", want: ""},
		{event: "/d/m/..data", want: "all"},
		{event: "/d/m/..2026_01", want: "all"},
		{event: "/d/m", want: "all"},
		{event: "/elsewhere/a.yaml", want: "all"},
		{event: "", want: ""},

		{event: "/d/m/web.yaml", fileName: "web.yaml", want: "web.yaml"},
		{event: "/d/m/other.yaml", fileName: "web.yaml", want: ""},
		{event: "/d/m/.web.yaml", fileName: ".web.yaml", want: ".web.yaml"},

		{event: "/d", parent: "/d", nameInParent: "m", want: "all"},
		{event: "/d/other", parent: "/d", nameInParent: "m", want: ""},
		{event: "/links/m", parent: "/links", nameInParent: "m", want: "all"},
		{event: "/links/..data", parent: "/links", nameInParent: "m", want: "all"},
		{event: "/d/m/a.yaml", parent: "/links", nameInParent: "m", want: "a.yaml"},
		{event: "/d/m/a.yaml", parent: "/d/m", nameInParent: "m", want: "a.yaml"},
	} {
		event := fsnotify.Event{Name: one.event, Op: fsnotify.Write}
		assert.Equal(t, one.want, manifest.ChangedBy(event, "/d/m", one.fileName, one.parent, one.nameInParent, !one.vague), "%+v", one)
	}
}

// watchedDir runs a source with events that the test sends.
type watchedDir struct {
	*dir
	news *manifest.News
	got  sink
}

// watched starts a source of a directory with two pods, whose period is a minute.
func watched(t *testing.T, cfg manifest.Config, news *manifest.News) *watchedDir {
	d := &watchedDir{dir: &dir{t: t, path: filepath.Join(t.TempDir(), "m")}, news: news}
	require.NoError(t, os.Mkdir(d.path, 0o700))
	d.write("a", podYAML("a", "one"))
	d.write("b", podYAML("b", "one"))
	cfg.Path, cfg.Period = d.path, time.Minute
	d.open(cfg)
	d.news.Events, d.news.Errors = make(chan fsnotify.Event), make(chan error)
	d.source.WatchWith(d.news)
	d.got = d.run()
	assert.Equal(t, "a-n1 b-n1 one one", <-d.got)
	synctest.Wait()
	return d
}

// announce sends an event for a file.
func (d *watchedDir) announce(name string) {
	d.news.Events <- fsnotify.Event{Name: d.file(name), Op: fsnotify.Write}
}

// TestRun_CF15_AnEventReadsItsFile: an event causes a read of its file and of no other. An event does not
// delay the periodic scan of all files.
func TestRun_CF15_AnEventReadsItsFile(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d := watched(t, manifest.Config{}, &manifest.News{})
		began := time.Now()
		d.write("b", podYAML("b", "silent"))
		for i := range 5 {
			time.Sleep(10 * time.Second)
			image := fmt.Sprint("v", i)
			d.write("a", podYAML("a", image))
			d.announce("a")
			assert.Equal(t, "a-n1 b-n1 "+image+" one", <-d.got)
			synctest.Wait()
		}
		assert.Equal(t, "a-n1 b-n1 v4 silent", <-d.got)
		assert.Equal(t, time.Minute, time.Since(began))

		// New files, removed ones and those without a pod are found in the listing.
		time.Sleep(time.Second)
		d.write("c", podYAML("c", "new"))
		d.write("b", podYAML("b", "silent again"))
		d.remove("a")
		d.announce("other")
		assert.Equal(t, "b-n1 c-n1 silent new", <-d.got)
	})
}

// TestRun_F35_AllFilesAtOnce: an event that may not name all changed files, and each doubt about the events, cause a
// scan of all files at once.
func TestRun_F35_AllFilesAtOnce(t *testing.T) {
	for _, one := range []struct {
		name string
		news *manifest.News
		do   func(d *watchedDir)
	}{
		{"an overflow of the queue", &manifest.News{}, func(d *watchedDir) { d.news.Errors <- fsnotify.ErrEventOverflow }},
		{"an overflow after an event", &manifest.News{}, func(d *watchedDir) {
			d.announce("a")
			d.news.Errors <- fsnotify.ErrEventOverflow
		}},
		{"an event after an overflow", &manifest.News{}, func(d *watchedDir) {
			d.news.Errors <- fsnotify.ErrEventOverflow
			d.announce("a")
		}},
		{"a system that does not name each file", &manifest.News{Vague: true}, func(d *watchedDir) { d.announce("a") }},
		{"a switched ConfigMap volume", &manifest.News{}, func(d *watchedDir) { d.announce("..data") }},
		{"a move of the directory", &manifest.News{}, func(d *watchedDir) { d.news.Events <- fsnotify.Event{Name: d.path, Op: fsnotify.Rename} }},
		{"another directory, without its own event", &manifest.News{}, func(d *watchedDir) {
			require.NoError(d.t, os.Rename(d.path, d.path+".old"))
			require.NoError(d.t, os.CopyFS(d.path, os.DirFS(d.path+".old")))
			d.announce("a")
		}},
		{"many files", &manifest.News{}, func(d *watchedDir) {
			for i := range manifest.MaxChangedNames + 1 {
				d.announce(fmt.Sprint("other-", i))
			}
		}},
	} {
		t.Run(one.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				d := watched(t, manifest.Config{}, one.news)
				d.write("b", podYAML("b", "silent"))
				began := time.Now()
				one.do(d)
				assert.Equal(t, "a-n1 b-n1 one silent", <-d.got)
				assert.LessOrEqual(t, time.Since(began), time.Second)

				// The next event names its file again.
				if !one.news.Vague {
					synctest.Wait()
					d.write("b", podYAML("b", "more"))
					d.write("a", podYAML("a", "two"))
					d.announce("a")
					assert.Equal(t, "a-n1 b-n1 two silent", <-d.got)
				}
			})
		})
	}
}

// TestRun_F35_NoChangeIsLostWithAScan: after a scan that has failed, the next one reads all files, because the names of
// the changed files are lost.
func TestRun_F35_NoChangeIsLostWithAScan(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d := watched(t, manifest.Config{MaxFiles: 2}, &manifest.News{})
		d.write("b", podYAML("b", "two"))
		d.write("c", podYAML("c", "too many"))
		d.announce("b")
		d.announce("c")
		time.Sleep(time.Second)
		synctest.Wait()
		require.Len(t, d.problems, 1)
		assert.ErrorIs(t, d.problems[0].Err, manifest.ErrListing)
		assert.Empty(t, d.got)
		d.remove("c")
		d.announce("c")
		assert.Equal(t, "a-n1 b-n1 one two", <-d.got)
	})
}

// TestScan_F36_ReadThatBeganBeforeTheEvent: a read that began before a change may return the old content. The next scan
// reads the file again.
func TestScan_F36_ReadThatBeganBeforeTheEvent(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		hang := make(chan struct{})
		files := fstest.MapFS{"a": {Data: []byte(podYAML("a", "i"))}, "b": {Data: []byte(podYAML("b", "old"))}}
		d := &dir{t: t, path: "."}
		d.open(manifest.Config{FS: lateFS{files, hang}, Path: "."})
		d.source.HideLinks()
		assert.Equal(t, "a-n1 incomplete [b:0 unreadable]", d.scan())
		close(hang)
		synctest.Wait()
		files["b"] = &fstest.MapFile{Data: []byte(podYAML("b", "new"))}
		images := func(changed ...string) (all []string) {
			snapshot, err := d.source.ScanChanged(t.Context(), changed...)
			require.NoError(t, err)
			for _, p := range snapshot.Pods {
				all = append(all, p.Spec.Containers[0].Image)
			}
			return all
		}
		assert.Equal(t, []string{"i", "old"}, images("b"), "what the first read has found")
		assert.Equal(t, []string{"i", "new"}, images("a"))
		files["b"] = &fstest.MapFile{Data: []byte(podYAML("b", "silent"))}
		assert.Equal(t, []string{"i", "new"}, images("a"), "only once")
	})
}

// lateFS is a file system that opens b, and then waits before it returns the file.
type lateFS struct {
	fstest.MapFS
	hang chan struct{}
}

// Open is called in a bubble.
func (l lateFS) Open(name string) (fs.File, error) {
	f, err := l.MapFS.Open(name)
	if name == "b" {
		<-l.hang
	}
	return f, err
}

// TestScan_F34_ErrorsAreReadAgain: a file whose read has failed is read by each scan.
func TestScan_F34_ErrorsAreReadAgain(t *testing.T) {
	broken := true
	files := brokenFS{fstest.MapFS{"a": {Data: []byte(podYAML("a", "i"))}, "b": {Data: []byte(podYAML("b", "i"))}}, "b", func() error {
		if broken {
			return errors.New("input/output error")
		}
		return nil
	}}
	d := &dir{t: t, path: "."}
	d.open(manifest.Config{FS: files, Path: "."})
	d.source.HideLinks()
	assert.True(t, strings.HasPrefix(d.scan(), "a-n1 incomplete"))
	broken = false
	snapshot, err := d.source.ScanChanged(t.Context(), "a")
	require.NoError(t, err)
	assert.Equal(t, []string{"a-n1", "b-n1"}, names(snapshot))
}

// TestScan_F30_MissingFileIsReadAgain: a file that is missing after it was listed is read by the next scan, if that one
// lists it too. The pods of a file that is missing in the first scan are unknown until then.
func TestScan_F30_MissingFileIsReadAgain(t *testing.T) {
	missing := true
	files := missingFS{fstest.MapFS{"a": {Data: []byte(podYAML("a", "i"))}, "b": {Data: []byte(podYAML("b", "i"))}}, &missing}
	d := &dir{t: t, path: "."}
	d.open(manifest.Config{FS: files, Path: "."})
	d.source.HideLinks()
	assert.Equal(t, "a-n1 incomplete", d.scan(), "pods of an earlier process may run")
	assert.Equal(t, "a-n1 incomplete", d.scan(), "listed again")
	missing = false
	assert.Equal(t, "a-n1 b-n1", d.scan())
	files.MapFS["b"] = &fstest.MapFile{Data: []byte(podYAML("other", "i"))}
	scanAfter := func(event string) []string {
		snapshot, err := d.source.ScanChanged(t.Context(), event)
		require.NoError(t, err)
		return names(snapshot)
	}
	missing = true
	assert.Equal(t, []string{"a-n1", "b-n1"}, scanAfter("b"))
	missing = false
	assert.Equal(t, []string{"a-n1", "other-n1"}, scanAfter("a"))

	delete(files.MapFS, "b")
	assert.Equal(t, "a-n1", d.scan())
	missing = true
	files.MapFS["b"] = &fstest.MapFile{Data: []byte(podYAML("b", "i"))}
	assert.Equal(t, "a-n1", d.scan(), "a new file has no running pods")
}

// TestKeep_I47_MissingInTheFirstScan: a file that disappears between the first listing and its read has the pods that an
// earlier process has saved, until a listing lacks the file.
func TestKeep_I47_MissingInTheFirstScan(t *testing.T) {
	missing, state := true, t.TempDir()
	files := missingFS{fstest.MapFS{"a": {Data: []byte(podYAML("a", "i"))}, "b": {Data: []byte(podYAML("b", "new"))}}, &missing}
	require.NoError(t, manifest.KeepAs(state, "b", podYAML("b", "saved")))
	d := &dir{t: t, path: "."}
	open := func() { d.open(manifest.Config{FS: files, Path: ".", StateDir: state}) }
	open()
	assert.Equal(t, "a-n1 b-n1", d.scan())
	missing = false
	snapshot, err := d.source.Scan(t.Context())
	require.NoError(t, err)
	assert.Equal(t, "new", snapshot.Pods[1].Spec.Containers[0].Image)

	open()
	missing = true
	assert.Equal(t, "a-n1 b-n1", d.scan())
	delete(files.MapFS, "b")
	assert.Equal(t, "a-n1", d.scan())
	assert.Zero(t, d.source.Faults().Count)
}

// missingFS is a file system that lists the file b, which may be missing.
type missingFS struct {
	fstest.MapFS
	missing *bool
}

func (m missingFS) Stat(name string) (fs.FileInfo, error) {
	if name == "b" && *m.missing {
		return nil, &fs.PathError{Op: "stat", Path: name, Err: fs.ErrNotExist}
	}
	return m.MapFS.Stat(name)
}
