package manifest_test

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/podkeel/podkeel/podmanager/source/manifest"
)

func kind(err error) string {
	for _, s := range []struct {
		err  error
		name string
	}{
		{manifest.ErrSyntax, "syntax"}, {manifest.ErrInvalid, "invalid"}, {manifest.ErrEmpty, "empty"},
		{manifest.ErrUnreadable, "unreadable"}, {manifest.ErrNotFile, "not a file"}, {manifest.ErrDuplicate, "duplicate"},
		{manifest.ErrListing, "listing"}, {manifest.ErrNoWatch, "no watch"}, {manifest.ErrEditorsName, "editor"}, {manifest.ErrIgnored, "ignored"},
	} {
		if errors.Is(err, s.err) {
			return s.name
		}
	}
	return "unknown"
}

func TestScan_CF14_AllFilesInOrderOfPath(t *testing.T) {
	d := newDir(t)
	assert.Equal(t, "", d.scan(), "an empty directory is a valid empty set")
	d.write("b.yaml", podYAML("two", "i"))
	d.write("a", podYAML("one", "i"))
	d.write("c.json", `{"apiVersion":"v1","kind":"Pod","metadata":{"name":"three"},"spec":{"containers":[{"name":"c","image":"i"}]}}`)
	assert.Equal(t, "one-n1 two-n1 three-n1", d.scan())
	d.remove("b.yaml")
	assert.Equal(t, "one-n1 three-n1", d.scan(), "gone from a successful listing is gone")
}

func TestScan_F9_HiddenAndTemporaryFilesAreIgnored(t *testing.T) {
	d := newDir(t)
	for _, name := range []string{".a.yaml", "a.yaml~", ".a.yaml.swp", "a.yaml.swp", "a.yaml.tmp", "..data",
		"#a.yaml#", ".#a.yaml", "a.yaml.swx", "4913", "a.yaml.bak", "a.yaml.orig", "a.yaml.rej", "a.yaml___jb_tmp___", "a.yaml___jb_old___", "##"} {
		d.write(name, podYAML("x", "i"))
	}
	assert.Equal(t, "", d.scan())
	for _, name := range []string{"#", "#a", "a#", "4913.yaml", "abak", "bak", "a.bak.yaml"} {
		d.write(name, podYAML("y"+fmt.Sprint(len(name)), "i"))
		assert.NotEmpty(t, d.scan(), name)
		d.remove(name)
	}
}

// TestScan_F9_AutosaveReplacesNoManifest: the autosave file of Emacs sorts before the manifest, and must not replace
// it.
func TestScan_F9_AutosaveReplacesNoManifest(t *testing.T) {
	d := newDir(t)
	d.write("web.yaml", podYAML("web", "i"))
	assert.Equal(t, "web-n1", d.scan())
	before, err := d.source.Scan(t.Context())
	require.NoError(t, err)
	d.write("#web.yaml#", podYAML("web", "j"))
	after, err := d.source.Scan(t.Context())
	require.NoError(t, err)
	require.Len(t, after.Pods, 1)
	assert.Same(t, before.Pods[0], after.Pods[0])
	assert.Zero(t, d.source.Faults().Count)
}

// TestScan_F9_UpgradeKeepsPods: a file with such a name that an earlier version has read is still read, as a fault
// and after all other files. A new file of the same name is ignored.
func TestScan_F9_UpgradeKeepsPods(t *testing.T) {
	d := newDir(t)
	state := filepath.Join(t.TempDir(), "state")
	for name, pod := range map[string]string{"#web.yaml#": "web", "db.bak": "db"} {
		d.write(name, podYAML(pod, "i"))
		require.NoError(t, manifest.KeepAs(state, d.file(name), podYAML(pod, "i")))
	}
	d.write("web.yaml", podYAML("web", "i"))
	d.openKept(state)
	assert.Equal(t, "web-n1 db-n1 [#web.yaml#:0 editor kept] [db.bak:0 editor kept] [#web.yaml#:0 duplicate]", d.scan())
	fault := d.source.Faults().First[2]
	assert.Equal(t, d.file("db.bak")+": its name is that of a file that an editor leaves behind, and new files of such a name are ignored: rename it", fault.String())
	assert.Equal(t, "its pods run as before", fault.Effect)
	assert.Equal(t, "web-n1 db-n1", d.scan(), "told once")
	d.remove("db.bak")
	d.remove("#web.yaml#")
	assert.Equal(t, "web-n1", d.scan())
	assert.Zero(t, d.source.Faults().Count)
}

