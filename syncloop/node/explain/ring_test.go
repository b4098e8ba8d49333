package explain_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"

	"github.com/podkeel/podkeel/syncloop/node/explain"
)

// TestRing: the last entries stay, in order, and what repeats itself is counted.
func TestRing(t *testing.T) {
	var r explain.Ring
	assert.Empty(t, r.Entries())
	for i := range 100 {
		r.Add(explain.Entry{At: epoch.Add(time.Duration(i) * time.Second), What: "sync", Text: fmt.Sprint(i / 2)})
		all := r.Entries()
		assert.Len(t, all, min(i/2+1, explain.RingSize))
		for j, e := range all {
			assert.Equal(t, fmt.Sprint(i/2-len(all)+1+j), e.Text)
		}
		last := all[len(all)-1]
		assert.Equal(t, epoch.Add(time.Duration(i)*time.Second), last.At, "the last time counts")
		assert.Equal(t, []int{0, 2}[i%2], last.Times)
	}
	all := r.Entries()
	all[0].Text = "changed"
	assert.NotEqual(t, all, r.Entries(), "the caller's own")
}

// TestRing_Bounded: texts are cut to a maximum length, and contain no control characters.
func TestRing_Bounded(t *testing.T) {
	var r explain.Ring
	r.Add(explain.Entry{Text: strings.Repeat("\u00e9", 4000), Err: "a\r\nb\x1b[2Jc\x00\xff"})
	e := r.Entries()[0]
	assert.Equal(t, strings.Repeat("\u00e9", explain.MaxText/2)+"...", e.Text)
	assert.Equal(t, "a; b [2Jc ?", e.Err)
	for text, want := range map[string]string{
		strings.Repeat("x", explain.MaxText):             strings.Repeat("x", explain.MaxText),
		strings.Repeat("x", explain.MaxText+1):           strings.Repeat("x", explain.MaxText) + "...",
		"x" + strings.Repeat("\u00e9", 4000):             "x" + strings.Repeat("\u00e9", explain.MaxText/2-1) + "...",
		"\x1b[2J" + strings.Repeat("x", explain.MaxText): " [2J" + strings.Repeat("x", explain.MaxText-4) + "...",
	} {
		var r explain.Ring
		r.Add(explain.Entry{Text: text})
		assert.Equal(t, want, r.Entries()[0].Text, "cut between characters, after what moves a cursor is left out")
	}
}
