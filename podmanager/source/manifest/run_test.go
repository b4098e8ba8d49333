package manifest_test

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"testing/fstest"
	"testing/synctest"
	"time"

	"github.com/fsnotify/fsnotify"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/podkeel/podkeel/podmanager/source"
	"github.com/podkeel/podkeel/podmanager/source/manifest"
)

// sink is a channel of snapshots as text.
type sink chan string

func (s sink) Set(snapshot source.Snapshot) {
	text := strings.Join(names(snapshot), " ")
	for _, p := range snapshot.Pods {
		text += " " + p.Spec.Containers[0].Image
	}
	s <- text
}

// run runs the source of d until the test ends.
func (d *dir) run() sink {
	stop, s := d.runUntilStopped()
	d.t.Cleanup(stop)
	return s
}

// runUntilStopped runs the source of d until the returned function is called.
func (d *dir) runUntilStopped() (stop func(), s sink) {
	s = make(sink, 1000)
	ctx, cancel := context.WithCancel(d.t.Context())
	done := make(chan error)
	go func() { done <- d.source.Run(ctx, s) }()
	return func() {
		cancel()
		assert.NoError(d.t, <-done)
	}, s
}

// TestRun_CF15_SystemAnnouncesChanges: real files and fsnotify, with a period that is longer than the test.
func TestRun_CF15_SystemAnnouncesChanges(t *testing.T) {
	d := newDir(t)
	d.open(manifest.Config{Path: d.path, Period: 24 * time.Hour})
	got := d.run()
	assert.Equal(t, "", <-got, "at once, even if there is nothing")
	d.write("a", podYAML("a", "one"))
	assert.Equal(t, "a-n1 one", <-got)
	d.write("a", podYAML("a", "two"))
	assert.Equal(t, "a-n1 two", <-got)
	d.write("new", podYAML("a", "three"))
	require.NoError(t, os.Rename(d.file("new"), d.file("a")))
	assert.Equal(t, "a-n1 three", <-got, "F34: renamed over")
	d.remove("a")
	assert.Equal(t, "", <-got)
}

func TestRun_SingleFileIsReplacedByRename(t *testing.T) {
	d := newDir(t, "web.yaml")
	d.write("web.yaml", podYAML("web", "one"))
	d.open(manifest.Config{Path: d.file("web.yaml"), Period: 24 * time.Hour})
	got := d.run()
	assert.Equal(t, "web-n1 one", <-got)
	d.write(".new", podYAML("web", "two"))
	require.NoError(t, os.Rename(d.file(".new"), d.file("web.yaml")))
	assert.Equal(t, "web-n1 two", <-got)
	d.remove("web.yaml")
	assert.Equal(t, "", <-got)
	d.write("web.yaml", podYAML("web", "three"))
	assert.Equal(t, "web-n1 three", <-got)
}

// TestRun_F29_WatchFollowsThePath: the watch is set on the directory that exists now, and not again while it is the
// same.
func TestRun_F29_WatchFollowsThePath(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d := newDir(t, "m")
		require.NoError(t, os.Mkdir(d.file("m"), 0o700))
		news := &manifest.News{Events: make(chan fsnotify.Event)}
		d.source.WatchWith(news)
		got := d.run()
		assert.Equal(t, "", <-got)
		again := []string{"remove " + d.file("m"), "add " + d.file("m")}
		time.Sleep(time.Minute)
		synctest.Wait()
		assert.Equal(t, again, news.Calls(), "the same for a minute")

		require.NoError(t, os.Rename(d.file("m"), d.file("away")))
		require.NoError(t, os.Mkdir(d.file("m"), 0o700))
		d.write("m/a", podYAML("a", "one"))
		assert.Equal(t, "a-n1 one", <-got)
		synctest.Wait()
		assert.Len(t, news.Calls(), 4, "another directory")

		// The system drops the watch of a directory that is moved, even if it is moved back at once.
		news.Events <- fsnotify.Event{Name: d.file("m"), Op: fsnotify.Rename}
		time.Sleep(time.Second)
		synctest.Wait()
		assert.Len(t, news.Calls(), 6)

		// It drops the watch without an event if the target of a link is removed. The target may be created again.
		news.Drop()
		time.Sleep(time.Minute)
		synctest.Wait()
		assert.Len(t, news.Calls(), 8)
	})
}