// TestScan_F34_ContentDecides: unchanged content keeps the same pod objects, so that it is not parsed, copied or
// compared again.
func TestScan_F34_ContentDecides(t *testing.T) {
	d := newDir(t)
	d.write("a", podYAML("a", "i"))
	first, err := d.source.Scan(t.Context())
	require.NoError(t, err)
	d.write("other", podYAML("a", "i"))
	require.NoError(t, os.Rename(d.file("other"), d.file("a")))
	second, err := d.source.Scan(t.Context())
	require.NoError(t, err)
	assert.Same(t, first.Pods[0], second.Pods[0], "renamed over, with other times and another inode")
	d.write("a", podYAML("a", "j"))
	third, err := d.source.Scan(t.Context())
	require.NoError(t, err)
	assert.NotSame(t, first.Pods[0], third.Pods[0])
	assert.NotEqual(t, first.Pods[0].UID, third.Pods[0].UID, "CF-10")
}

// TestScan_F2_LastGoodVersionStays: the last good version stays through every kind of bad version, is reported once for
// each, and is replaced by the next good one.
func TestScan_F2_LastGoodVersionStays(t *testing.T) {
	for name, bad := range map[string]string{
		"half":      "apiVersion: v1\nkind: Po",
		"syntax":    "apiVersion: v1\n\tkind: Pod",
		"invalid":   podYAML("a", `""`),
		"empty":     "",
		"comment":   "# later",
		"binary":    "\x7fELF\x00\x01",
		"UTF-16":    "\xff\xfea\x00",
		"not UTF-8": "name: \xc3\x28",
		"other":     "apiVersion: v1\nkind: Service\nmetadata: {name: a}\n",
		"one of 2":  podYAML("b", "i") + "---\n" + podYAML("c", `""`),
	} {
		t.Run(name, func(t *testing.T) {
			d := newDir(t)
			d.write("a", podYAML("a", "i"))
			d.write("z", podYAML("z", "i"))
			before, err := d.source.Scan(t.Context())
			require.NoError(t, err)
			d.write("a", bad)
			after, err := d.source.Scan(t.Context())
			require.NoError(t, err)
			assert.Equal(t, before, after, "F2, and the rule of absence")
			require.Len(t, d.problems, 1)
			assert.True(t, d.problems[0].Kept)
			assert.Equal(t, d.file("a"), d.problems[0].Path)
			assert.Equal(t, "a-n1 z-n1", d.scan(), "told once")
			d.write("a", podYAML("a", "i"))
			again, err := d.source.Scan(t.Context())
			require.NoError(t, err)
			assert.Same(t, before.Pods[0], again.Pods[0], "the last good version is back, and not even parsed")
			assert.Equal(t, "a-n1 z-n1", d.scan())
			d.write("a", bad)
			assert.Len(t, strings.Fields(d.scan()), 5, "the content has changed, so it is told again")
			d.write("a", podYAML("new", "i"))
			assert.Equal(t, "new-n1 z-n1", d.scan())
			d.write("a", bad)
			d.scan()
			d.remove("a")
			assert.Equal(t, "z-n1", d.scan(), "a listing lacks it")
		})
	}
}

// TestScan_I47_BrokenFromTheStartIsIncomplete: the pods of such a file are unknown.
func TestScan_I47_BrokenFromTheStartIsIncomplete(t *testing.T) {
	d := newDir(t)
	d.write("a", "apiVersion: v1\nkind: Po")
	d.write("b", podYAML("b", "i"))
	assert.Equal(t, "b-n1 incomplete [a:2 invalid]", d.scan())
	assert.Equal(t, "b-n1 incomplete", d.scan())
	d.write("a", podYAML("a", "i"))
	assert.Equal(t, "a-n1 b-n1", d.scan())
	d.write("a", "apiVersion: v1\nkind: Po")
	assert.Equal(t, "a-n1 b-n1 [a:2 invalid kept]", d.scan(), "now there is a last good version")
	d.remove("a")
	assert.Equal(t, "b-n1", d.scan())
}

