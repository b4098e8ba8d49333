package crilog_test

import (
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/podkeel/podkeel/runtime/cri/internal/crilog"
)

func decode(d *crilog.Decoder, file string) string {
	return string(d.End(d.Feed(nil, []byte(file))))
}

const at = "2026-11-21T12:00:00.000000001Z "

func TestParse(t *testing.T) {
	when := time.Date(2026, 11, 21, 12, 0, 0, 1, time.UTC)
	for line, want := range map[string]crilog.Entry{
		at + "stdout F hello":        {At: when, Full: true, Text: []byte("hello")},
		at + "stderr F  a  b ":       {At: when, Stream: crilog.Stderr, Full: true, Text: []byte(" a  b ")},
		at + "stdout P part":         {At: when, Text: []byte("part")},
		at + "stdout P:x:y tagged":   {At: when, Text: []byte("tagged")},
		at + "stdout F ":             {At: when, Full: true, Text: []byte("")},
		at + "stdout F":              {At: when, Full: true},
		at + "stdout F bell\a\xff\r": {At: when, Full: true, Text: []byte("bell\a\xff\r")},
	} {
		e, ok := crilog.Parse([]byte(line))
		require.True(t, ok, line)
		assert.Equal(t, want, e, line)
	}
	e, ok := crilog.Parse([]byte("2026-11-21T14:00:00+02:00 stdout F x"))
	require.True(t, ok)
	assert.True(t, e.At.Equal(when.Add(-1)))
	for _, line := range []string{
		"", " ", "hello", at, at + "stdout", at + "stdin F x", at + "stdout X x", at + "stdout  F x", at + "stdout FP x",
		"12:00 stdout F x", `{"log":"x","stream":"stdout"}`, "stdout F x", at + " stdout F x",
	} {
		_, ok := crilog.Parse([]byte(line))
		assert.False(t, ok, line)
	}
}

func TestDecoder_JoinsThePiecesOfEachStream(t *testing.T) {
	file := at + "stdout P one, \n" + at + "stderr P two, \n" + at + "stdout P one, \n" + at + "stderr F two\n" + at + "stdout F one\n" + at + "stdout F three\n"
	assert.Equal(t, "two, two\none, one, one\nthree\n", decode(&crilog.Decoder{}, file))
}

func TestDecoder_LeavesOutWhatIsNoLine(t *testing.T) {
	assert.Equal(t, "a\nb\n", decode(&crilog.Decoder{}, "half a line\n"+at+"stdout F a\n\n\x00\x00\n"+at+"stdout F b\n"))
}

func TestDecoder_TornLine(t *testing.T) {
	var d crilog.Decoder
	out := d.Feed(nil, []byte(at+"stdout F a\n"+at+"stdout F b"))
	assert.Equal(t, "a\n", string(out), "it may go on")
	assert.Equal(t, "b", string(d.End(nil)), "it does not go on")
	assert.Empty(t, d.End(nil))
	d.Feed(nil, []byte(at+"stdout F lo"))
	d.DiscardPartialLine()
	assert.Equal(t, "c\n", string(d.Feed(nil, []byte(at+"stdout F c\n"))), "another file begins with a line of its own")
	d.Feed(nil, []byte(at+"stdout P begun"))
	d.Feed(nil, []byte("\n"+at+"std"))
	assert.Equal(t, "begun", string(d.End(nil)))
}

func TestDecoder_Since(t *testing.T) {
	line := func(second, rest string) string { return "2026-11-21T12:00:0" + second + "Z " + rest + "\n" }
	file := line("1", "stdout F old") + line("1", "stderr P too ") + line("2", "stdout F new") + line("3", "stderr F old") + line("3", "stderr F newer")
	d := crilog.Decoder{Since: time.Date(2026, 11, 21, 12, 0, 2, 0, time.UTC)}
	assert.Equal(t, "new\nnewer\n", decode(&d, file))
}