// TestRun_F29_OnlyNeededDirectoriesAreWatched: while two levels of the path are missing, the nearest directory above is
// watched. Its watch ends when a lower one exists, also if the watch took too long.
func TestRun_F29_OnlyNeededDirectoriesAreWatched(t *testing.T) {
	for _, late := range []bool{false, true} {
		for _, atOnce := range []bool{false, true} {
			synctest.Test(t, func(t *testing.T) {
				d := newDir(t, "two", "one", "m")
				news, hang := &manifest.News{Events: make(chan fsnotify.Event)}, make(chan struct{})
				if late {
					news.Hang = hang
				}
				d.source.WatchWith(news)
				got := d.run()
				time.Sleep(10 * time.Second)
				assert.Equal(t, []string{d.file("")}, news.Watched())
				close(hang)
				if !atOnce {
					require.NoError(t, os.Mkdir(d.file("two"), 0o700))
					news.Events <- fsnotify.Event{Name: d.file("two"), Op: fsnotify.Create}
					time.Sleep(time.Minute)
					assert.Equal(t, []string{d.file("two")}, news.Watched())
				}
				next := map[bool]string{true: "two", false: "two/one"}[atOnce]
				require.NoError(t, os.MkdirAll(d.file("two/one/m"), 0o700))
				news.Events <- fsnotify.Event{Name: d.file(next), Op: fsnotify.Create}
				assert.Equal(t, "", <-got)
				time.Sleep(time.Minute)
				assert.Equal(t, []string{d.file("two/one/m")}, news.Watched())
			})
		}
	}
}

// TestRun_F29_EventsAboveAfterALateWatch: while a watch does not return, events of other names in the directory above a
// link cause no scan.
func TestRun_F29_EventsAboveAfterALateWatch(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d := newDir(t, "link")
		require.NoError(t, os.Mkdir(d.file("m"), 0o700))
		require.NoError(t, os.Symlink("m", d.file("link")))
		news, hang := &manifest.News{Events: make(chan fsnotify.Event)}, make(chan struct{})
		d.source.WatchWith(news)
		got := d.run()
		assert.Equal(t, "", <-got)
		synctest.Wait()
		news.Drop()
		news.Hang = hang
		d.write("m/a", podYAML("a", "one"))
		news.Events <- fsnotify.Event{Name: d.file("link"), Op: fsnotify.Create}
		assert.Equal(t, "a-n1 one", <-got)
		d.write("m/a", podYAML("a", "silent"))
		began := time.Now()
		news.Events <- fsnotify.Event{Name: d.file("other"), Op: fsnotify.Create}
		assert.Equal(t, "a-n1 silent", <-got)
		assert.Equal(t, 20*time.Second, time.Since(began), "with the next period")
		close(hang)
	})
}

// TestRun_F35_DroppedWatchOfALink: the system drops the watches without an event while the identity of the directories
// stays, as after an unmount and a mount of the same device. The scan of the next period sets the watches again, also the
// watch of the directory above a link.
func TestRun_F35_DroppedWatchOfALink(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d := newDir(t, "link")
		require.NoError(t, os.Mkdir(d.file("m"), 0o700))
		require.NoError(t, os.Symlink("m", d.file("link")))
		news := &manifest.News{Events: make(chan fsnotify.Event)}
		d.source.WatchWith(news)
		got := d.run()
		assert.Equal(t, "", <-got)
		synctest.Wait()
		first := news.Calls()
		news.Drop()
		d.write("m/a", podYAML("a", "one"))
		began := time.Now()
		assert.Equal(t, "a-n1 one", <-got)
		assert.Equal(t, 20*time.Second, time.Since(began))
		again := append(slices.Clone(first), "add "+d.file(""), "remove "+d.file("link"), "add "+d.file("link"))
		assert.Equal(t, again, news.Calls())
		time.Sleep(time.Minute)
		synctest.Wait()
		assert.Equal(t, again, news.Calls(), "the same for a minute")
	})
}

// TestRun_F35_PollBeneath: a system without watches is reported once, and polling finds the changes.
func TestRun_F35_PollBeneath(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d := newDir(t)
		d.source.WatchWith(&manifest.News{Err: errors.New("too many open files")})
		got := d.run()
		synctest.Wait()
		assert.Equal(t, "", <-got)
		d.write("a", podYAML("a", "one"))
		began := time.Now()
		assert.Equal(t, "a-n1 one", <-got)
		assert.Equal(t, 20*time.Second, time.Since(began))
		time.Sleep(time.Hour)
		require.Len(t, d.problems, 1)
		assert.ErrorIs(t, d.problems[0].Err, manifest.ErrNoWatch)
		assert.ErrorContains(t, d.problems[0].Err, "too many open files")
		assert.Empty(t, got, "nothing is handed over that has not changed")
	})
}