// TestScan_F31_BrokenThenNoFileThenBroken: a path that is no regular file has no pod, and the same bad file after it
// counts as broken again.
func TestScan_F31_BrokenThenNoFileThenBroken(t *testing.T) {
	d := newDir(t)
	d.write("a", "kind: Po")
	assert.Equal(t, "incomplete [a:1 invalid]", d.scan())
	d.remove("a")
	require.NoError(t, os.Mkdir(d.file("a"), 0o700))
	assert.Equal(t, "[a:0 not a file]", d.scan())
	d.remove("a")
	d.write("a", "kind: Po")
	assert.Equal(t, "incomplete [a:1 invalid]", d.scan())
}

// TestScan_F1_EmptyFileThatNeverHeldAPod: such a file is ignored, and reported once.
func TestScan_F1_EmptyFileThatNeverHeldAPod(t *testing.T) {
	d := newDir(t)
	d.write("a", "")
	d.write("b", "---\n# nothing\n---\n")
	assert.Equal(t, "[a:0 empty] [b:0 empty]", d.scan())
	assert.Equal(t, "", d.scan())
	d.write("a", podYAML("a", "i"))
	assert.Equal(t, "a-n1", d.scan())
	d.write("a", "{apiVersion: v1, kind: List, items: []}")
	assert.Equal(t, "", d.scan(), "an explicit list of nothing is a good version without pods")
	d.write("a", "")
	assert.Equal(t, "[a:0 empty]", d.scan(), "which leaves nothing to keep")
}

// TestScan_F5_TooLarge: even a sparse file of ten gigabytes is read only up to one byte beyond the limit.
func TestScan_F5_TooLarge(t *testing.T) {
	d := newDir(t)
	d.write("a", podYAML("a", "i"))
	d.scan()
	require.NoError(t, os.Truncate(d.file("a"), 10<<30))
	assert.Equal(t, "a-n1 [a:0 syntax kept]", d.scan())
	assert.EqualError(t, d.problems[0].Err, "larger than 10 MiB")
}

// TestScan_F8_DuplicateNames: the first file by path is used, and the other is reported once.
func TestScan_F8_DuplicateNames(t *testing.T) {
	d := newDir(t)
	d.write("b", podYAML("web", "b")+"---\n"+podYAML("more", "i"))
	assert.Equal(t, "web-n1 more-n1", d.scan())
	d.write("a", podYAML("web", "a"))
	d.write("c", podYAML("web", "c"))
	assert.Equal(t, "web-n1 more-n1 [b:0 duplicate] [c:0 duplicate]", d.scan())
	assert.Equal(t, "web", d.problems[0].Pod)
	assert.EqualError(t, d.problems[0].Err, "manifest: duplicate pod: "+d.file("a")+" has a pod default/web-n1")
	snapshot, err := d.source.Scan(t.Context())
	require.NoError(t, err)
	assert.Equal(t, "a", snapshot.Pods[0].Spec.Containers[0].Image)
	assert.Equal(t, "web-n1 more-n1", d.scan())
	d.remove("a")
	assert.Equal(t, "web-n1 more-n1 [c:0 duplicate]", d.scan(), "another owner is another story")
	d.remove("b")
	assert.Equal(t, "web-n1", d.scan())
	d.write("b", podYAML("web", "b"))
	assert.Equal(t, "web-n1 [c:0 duplicate]", d.scan(), "it was resolved, so it is told again")
}

func TestScan_F8_DuplicateUIDs(t *testing.T) {
	d := newDir(t)
	d.write("a", strings.Replace(podYAML("a", "i"), "{name: a", "{uid: u, name: a", 1))
	d.write("b", strings.Replace(podYAML("b", "i"), "{name: b", "{uid: u, name: b", 1))
	assert.Equal(t, "a-n1 [b:0 duplicate]", d.scan())
}