// However long lines are, no more than so much is held, and the next line is read
// as it is.
func TestDecoder_IsBounded(t *testing.T) {
	var d crilog.Decoder
	long := strings.Repeat("x", 64<<10)
	out := d.Feed(nil, []byte(at+"stdout F "))
	for range 64 {
		out = d.Feed(out, []byte(long))
	}
	assert.Empty(t, out)
	out = d.Feed(out, []byte("\n"+at+"stdout F next\n"))
	assert.Len(t, out, 1<<20-len(at+"stdout F ")+len("\nnext\n"))
	assert.True(t, strings.HasSuffix(string(out), "x\nnext\n"))
	assert.Len(t, d.Feed(nil, []byte(at+"stdout F "+strings.Repeat("y", 3<<20)+"\n")), 1<<20-len(at+"stdout F ")+1, "in one piece too")

	total := 0
	for range 40 {
		out = d.Feed(nil, []byte(at+"stderr P "+long+"\n"))
		total += len(out)
	}
	assert.Positive(t, total, "a line without an end is not held for ever")
	total += len(d.Feed(nil, []byte(at+"stderr F \n")))
	assert.Equal(t, 40*len(long)+1, total, "and nothing of it is lost")
}

// A line of the container is held back up to 1 MiB of it, whole pieces only.
func TestDecoder_HoldsAMebibyte(t *testing.T) {
	for size, want := range map[int]int{1 << 19: 0, 1<<19 + 1: 1<<20 + 1} {
		var d crilog.Decoder
		out := d.Feed(nil, []byte(at+"stdout P "+strings.Repeat("x", 1<<19)+"\n"))
		require.Empty(t, out)
		assert.Len(t, d.Feed(nil, []byte(at+"stdout P "+strings.Repeat("x", size)+"\n")), want)
		assert.Equal(t, 1<<19+size-want+len("end\n"), len(d.Feed(nil, []byte(at+"stdout F end\n"))), "the rest comes with the end")
	}
}

func FuzzDecoder(f *testing.F) {
	f.Add([]byte(at+"stdout P a\n"+at+"stderr F b\n"+at+"stdout F c\ntorn"), 3)
	f.Add([]byte("\n\n"+at+"stdout F:x \n"), 1)
	f.Fuzz(func(t *testing.T, file []byte, cut int) {
		var whole, pieces crilog.Decoder
		want := string(whole.End(whole.Feed(nil, file)))
		cut = min(max(cut, 1), 1<<16)
		var got []byte
		for rest := file; len(rest) > 0; {
			n := min(cut, len(rest))
			got = pieces.Feed(got, rest[:n:n])
			rest = rest[n:]
		}
		got = pieces.End(got)
		if string(got) != want {
			t.Fatalf("in pieces of %d it is %q, and in one %q", cut, got, want)
		}
		if len(want) > len(file) {
			t.Fatalf("%d bytes have become %d", len(file), len(want))
		}
	})
}

// A time is given once for each line of the container, and none for one that is left out.
func TestDecoder_Timestamps(t *testing.T) {
	file := "2026-11-21T12:00:01Z stderr P old\n" + at + "stdout P a\n" + "2026-11-21T12:00:01Z stdout F b\n" + "2026-11-21T14:00:02.5+02:00 stdout F \n" + at + "stdout P torn"
	stamp := func(d crilog.Decoder) string {
		d.Timestamps = "2006-01-02T15:04:05.000000000Z07:00 "
		return decode(&d, file)
	}
	assert.Equal(t, "2026-11-21T12:00:00.000000001Z ab\n2026-11-21T14:00:02.500000000+02:00 \n2026-11-21T12:00:00.000000001Z torn2026-11-21T12:00:01.000000000Z old", stamp(crilog.Decoder{}))
	assert.Equal(t, "2026-11-21T14:00:02.500000000+02:00 \n", stamp(crilog.Decoder{Since: time.Date(2026, 11, 21, 12, 0, 2, 0, time.UTC)}))
}
