package main

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/types"

	"github.com/podkeel/podkeel/syncloop/node"
)

const (
	// redrawPause is the least time between two draws.
	redrawPause = 100 * time.Millisecond
	// agePeriod is how often the ages move.
	agePeriod = time.Second
	// maxAbove bounds the lines that wait for a terminal which is paused.
	maxAbove = 1000
)

// live shows an agent on a terminal: a table with a row for each pod,
// redrawn in its place, below the lines of the log and the events.
type live struct {
	term   terminal
	table  *table // its cells
	screen screen // of run
	wake   chan struct{}
	room   *sync.Cond // of mu: lines were drawn, or run has ended

	mu struct {
		sync.Mutex
		pods  map[types.UID]node.PodState
		above []string
		lost  int // lines for which there was no room
		err   error
		over  bool // run has ended
	}
}

func newLive(t terminal) *live {
	l := &live{term: t, table: newTable(nil), wake: make(chan struct{}, 1)}
	l.mu.pods = make(map[types.UID]node.PodState)
	l.room = sync.NewCond(&l.mu)
	return l
}

// show implements face. The error is that of an earlier draw.
func (l *live) show(state node.PodState) error {
	l.mu.Lock()
	if state.Gone {
		delete(l.mu.pods, state.Pod.UID)
	} else {
		l.mu.pods[state.Pod.UID] = state
	}
	err := l.mu.err
	l.mu.Unlock()
	l.changed()
	return err
}

// Write takes lines to be shown above the table. It never waits for the
// terminal.
func (l *live) Write(p []byte) (int, error) {
	l.mu.Lock()
	l.addLocked(p)
	l.mu.Unlock()
	l.changed()
	return len(p), nil
}

func (l *live) addLocked(p []byte) {
	for line := range strings.Lines(string(p)) {
		if len(l.mu.above) < maxAbove {
			l.mu.above = append(l.mu.above, strings.TrimSuffix(line, "\n"))
		} else {
			l.mu.lost++
		}
	}
}

// patient is a live for a writer of single lines that may wait for the terminal: none is lost
// before run has ended.
type patient struct{ *live }

// Write implements io.Writer. The error is that of an earlier draw.
func (l patient) Write(line []byte) (int, error) {
	l.mu.Lock()
	for len(l.mu.above) >= maxAbove && l.mu.err == nil && !l.mu.over {
		l.room.Wait()
	}
	l.addLocked(line)
	err := l.mu.err
	l.mu.Unlock()
	l.changed()
	return len(line), err
}

// changed asks for a draw.
func (l *live) changed() {
	select {
	case l.wake <- struct{}{}:
	default: // It is asked for already.
	}
}

// run implements face: it draws whenever there is something new, until ctx ends
// or the terminal is gone, and then once more.
func (l *live) run(ctx context.Context) {
	ages := time.NewTicker(agePeriod)
	defer ages.Stop()
	defer l.end()
	for l.draw() && ctx.Err() == nil {
		pause(ctx, redrawPause)
		select {
		case <-l.wake:
		case <-ages.C:
		case <-ctx.Done():
		}
	}
	l.draw()
}

// end lets go of those who wait for room.
func (l *live) end() {
	l.mu.Lock()
	l.mu.over = true
	l.mu.Unlock()
	l.room.Broadcast()
}

func pause(ctx context.Context, d time.Duration) {
	ctx, cancel := context.WithTimeout(ctx, d)
	defer cancel()
	<-ctx.Done()
}

// draw is false if the terminal is gone.
func (l *live) draw() bool {
	l.mu.Lock()
	above, lost, gone := l.mu.above, l.mu.lost, l.mu.err != nil
	l.mu.above, l.mu.lost = nil, 0
	cells := l.cellsLocked()
	l.mu.Unlock()
	l.room.Broadcast()
	if gone {
		return false
	}
	if lost > 0 {
		above = append(above, fmt.Sprintf("... %d lines are lost, as the terminal was paused", lost))
	}
	width, height := l.term.Size()
	text := l.screen.draw(above, layout(cells, width), width, height)
	if len(text) == 0 {
		return true
	}
	_, err := l.term.Write(text)
	l.mu.Lock()
	l.mu.err = err
	l.mu.Unlock()
	l.room.Broadcast()
	return err == nil
}

// cellsLocked is the table, in order of name. There is none without pods.
func (l *live) cellsLocked() [][]string {
	if len(l.mu.pods) == 0 {
		return nil
	}
	states := slices.Collect(maps.Values(l.mu.pods))
	slices.SortStableFunc(states, func(a, b node.PodState) int {
		return cmp.Or(cmp.Compare(displayName(a.Pod), displayName(b.Pod)), cmp.Compare(a.Pod.UID, b.Pod.UID))
	})
	cells := [][]string{heading()}
	for _, state := range states {
		cells = append(cells, l.table.cells(lineOf(state), state.Pod))
	}
	return cells
}