// TestRun_F35_OverflowIsAFullScan: a full scan finds the changes of lost events.
func TestRun_F35_OverflowIsAFullScan(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d := newDir(t)
		lost := make(chan error)
		d.source.WatchWith(&manifest.News{Errors: lost})
		got := d.run()
		assert.Equal(t, "", <-got)
		synctest.Wait()
		d.write("a", podYAML("a", "one"))
		began := time.Now()
		lost <- fsnotify.ErrEventOverflow
		assert.Equal(t, "a-n1 one", <-got)
		assert.Less(t, time.Since(began), time.Second)
	})
}

// TestRun_F33_RewrittenAThousandTimes: a file that is written a thousand times a second is read about once a second.
// Its last version is delivered within a second of the last write.
func TestRun_F33_RewrittenAThousandTimes(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d := newDir(t)
		events := make(chan fsnotify.Event)
		d.source.WatchWith(&manifest.News{Events: events})
		got := d.run()
		assert.Equal(t, "", <-got)
		synctest.Wait()
		for i := range 2000 {
			d.write(".a", podYAML("a", fmt.Sprint("v", i)))
			require.NoError(t, os.Rename(d.file(".a"), d.file("a")), "whole, since it may be read at this moment")
			events <- fsnotify.Event{Name: d.file("a"), Op: fsnotify.Write}
			time.Sleep(time.Millisecond)
		}
		time.Sleep(time.Second)
		synctest.Wait()
		last, n := "", len(got)
		for range n {
			last = <-got
		}
		assert.Equal(t, "a-n1 v1999", last)
		assert.GreaterOrEqual(t, n, 2, "it does not wait for the end")
		assert.LessOrEqual(t, n, 3)
	})
}

// TestRun_F33_OneChangeIsReadAtOnce: a single change is read at once. The source waits after further changes, and after
// a file was moved away.
func TestRun_F33_OneChangeIsReadAtOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d := newDir(t)
		events := make(chan fsnotify.Event)
		d.source.WatchWith(&manifest.News{Events: events})
		got := d.run()
		assert.Equal(t, "", <-got)
		synctest.Wait()
		began := time.Now()
		next := func(want string, after time.Duration, news ...fsnotify.Op) {
			t.Helper()
			began = time.Now()
			for _, op := range news {
				events <- fsnotify.Event{Name: d.file("a"), Op: op}
			}
			assert.Equal(t, want, <-got)
			assert.Equal(t, after, time.Since(began))
			synctest.Wait()
		}
		d.write("a", podYAML("a", "one"))
		next("a-n1 one", 2*time.Millisecond, fsnotify.Create)
		d.write("a", podYAML("a", "two"))
		next("a-n1 two", 100*time.Millisecond, fsnotify.Create)
		time.Sleep(100 * time.Millisecond)
		d.write("a", podYAML("a", "three"))
		next("a-n1 three", 4*time.Millisecond, fsnotify.Create, fsnotify.Write)
		time.Sleep(100 * time.Millisecond)
		d.write("a", podYAML("a", "four"))
		next("a-n1 four", 64*time.Millisecond, fsnotify.Write, fsnotify.Write, fsnotify.Write, fsnotify.Write, fsnotify.Write, fsnotify.Write)
		time.Sleep(100 * time.Millisecond)
		d.remove("a")
		next("", 2*time.Millisecond, fsnotify.Remove)
		d.write("a", podYAML("a", "five"))
		time.Sleep(100 * time.Millisecond)
		next("a-n1 five", 2*time.Millisecond, fsnotify.Create)
		time.Sleep(100 * time.Millisecond)
		d.write("a", podYAML("a", "six"))
		next("a-n1 six", 100*time.Millisecond, fsnotify.Rename, fsnotify.Create)
	})
}

// TestRun_F9_IgnoresEventsOfTemporaryFiles: events of temporary files cause no scan, so an open editor costs nothing.
// The link that switches a ConfigMap volume does cause one.
func TestRun_F9_IgnoresEventsOfTemporaryFiles(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d := newDir(t)
		events := make(chan fsnotify.Event)
		d.source.WatchWith(&manifest.News{Events: events})
		got := d.run()
		assert.Equal(t, "", <-got)
		synctest.Wait()
		d.write("a", podYAML("a", "one"))
		began := time.Now()
		events <- fsnotify.Event{Name: d.file(".a.swp")}
		assert.Equal(t, "a-n1 one", <-got)
		assert.Equal(t, 20*time.Second, time.Since(began))
		synctest.Wait()
		d.write("a", podYAML("a", "two"))
		began = time.Now()
		events <- fsnotify.Event{Name: d.file("..data")}
		assert.Equal(t, "a-n1 two", <-got)
		assert.Less(t, time.Since(began), time.Second)
	})
}

