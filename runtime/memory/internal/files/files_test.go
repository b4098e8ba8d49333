package files

import (
	"archive/tar"
	"bytes"
	"fmt"
	"io"
	"io/fs"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// archive has these members, each with its own name as content.
func archive(t *testing.T, names ...string) *bytes.Buffer {
	var b bytes.Buffer
	w := tar.NewWriter(&b)
	for _, name := range names {
		h := &tar.Header{Typeflag: tar.TypeReg, Name: name, Mode: 0o4755, Size: int64(len(name))}
		if strings.HasSuffix(name, "/") {
			h.Typeflag, h.Size = tar.TypeDir, 0
		}
		require.NoError(t, w.WriteHeader(h))
		if h.Size > 0 {
			_, err := io.WriteString(w, name)
			require.NoError(t, err)
		}
	}
	require.NoError(t, w.Close())
	return &b
}

// Pack writes the files that Unpack has read, under the requested names.
func TestTree_Tar(t *testing.T) {
	tree := New(&Quota{}, "/tmp", "relative/../etc/x")
	require.NoError(t, tree.Unpack(archive(t, "a/", "a/b", "/c", "./d", "a/e/f"), "/tmp/in"))
	for asked, want := range map[string]string{
		"/tmp/in":     "tmp/in/ tmp/in/a/ tmp/in/a/b tmp/in/a/e/ tmp/in/a/e/f tmp/in/c tmp/in/d",
		"in/a":        "in/a/ in/a/b in/a/e/ in/a/e/f",
		"in/../in/c":  "in/c",
		"../tmp/in/d": "tmp/in/d",
	} {
		var b bytes.Buffer
		require.NoError(t, tree.Pack(&b, "/tmp", []string{asked}))
		var names []string
		r := tar.NewReader(&b)
		for h, err := r.Next(); err != io.EOF; h, err = r.Next() {
			require.NoError(t, err)
			names = append(names, h.Name)
			assert.EqualValues(t, 0o755, h.Mode, "no setuid")
		}
		assert.Equal(t, want, strings.Join(names, " "))
	}
	var half bytes.Buffer
	require.ErrorIs(t, tree.Pack(&half, "/", []string{"none", "/tmp/in/d"}), fs.ErrNotExist)
	assert.Equal(t, 2*512, half.Len(), "a header and a file, without an end")
	names, err := tree.List("/tmp/in/")
	require.NoError(t, err)
	assert.Equal(t, []string{"a", "c", "d"}, names)
	names, err = tree.List("/")
	require.NoError(t, err)
	assert.Equal(t, []string{"etc", "tmp"}, names)
	_, err = tree.List("/x")
	require.ErrorIs(t, err, fs.ErrNotExist)
	data, err := tree.Read("/tmp/in/a/../a/b")
	require.NoError(t, err)
	assert.Equal(t, "a/b", string(data))
	_, err = tree.Read("/tmp")
	require.EqualError(t, err, "read /tmp: is a directory")
}

// Nothing leads out of the directory; links and devices are left out; the rest is unpacked.
func TestUnpack_Hostile(t *testing.T) {
	tree := New(&Quota{})
	require.EqualError(t, tree.Unpack(archive(t, "../a", "b/../../c", "/../../d", "good"), "/in"),
		"unpack ../a: leads out of the directory\nunpack b/../../c: leads out of the directory\nunpack /../../d: leads out of the directory")
	var b bytes.Buffer
	w := tar.NewWriter(&b)
	for _, h := range []tar.Header{
		{Typeflag: tar.TypeSymlink, Name: "l", Linkname: "/etc/passwd"}, {Typeflag: tar.TypeLink, Name: "h", Linkname: "good"},
		{Typeflag: tar.TypeChar, Name: "c", Devmajor: 1}, {Typeflag: tar.TypeFifo, Name: "f"},
		{Typeflag: tar.TypeDir, Name: "good"}, {Typeflag: tar.TypeReg, Name: "good/x"}, {Typeflag: tar.TypeReg, Name: strings.Repeat("n", 5000)},
	} {
		require.NoError(t, w.WriteHeader(&h))
	}
	require.NoError(t, w.Close())
	err := tree.Unpack(&b, "/in")
	require.Error(t, err)
	assert.Equal(t, 4, strings.Count(err.Error(), "neither a directory nor a regular file"))
	assert.Equal(t, 2, strings.Count(err.Error(), "not a directory"), err)
	assert.Contains(t, err.Error(), "file name too long")
	assert.Less(t, len(err.Error()), 1000)
	names, err := tree.List("/in")
	require.NoError(t, err)
	assert.Equal(t, []string{"good"}, names)
	for _, text := range []string{strings.Repeat("x", 2000), archive(t, "a").String()[:512]} {
		require.Error(t, New(&Quota{}).Unpack(strings.NewReader(text), "/"), "not an archive, or half of one")
	}
}

// endless is an archive of one member after the other.
type endless struct {
	size int64
	n    int
	rest bytes.Buffer
}

func (e *endless) Read(p []byte) (int, error) {
	if e.rest.Len() == 0 {
		w := tar.NewWriter(&e.rest)
		_ = w.WriteHeader(&tar.Header{Typeflag: tar.TypeReg, Name: fmt.Sprint("f", e.n), Size: e.size})
		_, _ = w.Write(make([]byte, min(e.size, 1<<20)))
		e.n++
	}
	return e.rest.Read(p)
}

// zeros is one member of endless zeros.
func zeros() io.Reader {
	var b bytes.Buffer
	_ = tar.NewWriter(&b).WriteHeader(&tar.Header{Typeflag: tar.TypeReg, Name: "huge", Size: 1 << 40})
	return io.MultiReader(&b, nothingButZeros{})
}

type nothingButZeros struct{}

func (nothingButZeros) Read(p []byte) (int, error) { clear(p); return len(p), nil }

// An archive without an end ends where there is no room left; and what a tree has taken it
// gives back.
func TestUnpack_Bounds(t *testing.T) {
	for name, r := range map[string]io.Reader{"files": &endless{size: 1 << 20}, "empty": &endless{}, "one": zeros()} {
		room := &Quota{}
		tree := New(room)
		require.ErrorIs(t, tree.Unpack(r, "/"), ErrFull, name)
		assert.LessOrEqual(t, tree.mu.used, MaxTreeBytes)
		assert.LessOrEqual(t, len(tree.mu.nodes), MaxTreeFiles)
		assert.Equal(t, tree.mu.used, room.mu.used)
		assert.Greater(t, room.mu.used, MaxTreeBytes/20, name)
		tree.Close()
		assert.Zero(t, room.mu.used)
		require.ErrorIs(t, tree.Write("x", nil, 0, time.Time{}), fs.ErrClosed)
		_, err := tree.Read("/huge")
		require.ErrorIs(t, err, fs.ErrNotExist)
	}
	deep := New(&Quota{})
	require.NoError(t, deep.Write(strings.Repeat("/a", 2000), nil, 0, time.Time{}))
	require.NoError(t, deep.Write(strings.Repeat("/c", 2000), nil, 0, time.Time{}))
	require.ErrorIs(t, deep.Write(strings.Repeat("/b", 2047)+"/b", nil, 0, time.Time{}), ErrFull, "directories count")
}

// A room is shared by all trees, and a file that is written again takes its place.
func TestRoom(t *testing.T) {
	room, big := &Quota{}, make([]byte, MaxTreeBytes/2)
	room.mu.used = MaxTotalBytes - MaxTreeBytes
	tree, late := New(room), New(room)
	for range 3 {
		require.NoError(t, tree.Write("/f", big, 0o600, time.Time{}))
	}
	require.ErrorIs(t, tree.Write("/g", big, 0o600, time.Time{}), ErrFull, "of its own")
	require.NoError(t, late.Write("/g", big[:MaxTreeBytes/4], 0o600, time.Time{}))
	require.ErrorIs(t, late.Write("/f", big, 0o600, time.Time{}), ErrFull, "of all")
	tree.Close()
	require.NoError(t, late.Write("/f", big, 0o600, time.Time{}))
}
