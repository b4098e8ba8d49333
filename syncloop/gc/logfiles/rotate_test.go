package logfiles_test

import (
	"compress/gzip"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/podkeel/podkeel/syncloop/gc/logfiles"
	"github.com/podkeel/podkeel/syncloop/gc/policy"
)

var (
	now     = time.Date(2026, 1, 1, 0, 1, 30, 0, time.UTC)
	limits  = policy.Logs{MaxBytes: 10, MaxFiles: 4}
	statLog = logfiles.Log{Pod: web, Container: "c", Attempt: 0}
)

const logDirectory = "logs/ns_web_u1/c/"

var errReopen = errors.New("the runtime is unavailable")

// rotation is a log with its writer.
type rotation struct {
	*testing.T
	d    *logfiles.Dir
	top  string
	asks int
	// reopen is what the runtime does; by default it makes a file.
	reopen func(ctx context.Context) error
}

func newRotation(t *testing.T, files ...string) *rotation {
	d, top := logs(t, files...)
	r := &rotation{T: t, d: d, top: top}
	r.reopen = func(context.Context) error { r.write("0.log", ""); return nil }
	return r
}

func (r *rotation) path(name string) string { return filepath.Join(r.top, logDirectory, name) }

func (r *rotation) write(name, content string) {
	r.Helper()
	f, err := os.OpenFile(r.path(name), os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o640)
	require.NoError(r, err)
	_, err = f.WriteString(content)
	require.NoError(r, errors.Join(err, f.Close()))
}

func (r *rotation) rotate(ctx context.Context, at time.Time) error {
	return r.d.Rotate(ctx, statLog, limits, at, func(ctx context.Context) error { r.asks++; return r.reopen(ctx) })
}

// content returns every file with its content, one per line. Links and other files have no content.
func (r *rotation) content() string {
	r.Helper()
	var out strings.Builder
	for _, name := range tree(r.T, filepath.Join(r.top, logDirectory)) {
		text := ""
		if info, err := os.Lstat(r.path(name)); err == nil && info.Mode().IsRegular() {
			f, err := os.Open(r.path(name))
			require.NoError(r, err)
			var from io.Reader = f
			if strings.HasSuffix(name, ".gz") {
				from, err = gzip.NewReader(f)
				require.NoError(r, err)
			}
			b, err := io.ReadAll(from)
			require.NoError(r, errors.Join(err, f.Close()))
			text = string(b)
		}
		fmt.Fprintf(&out, "%s: %s\n", name, text)
	}
	return out.String()
}

// F95: after any number of rotations a log has at most MaxFiles files. In the order of their names
// they contain everything that was written.
func TestRotate_F95(t *testing.T) {
	r := newRotation(t, logDirectory+"1.log", logDirectory+"10.log.20260101-000000", logDirectory+"README")
	require.NoError(t, os.Remove(r.path("README")))
	for i := range 5 {
		r.write("0.log", "small")
		require.NoError(t, r.rotate(t.Context(), now))
		assert.Equal(t, i, r.asks, "it is small enough")
		r.write("0.log", fmt.Sprint(" large ", i))
		require.NoError(t, r.rotate(t.Context(), now.Add(time.Duration(i)*time.Minute)))
	}
	assert.Equal(t, `0.log: `+`
0.log.20260101-000330.gz: small large 2
0.log.20260101-000430.gz: small large 3
0.log.20260101-000530: small large 4
1.log: x
10.log.20260101-000000: x
`, r.content())
	info, err := os.Stat(r.path("0.log.20260101-000430.gz"))
	require.NoError(t, err)
	assert.Equal(t, os.FileMode(0o640), info.Mode().Perm(), "the compressed file has the mode of the log")
}

// F95: a log that cannot be reopened gets its name back, and no output is lost.
func TestRotate_F95_ReopenFails(t *testing.T) {
	r := newRotation(t)
	require.NoError(t, os.MkdirAll(r.path(""), 0o755))
	r.write("0.log", "what there is")
	r.reopen = func(context.Context) error {
		r.write("0.log.20260101-000130", "; and more meanwhile")
		return errReopen
	}
	for range 2 {
		require.ErrorIs(t, r.rotate(t.Context(), now), errReopen)
	}
	assert.Equal(t, "0.log: what there is; and more meanwhile; and more meanwhile\n", r.content())
	assert.Equal(t, 2, r.asks)
}