// TestScan_F98_MirrorAnnotation: a mirror pod that was saved as a manifest is a fault of its file, and the running pod
// of that name stays.
func TestScan_F98_MirrorAnnotation(t *testing.T) {
	d := newDir(t)
	d.write("a", podYAML("a", "i"))
	assert.Equal(t, "a-n1", d.scan())
	d.write("a", strings.Replace(podYAML("a", "i"), "{name: a", "{annotations: {kubernetes.io/config.mirror: x}, name: a", 1))
	assert.Equal(t, "a-n1 [a:3 invalid kept]", d.scan())
	assert.Equal(t, `metadata.annotations[kubernetes.io/config.mirror]: "x": expected none, since it marks the mirror pod of a static pod at an API server, which does not run`,
		strings.TrimPrefix(d.source.Faults().First[0].Reason, "line 3: "))
	d.write("b", strings.Replace(podYAML("b", "i"), "{name: b", "{annotations: {kubernetes.io/config.mirror: x}, name: b", 1))
	assert.Equal(t, "a-n1 incomplete [b:3 invalid]", d.scan())
}

// TestScan_F29_DirectoryTroubleKillsNothing: only a successful listing removes a file.
func TestScan_F29_DirectoryTroubleKillsNothing(t *testing.T) {
	d := newDir(t)
	sub := d.file("manifests")
	d.open(manifest.Config{Path: sub})
	assert.Equal(t, "error [manifests:0 listing]", d.scan(), "missing at the start")
	assert.Equal(t, "error", d.scan(), "told once")

	require.NoError(t, os.Mkdir(sub, 0o700))
	d.write("manifests/a", podYAML("a", "i"))
	assert.Equal(t, "a-n1", d.scan())

	require.NoError(t, os.Rename(sub, d.file("away")))
	assert.Equal(t, "a-n1 error [manifests:0 listing kept]", d.scan(), "removed later")
	d.write("manifests", podYAML("b", "i"))
	assert.Equal(t, "a-n1 error [manifests:0 listing kept]", d.scan(), "replaced by a file: another error, so told")
	d.remove("manifests")
	require.NoError(t, os.Rename(d.file("away"), sub))
	assert.Equal(t, "a-n1", d.scan(), "back")
	require.NoError(t, os.Rename(sub, d.file("away")))
	assert.Equal(t, "a-n1 error [manifests:0 listing kept]", d.scan(), "gone again: told again")
	require.NoError(t, os.Mkdir(sub, 0o700))
	assert.Equal(t, "", d.scan(), "an empty directory is empty")
}

func TestScan_SingleFile(t *testing.T) {
	d := newDir(t, "web.yaml")
	d.write("other.yaml", podYAML("other", "i"))
	assert.Equal(t, "error [web.yaml:0 listing]", d.scan(), "a path that never was anything may be mistyped")
	d.write("web.yaml", podYAML("web", "i"))
	assert.Equal(t, "web-n1", d.scan())
	d.write("web.yaml", "")
	assert.Equal(t, "web-n1 [web.yaml:0 empty kept]", d.scan())
	d.remove("web.yaml")
	assert.Equal(t, "", d.scan(), "what holds it can be listed and lacks it")
	d.write("web.yaml", podYAML("web", "i"))
	assert.Equal(t, "web-n1", d.scan())
	require.NoError(t, os.Rename(d.path, d.path+".away"))
	assert.Equal(t, "web-n1 error [web.yaml:0 listing kept]", d.scan(), "what holds it is gone too: an error")
	require.NoError(t, os.Rename(d.path+".away", d.path))
	d.remove("web.yaml")
	require.NoError(t, os.Mkdir(d.file("web.yaml"), 0o700))
	assert.Equal(t, "web-n1 error [web.yaml:0 listing kept]", d.scan(), "F29: a directory in its place")
}

