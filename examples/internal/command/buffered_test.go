package command

import (
	"errors"
	"fmt"
	"io"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
)

// stuck is a writer whose reader reads nothing before it is let go.
type stuck struct {
	free chan struct{}
	mu   sync.Mutex
	text strings.Builder
}

func (s *stuck) Write(p []byte) (int, error) {
	<-s.free
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.text.Write(p)
}

func reportDropped(to io.Writer, lines int) { fmt.Fprintf(to, "%d lines were dropped\n", lines) }

// TestBuffered_DropsAndCounts: a writer whose reader has stopped keeps no caller waiting and holds a
// bounded text. Accepted lines are written in order, and the dropped lines are counted once.
func TestBuffered_DropsAndCounts(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		to := &stuck{free: make(chan struct{})}
		b := NewBuffered(to, reportDropped)
		line := strings.Repeat("x", 1023) + "\n"
		const fit, over = MaxBuffered / 1024, 5
		begun := time.Now()
		for i := range fit + over {
			n, err := b.Write(fmt.Appendf(nil, "%04d%s", i, line[4:]))
			assert.NoError(t, err)
			assert.Equal(t, 1024, n)
		}
		_, err := b.Write([]byte(line + line))
		assert.NoError(t, err)
		assert.Equal(t, begun, time.Now())
		b.Flush(3 * time.Second)
		assert.Equal(t, 3*time.Second, time.Since(begun))

		close(to.free)
		b.Flush(time.Second)
		got := strings.Split(to.text.String(), "\n")
		assert.Len(t, got, fit+2)
		for i, line := range got[:fit] {
			assert.Equal(t, fmt.Sprintf("%04d", i), line[:4])
		}
		assert.Equal(t, []string{"7 lines were dropped", ""}, got[fit:])

		_, _ = b.Write([]byte("next\n"))
		b.Flush(time.Second)
		assert.True(t, strings.HasSuffix(to.text.String(), "7 lines were dropped\nnext\n"))
		assert.Equal(t, 3*time.Second, time.Since(begun), "nothing else has taken time")
	})
}

// broken is a writer that fails until it is mended.
type broken struct {
	writes int
	mended bool
	text   strings.Builder
}

func (b *broken) Write(p []byte) (int, error) {
	b.writes++
	if !b.mended {
		return 0, errors.New("no space left on device")
	}
	return b.text.Write(p)
}

// TestBuffered_Broken: after a failed write the next one is tried. The lines that were lost are
// counted until a report of them succeeds.
func TestBuffered_Broken(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		to := &broken{}
		b := NewBuffered(to, reportDropped)
		write := func(text string) {
			n, err := b.Write([]byte(text))
			assert.NoError(t, err)
			assert.Equal(t, len(text), n)
			b.Flush(time.Minute)
			synctest.Wait()
		}
		write("a\n")
		assert.Equal(t, 2, to.writes, "the line and the report")
		write("b\nc\n")
		assert.Equal(t, 4, to.writes)
		assert.Zero(t, b.size)
		assert.Nil(t, b.done)

		to.mended = true
		write("d\n")
		write("e\n")
		assert.Equal(t, "d\n3 lines were dropped\ne\n", to.text.String())
	})
}