// TestRun_I47_DeliversNothingBeforeTheFirstListing: without a delivery the source does not count as seen.
func TestRun_I47_DeliversNothingBeforeTheFirstListing(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d := newDir(t, "later")
		d.source.WatchWith(&manifest.News{Err: errors.New("no watch")})
		got := d.run()
		time.Sleep(time.Hour + time.Second) // Between two scans, or one may see the directory before the file.
		assert.Empty(t, got)
		require.NoError(t, os.Mkdir(d.file("later"), 0o700))
		d.write("later/a", podYAML("a", "one"))
		assert.Equal(t, "a-n1 one", <-got)
		d.remove("later")
		time.Sleep(time.Hour)
		assert.Empty(t, got, "and nothing when it can be listed no more")
	})
}

// TestScan_F36_HungRead: a hung read delays the other files by at most the timeout, and not at all in the next scan.
// The hung file is never read twice at once. When its read returns, the result is used.
func TestScan_F36_HungRead(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		hang, reads := make(chan struct{}), atomic.Int32{}
		files := brokenFS{fstest.MapFS{}, "b", func() error {
			reads.Add(1)
			<-hang
			return nil
		}}
		for _, name := range []string{"a", "b", "c"} {
			files.MapFS[name] = &fstest.MapFile{Data: []byte(podYAML(name, "i"))}
		}
		d := &dir{t: t, path: "."}
		d.open(manifest.Config{FS: files, Path: "."})
		began := time.Now()
		assert.Equal(t, "a-n1 c-n1 incomplete [b:0 unreadable]", d.scan())
		assert.Equal(t, 5*time.Second, time.Since(began))
		assert.Equal(t, "a-n1 c-n1 incomplete", d.scan())
		assert.Equal(t, 5*time.Second, time.Since(began))
		assert.EqualValues(t, 1, reads.Load())
		close(hang)
		synctest.Wait()
		assert.Equal(t, "a-n1 b-n1 c-n1", d.scan())
	})
}

// TestScan_F36_ManyHungReads: the time limits shrink, so that the one good file is delivered within seconds.
func TestScan_F36_ManyHungReads(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		hang := make(chan struct{})
		files := hungFS{fstest.MapFS{"z": {Data: []byte(podYAML("z", "i"))}}, hang}
		for i := range 200 {
			files.MapFS[fmt.Sprintf("a%03d", i)] = &fstest.MapFile{Data: []byte("x")}
		}
		d := &dir{t: t, path: "."}
		d.open(manifest.Config{FS: files, Path: "."})
		began := time.Now()
		assert.True(t, strings.HasPrefix(d.scan(), "z-n1 incomplete"))
		assert.Less(t, time.Since(began), 10*time.Second)
		// The next time they cost no time, and a slow file gets the full limit.
		synctest.Wait() // Who hangs has read the map before it is changed.
		files.MapFS["slow"] = &fstest.MapFile{Data: []byte(podYAML("slow", "i"))}
		assert.True(t, strings.HasPrefix(d.scan(), "slow-n1 z-n1 incomplete"))
		close(hang)
	})
}

// TestScan_F36_HungStat: a file that could not be opened is checked again, because it may be a removed file or a link
// to a missing file. The check may hang too.
func TestScan_F36_HungStat(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		hang := make(chan struct{})
		files := hungLookFS{fstest.MapFS{"b": {Data: []byte(podYAML("b", "i"))}, "a": {}}, hang}
		d := &dir{t: t, path: "."}
		d.open(manifest.Config{FS: files, Path: "."})
		began := time.Now()
		assert.Equal(t, "b-n1 incomplete [a:0 unreadable]", d.scan())
		assert.Equal(t, 5*time.Second, time.Since(began))
		close(hang)
	})
}

// hungLookFS is a file system that fails to open the file a, and hangs in Stat of it.
type hungLookFS struct {
	fstest.MapFS
	hang chan struct{}
}

func (h hungLookFS) Open(name string) (fs.File, error) {
	if name == "a" {
		return nil, &fs.PathError{Op: "open", Path: name, Err: fs.ErrNotExist}
	}
	return h.MapFS.Open(name)
}

func (h hungLookFS) Stat(name string) (fs.FileInfo, error) {
	if name == "a" {
		<-h.hang
	}
	return h.MapFS.Stat(name)
}

// hungFS is a file system, in a bubble, where every file but one hangs, and one is slow.
type hungFS struct {
	fstest.MapFS
	hang chan struct{}
}

// Open is called in a bubble.
func (h hungFS) Open(name string) (fs.File, error) {
	switch name {
	case ".", "z":
	case "slow":
		time.Sleep(3 * time.Second)
	default:
		<-h.hang
	}
	return h.MapFS.Open(name)
}