// F95: after a lost reply the old file does not replace the new one. The runtime is called again,
// so that it does not write to the old file.
func TestRotate_F95_ReplyLost(t *testing.T) {
	for _, again := range []error{nil, errReopen} {
		r := newRotation(t)
		require.NoError(t, os.MkdirAll(r.path(""), 0o755))
		r.write("0.log", "what there is")
		r.reopen = func(context.Context) error {
			r.write("0.log", "new;")
			if r.asks == 1 {
				return errReopen
			}
			return again
		}
		require.ErrorIs(t, r.rotate(t.Context(), now), again)
		assert.Equal(t, "0.log: new;new;\n0.log.20260101-000130: what there is\n", r.content())
	}
}

// The end of the context undoes an incomplete rotation.
func TestRotate_ContextEnds(t *testing.T) {
	r := newRotation(t, logDirectory+"0.log.20260101-000000")
	r.write("0.log", "what there is")
	ctx, cancel := context.WithCancel(t.Context())
	r.reopen = func(ctx context.Context) error { cancel(); return ctx.Err() }
	require.ErrorIs(t, r.rotate(ctx, now), context.Canceled)
	require.ErrorIs(t, r.rotate(ctx, now), context.Canceled)
	assert.Equal(t, 1, r.asks)
	assert.Equal(t, "0.log: what there is\n0.log.20260101-000000: x\n", r.content())
}

// If a log cannot be renamed, the runtime continues to write to it and is not called.
func TestRotate_F95_RenameFails(t *testing.T) {
	r := newRotation(t, logDirectory+"0.log.20260101-000130/d")
	r.write("0.log", "what there is")
	require.Error(t, r.rotate(t.Context(), now))
	assert.Zero(t, r.asks)
	assert.Equal(t, "0.log: what there is\n0.log.20260101-000130/d: x\n", r.content())
	require.NoError(t, r.rotate(t.Context(), now.Add(time.Second)), "another name does")
}

// After a crash: a missing log is reopened, the second name of a log is removed, and an incomplete
// compression is repeated.
func TestRotate_F95_AfterACrash(t *testing.T) {
	r := newRotation(t)
	require.NoError(t, os.MkdirAll(r.path(""), 0o755))
	r.write("0.log.20260101-000000", "crashed before the reopening")
	due, err := r.d.Due(statLog, limits.MaxBytes)
	require.NoError(t, err)
	assert.True(t, due)
	require.NoError(t, r.rotate(t.Context(), now))
	assert.Equal(t, "0.log: \n0.log.20260101-000000: crashed before the reopening\n", r.content())

	r.write("0.log", "crashed while it was given back")
	require.NoError(t, os.Link(r.path("0.log"), r.path("0.log.20260101-000010")))
	r.write("0.log.20260101-000000.tmp", "crashed while it was compressed")
	require.NoError(t, r.rotate(t.Context(), now))
	assert.Equal(t, `0.log: `+`
0.log.20260101-000000.gz: crashed before the reopening
0.log.20260101-000130: crashed while it was given back
`, r.content())

	r.write("0.log.20260101-000000", "crashed after it was compressed")
	r.write("0.log", "what there is")
	require.NoError(t, r.rotate(t.Context(), now.Add(time.Minute)))
	assert.Equal(t, `0.log: `+`
0.log.20260101-000000.gz: crashed before the reopening
0.log.20260101-000130.gz: crashed while it was given back
0.log.20260101-000230: what there is
`, r.content())
}

// A runtime that reports a reopened log that does not exist gets an error.
func TestRotate_F95_Lost(t *testing.T) {
	r := newRotation(t, logDirectory+"1.log")
	r.reopen = func(context.Context) error { return nil }
	require.ErrorIs(t, r.rotate(t.Context(), now), logfiles.ErrLogMissing)
	r.reopen = func(context.Context) error { return errReopen }
	require.ErrorIs(t, r.rotate(t.Context(), now), errReopen)
	assert.Equal(t, "1.log: x\n", r.content())
}