// TestScan_F32_TooManyFiles: a directory with too many names is not listed, so the pods stay.
func TestScan_F32_TooManyFiles(t *testing.T) {
	files := fstest.MapFS{}
	for i := range 3000 {
		files[fmt.Sprintf("f%04d", i)] = &fstest.MapFile{Data: []byte(podYAML(fmt.Sprint("p", i), "i"))}
	}
	d := &dir{t: t, path: "."}
	d.open(manifest.Config{FS: files, Path: ".", MaxFiles: 2999})
	assert.Equal(t, "error [.:0 listing]", d.scan())
	assert.ErrorContains(t, d.problems[0].Err, "more than 2999")
	d.open(manifest.Config{FS: files, Path: "."})
	assert.Len(t, strings.Fields(d.scan()), 3000)
}

// TestScan_F41_EvilLists: a list of a million pods exceeds the bound and changes nothing. A list with one pod less each
// time is used, down to the last pod.
func TestScan_F41_EvilLists(t *testing.T) {
	pods := []string{"a", "b", "c", "d"}
	list := func(names []string) string {
		text := "apiVersion: v1\nkind: PodList\nitems:\n"
		for _, name := range names {
			text += "- {metadata: {name: " + name + "}, spec: {containers: [{name: c, image: i}]}}\n"
		}
		return text
	}
	d := newDir(t)
	d.write("z", podYAML("z", "i"))
	d.write("l", list(pods))
	assert.Equal(t, "a-n1 b-n1 c-n1 d-n1 z-n1", d.scan())
	d.write("l", "apiVersion: v1\nkind: PodList\nitems:\n"+strings.Repeat("- {}\n", 1_000_000))
	assert.Equal(t, "a-n1 b-n1 c-n1 d-n1 z-n1 [l:0 syntax kept]", d.scan())
	assert.EqualError(t, d.problems[0].Err, "more than 200000 fields, items and lines")
	for len(pods) > 1 {
		pods = pods[1:]
		d.write("l", list(pods))
		assert.Equal(t, strings.Join(pods, "-n1 ")+"-n1 z-n1", d.scan())
	}
	d.write("l", "")
	assert.Equal(t, "d-n1 z-n1 [l:0 empty kept]", d.scan(), "which is no list of nothing")
	d.write("l", list(nil)+"  []\n")
	assert.Equal(t, "z-n1", d.scan())
}

// TestScan_FS: examples that are embedded in a program.
func TestScan_FS(t *testing.T) {
	files := fstest.MapFS{
		"examples/a.yaml": {Data: []byte(podYAML("a", "i"))},
		"examples/sub/b":  {Data: []byte(podYAML("b", "i"))},
		"one.yaml":        {Data: []byte(podYAML("one", "i"))},
	}
	d := &dir{t: t, path: "."}
	d.open(manifest.Config{FS: files, Path: "examples"})
	assert.Equal(t, "a-n1 [examples/sub:0 not a file]", d.scan())
	delete(files, "examples/a.yaml")
	assert.Equal(t, "", d.scan())
	d.open(manifest.Config{FS: files, Path: "one.yaml"})
	assert.Equal(t, "one-n1", d.scan())
	delete(files, "one.yaml")
	assert.Equal(t, "", d.scan())
}

// brokenFS is an fs.FS in which one file fails.
type brokenFS struct {
	fstest.MapFS
	file string
	read func() error
}

func (b brokenFS) Open(name string) (fs.File, error) {
	f, err := b.MapFS.Open(name)
	if name == b.file {
		return brokenFile{f, b.read}, err
	}
	return f, err
}

type brokenFile struct {
	fs.File
	read func() error
}

func (b brokenFile) Read(p []byte) (int, error) {
	if err := b.read(); err != nil {
		return 0, err
	}
	return b.File.Read(p)
}

// TestScan_F36_ErrorMidway: a read error keeps the last good version, which is used again without parsing.
func TestScan_F36_ErrorMidway(t *testing.T) {
	var trouble error
	files := brokenFS{fstest.MapFS{"a": {Data: []byte(podYAML("a", "i"))}}, "a", func() error { return trouble }}
	d := &dir{t: t, path: "."}
	d.open(manifest.Config{FS: files, Path: "."})
	trouble = errors.New("input/output error")
	assert.Equal(t, "incomplete [a:0 unreadable]", d.scan())
	assert.Equal(t, "incomplete", d.scan())
	trouble = nil
	assert.Equal(t, "a-n1", d.scan())
	trouble = errors.New("input/output error")
	assert.Equal(t, "a-n1 [a:0 unreadable kept]", d.scan())
	assert.EqualError(t, d.problems[0].Err, "manifest: cannot be read: input/output error")
	trouble = nil
	assert.Equal(t, "a-n1", d.scan())
}

