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
	// redrawPause is the minimum time between two redraws.
	redrawPause = 100 * time.Millisecond
	// agePeriod is how often the ages of pods are updated.
	agePeriod = time.Second
	// maxAbove bounds the lines that wait while the terminal is paused.
	maxAbove = 1000
)

// liveTable shows the pods of an agent on a terminal: a table with a row for each pod, redrawn in place, below the
// lines of the log and the events.
type liveTable struct {
	term         terminal
	table        *rowPrinter   // formats the cells
	screen       redrawnScreen // used by drawUntilDone only
	redraw       chan struct{}
	roomOrClosed *sync.Cond // signaled when lines were drawn, and when drawUntilDone has returned

	mu struct {
		sync.Mutex
		pods  map[types.UID]node.PodState
		above []string
		lost  int // lines that were dropped
		err   error
		over  bool // drawUntilDone has returned
	}
}

// newLiveTable returns a liveTable that draws on a terminal.
func newLiveTable(t terminal) *liveTable {
	l := &liveTable{term: t, table: newRowPrinter(nil), redraw: make(chan struct{}, 1)}
	l.mu.pods = make(map[types.UID]node.PodState)
	l.roomOrClosed = sync.NewCond(&l.mu)
	return l
}

// updatePod implements podView. It stores the state of a pod, or deletes the pod from the table if the pod is
// gone, and requests a redraw. It does not wait for the redraw: the returned error is the error of an earlier
// draw, or nil.
func (l *liveTable) updatePod(state node.PodState) error {
	l.mu.Lock()
	if state.Gone {
		delete(l.mu.pods, state.Pod.UID)
	} else {
		l.mu.pods[state.Pod.UID] = state
	}
	err := l.mu.err
	l.mu.Unlock()
	l.requestRedraw()
	return err
}

// Write implements io.Writer. It adds lines to be drawn above the table. It never waits for the terminal, and
// drops lines if too many are not drawn yet.
func (l *liveTable) Write(p []byte) (int, error) {
	l.mu.Lock()
	l.addLinesLocked(p)
	l.mu.Unlock()
	l.requestRedraw()
	return len(p), nil
}

// addLinesLocked adds lines that the next draw prints above the table. If too many lines wait already, it drops
// and counts them.
func (l *liveTable) addLinesLocked(p []byte) {
	for line := range strings.Lines(string(p)) {
		if len(l.mu.above) < maxAbove {
			l.mu.above = append(l.mu.above, strings.TrimSuffix(line, "\n"))
		} else {
			l.mu.lost++
		}
	}
}

// blockingLines is a liveTable whose Write waits for the terminal instead of dropping lines. It is for a writer of
// single lines.
type blockingLines struct{ *liveTable }

// Write implements io.Writer. It adds a line to be drawn above the table, and waits while too many lines are
// not drawn yet. It returns the error of an earlier draw.
func (l blockingLines) Write(line []byte) (int, error) {
	l.mu.Lock()
	for len(l.mu.above) >= maxAbove && l.mu.err == nil && !l.mu.over {
		l.roomOrClosed.Wait()
	}
	l.addLinesLocked(line)
	err := l.mu.err
	l.mu.Unlock()
	l.requestRedraw()
	return len(line), err
}

// requestRedraw wakes drawUntilDone, which redraws the table. It does not block.
func (l *liveTable) requestRedraw() {
	select {
	case l.redraw <- struct{}{}:
	default: // A redraw is requested already.
	}
}

// drawUntilDone implements podView. It redraws the table after changes, and every agePeriod, until ctx is done
// or the terminal fails. Then it draws once more and wakes the writers that wait for the terminal.
func (l *liveTable) drawUntilDone(ctx context.Context) {
	ages := time.NewTicker(agePeriod)
	defer ages.Stop()
	defer l.markClosedAndWakeWriters()
	for l.drawOnce() && ctx.Err() == nil {
		sleep(ctx, redrawPause)
		select {
		case <-l.redraw:
		case <-ages.C:
		case <-ctx.Done():
		}
	}
	l.drawOnce()
}

// markClosedAndWakeWriters records that the table draws no more, and wakes the writers that wait for room above
// the table.
func (l *liveTable) markClosedAndWakeWriters() {
	l.mu.Lock()
	l.mu.over = true
	l.mu.Unlock()
	l.roomOrClosed.Broadcast()
}

// sleep waits for d or until ctx is done.
func sleep(ctx context.Context, d time.Duration) {
	ctx, cancel := context.WithTimeout(ctx, d)
	defer cancel()
	<-ctx.Done()
}

// drawOnce draws the waiting lines and the table if something has changed, and wakes the writers that wait for
// room above the table. It returns false if the terminal has failed now or before.
func (l *liveTable) drawOnce() (terminalOK bool) {
	l.mu.Lock()
	above, lost, failed := l.mu.above, l.mu.lost, l.mu.err != nil
	l.mu.above, l.mu.lost = nil, 0
	cells := l.tableCellsLocked()
	l.mu.Unlock()
	l.roomOrClosed.Broadcast()
	if failed {
		return false
	}
	if lost > 0 {
		above = append(above, fmt.Sprintf("... %d lines were dropped while the terminal was paused", lost))
	}
	width, height := l.term.Size()
	text := l.screen.renderIfChanged(above, formatColumns(cells, width), width, height)
	if len(text) == 0 {
		return true
	}
	_, err := l.term.Write(text)
	l.mu.Lock()
	l.mu.err = err
	l.mu.Unlock()
	l.roomOrClosed.Broadcast()
	return err == nil
}

// tableCellsLocked returns the headings and then one row of cells for each pod, sorted by name. It returns nil
// if there are no pods.
func (l *liveTable) tableCellsLocked() [][]string {
	if len(l.mu.pods) == 0 {
		return nil
	}
	states := slices.Collect(maps.Values(l.mu.pods))
	slices.SortStableFunc(states, func(a, b node.PodState) int {
		return cmp.Or(cmp.Compare(nameWithoutDefaultNamespace(a.Pod), nameWithoutDefaultNamespace(b.Pod)), cmp.Compare(a.Pod.UID, b.Pod.UID))
	})
	cells := [][]string{columnHeadings()}
	for _, state := range states {
		cells = append(cells, l.table.rowCells(podRowOf(state), state.Pod))
	}
	return cells
}