// What cannot be compressed stays as it is, leaves nothing behind, and is no reason
// not to rotate: a full disk is one more.
func TestRotate_F95_NoRoomToCompress(t *testing.T) {
	r := newRotation(t, logDirectory+"0.log.20260101-000000.tmp/d")
	r.write("0.log.20260101-000000", "old")
	r.write("0.log", "what there is")
	require.ErrorIs(t, r.rotate(t.Context(), now), logfiles.ErrRotationIncomplete)
	assert.Equal(t, `0.log: `+`
0.log.20260101-000000: old
0.log.20260101-000000.tmp/d: x
0.log.20260101-000130: what there is
`, r.content())
}

// The temporary file of a failed compression is removed.
func TestRotate_F95_NoRestOfACompression(t *testing.T) {
	r := newRotation(t, logDirectory+"0.log.20260101-000000.gz/d")
	r.write("0.log.20260101-000000", "old")
	r.write("0.log", "what there is")
	require.ErrorIs(t, r.rotate(t.Context(), now), logfiles.ErrRotationIncomplete)
	assert.Equal(t, []string{"0.log", "0.log.20260101-000000", "0.log.20260101-000000.gz/d", "0.log.20260101-000130"}, tree(t, r.path("")))
}

// Links are not followed, whichever program has created them: neither to directories nor to
// files, neither the log nor one that was rotated. What they point to is as it was.
func TestRotate_F95_Links(t *testing.T) {
	r := newRotation(t, "away/secret", "away/0.log")
	r.reopen = func(context.Context) error { r.Error("the runtime would follow it"); return nil }
	require.NoError(t, os.WriteFile(filepath.Join(r.top, "away/0.log"), []byte("somebody else's log"), 0o600))
	require.NoError(t, os.MkdirAll(filepath.Join(r.top, "logs/ns_web_u1"), 0o755))
	require.NoError(t, os.Symlink("../../away", filepath.Join(r.top, "logs/ns_web_u1/c")))
	_, err := r.d.Due(statLog, limits.MaxBytes)
	require.Error(t, err)
	require.Error(t, r.rotate(t.Context(), now))

	require.NoError(t, os.Remove(filepath.Join(r.top, "logs/ns_web_u1/c")))
	require.NoError(t, os.Mkdir(r.path(""), 0o755))
	require.NoError(t, os.Symlink("../../../away/0.log", r.path("0.log")))
	_, err = r.d.Due(statLog, limits.MaxBytes)
	require.ErrorIs(t, err, logfiles.ErrNotRegular)
	require.ErrorIs(t, r.rotate(t.Context(), now), logfiles.ErrNotRegular)

	require.NoError(t, os.Remove(r.path("0.log")))
	require.NoError(t, os.Symlink("../../../away/secret", r.path("0.log.20260101-000000")))
	require.NoError(t, os.Symlink("0.log", r.path("0.log.20260101-000010")))
	require.NoError(t, os.Symlink("../../../away/planted", r.path("0.log.20260101-000130.tmp")))
	r.reopen = func(context.Context) error { r.write("0.log", ""); return nil }
	for i := range 2 {
		r.write("0.log", "what there is")
		_ = r.rotate(t.Context(), now.Add(time.Duration(i)*time.Minute)) // The second one meets the link in its way.
	}
	assert.ElementsMatch(t, []string{"0.log", "secret"}, tree(t, filepath.Join(r.top, "away")))
	for name, want := range map[string]string{"secret": "x", "0.log": "somebody else's log"} {
		got, err := os.ReadFile(filepath.Join(r.top, "away", name))
		require.NoError(t, err)
		assert.Equal(t, want, string(got))
	}
}

// GC-9, KC-17: everything that a rotation makes is removed with the attempt, and
// counts as one (KC-2).
func TestRotate_GC9_KC2_WhatItMakesGoesWithTheAttempt(t *testing.T) {
	r := newRotation(t, logDirectory+"1.log", logDirectory+"0.log.20260101-000000.tmp")
	for i := range 3 {
		r.write("0.log", "what there is")
		require.NoError(t, r.rotate(t.Context(), now.Add(time.Duration(i)*time.Minute)))
	}
	require.NoError(t, r.d.RemoveAttempts(web, "c", []uint32{1}))
	assert.Equal(t, "1.log: x\n", r.content())
}