// vanishingFS removes a file just before it is opened.
type vanishingFS struct {
	fstest.MapFS
	armed *bool
}

func (v vanishingFS) Open(name string) (fs.File, error) {
	if *v.armed && name == "a" {
		delete(v.MapFS, "a")
	}
	return v.MapFS.Open(name)
}

// TestScan_F30_VanishedSinceTheListing: the next listing decides whether the file was removed, and nothing is reported
// before.
func TestScan_F30_VanishedSinceTheListing(t *testing.T) {
	armed := false
	d := &dir{t: t, path: "."}
	d.open(manifest.Config{FS: vanishingFS{fstest.MapFS{"a": {Data: []byte(podYAML("a", "i"))}}, &armed}, Path: "."})
	assert.Equal(t, "a-n1", d.scan())
	armed = true
	assert.Equal(t, "a-n1", d.scan())
	assert.Equal(t, "", d.scan())
}

// TestScan_PanicOfAFileSystem: a panic affects one file only.
func TestScan_PanicOfAFileSystem(t *testing.T) {
	files := brokenFS{fstest.MapFS{"a": {Data: []byte(podYAML("a", "i"))}, "b": {Data: []byte(podYAML("b", "i"))}}, "a", func() error { panic("boo") }}
	d := &dir{t: t, path: "."}
	d.open(manifest.Config{FS: files, Path: "."})
	assert.Equal(t, "b-n1 incomplete [a:0 unreadable]", d.scan())
}

func TestNew_NamesEveryFault(t *testing.T) {
	_, err := manifest.New(manifest.Config{NodeName: "a b", Period: -1, ReadTimeout: -1, MaxFiles: -1})
	require.ErrorIs(t, err, manifest.ErrConfig)
	assert.EqualError(t, err, strings.Join([]string{
		`manifest: bad config: NodeName "a b": expected at most 253 lower case letters, digits, '-' and '.', with a letter or digit at both ends of each part`,
		"manifest: bad config: Path is empty",
		"manifest: bad config: Period is negative",
		"manifest: bad config: ReadTimeout is negative",
		"manifest: bad config: MaxFiles is negative",
	}, "\n"))
	_, err = manifest.New(manifest.Config{FS: fstest.MapFS{}, Path: "../x"})
	assert.EqualError(t, err, "manifest: bad config: NodeName is empty\nmanifest: bad config: Path \"../x\" is not a path in an fs.FS")
}

// TestScan_TheLogSaysWhatIsKnown: a message has a line and a pod only if they are known.
func TestScan_TheLogSaysWhatIsKnown(t *testing.T) {
	dir := t.TempDir()
	var out bytes.Buffer
	log := slog.New(slog.NewTextHandler(&out, &slog.HandlerOptions{ReplaceAttr: func(_ []string, a slog.Attr) slog.Attr {
		if a.Key == "path" || a.Key == "line" || a.Key == "pod" || a.Key == "kept" {
			return slog.Attr{Key: a.Key, Value: slog.StringValue(strings.ReplaceAll(a.Value.String(), dir, "DIR"))}
		}
		return slog.Attr{}
	}}))
	s, err := manifest.New(manifest.Config{Path: filepath.Join(dir, "manifests"), NodeName: "n1", Log: log})
	require.NoError(t, err)
	_, err = s.Scan(t.Context())
	require.ErrorIs(t, err, manifest.ErrListing)
	require.NoError(t, os.Mkdir(filepath.Join(dir, "manifests"), 0o700))
	require.NoError(t, os.WriteFile(filepath.Join(dir, "manifests", "a"), []byte(podYAML("web", `""`)), 0o600))
	_, err = s.Scan(t.Context())
	require.NoError(t, err)
	assert.Equal(t, "path=DIR/manifests kept=false\npath=DIR/manifests\npath=DIR/manifests/a line=4 pod=web kept=false\n", out.String())
}
