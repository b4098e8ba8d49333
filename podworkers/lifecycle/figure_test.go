package lifecycle_test

import (
	"slices"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/podkeel/podkeel/internal/figure"
	"github.com/podkeel/podkeel/podworkers/lifecycle"
)

// unknownStage stands for the stage of a pod without a record.
const unknownStage = "unknown"

// move is a change of a pod's stage.
type move struct{ from, to string }

// drawnMove is an arrow of the figure. lane is the place of its vertical line; 0 is between the boxes.
type drawnMove struct {
	move
	lane  int
	label string
}

var drawnMoves = []drawnMove{
	{move{"unknown", "syncing"}, 0, "a source delivers the pod"},
	{move{"syncing", "requested"}, 0, "termination requested"},
	{move{"requested", "terminating"}, 0, "a worker starts the termination"},
	{move{"terminating", "terminated"}, 0, "containers stopped"},
	{move{"terminated", "finished"}, 0, "cleanup done"},
	{move{"unknown", "requested"}, 120, "deleted, or no source"},
	{move{"terminating", "unknown"}, 90, "stopped, no source"},
	{move{"unknown", "terminated"}, 60, "terminal, nothing runs"},
	{move{"finished", "unknown"}, 30, "removed by its source"},
	{move{"syncing", "terminating"}, 750, "SyncPod reports: completed"},
	{move{"finished", "syncing"}, 780, "next incarnation"},
}

// observedMoves returns the changes of the stage in the stories of TestTable_2_23, each continued until the pod
// is at rest. It skips pods that were never started and end at once. An incarnation that ends in the call which
// starts the next one counts as finished.
func observedMoves(t *testing.T) map[move]bool {
	moves := map[move]bool{}
	for _, r := range rows {
		w := newHarness()
		before, from := w.t.View("a"), unknownStage
		for _, line := range append(slices.Clone(states[r.from]), r.input, "start a", "done a succeeded", "start a", "done a succeeded") {
			_, err := w.runLine(line)
			require.NoError(t, err, line)
			after, to := w.t.View("a"), unknownStage
			if after.Known {
				to = after.Stage.String()
			}
			switch {
			case from == to || before.Known && !before.Started && (!after.Known || to == "finished"):
			case from == "terminated" && before.Incarnation != after.Incarnation:
				moves[move{from, "finished"}], moves[move{"finished", to}] = true, true
			default:
				moves[move{from, to}] = true
			}
			before, from = after, to
		}
	}
	return moves
}

// TestFigure_Stages: the figure has exactly the moves that the table makes.
func TestFigure_Stages(t *testing.T) {
	drawn := map[move]bool{}
	for _, m := range drawnMoves {
		drawn[m.move] = true
	}
	assert.Equal(t, observedMoves(t), drawn)
	figure.AssertFile(t, "../../internal/figure/stages.svg", drawStages())
}

// drawStages draws the stages from top to bottom, with the calls to the PodSyncer in each.
func drawStages() *figure.Figure {
	const left, width, height, top, step = 280, 280, 46, 16, 84
	stages := []string{unknownStage}
	for s := range lifecycle.Stages {
		stages = append(stages, lifecycle.Stage(s).String())
	}
	calls := []string{"no record", lifecycle.SyncPod.String(), lifecycle.SyncPod.String() + " may still run", lifecycle.SyncTerminatingPod.String(), lifecycle.SyncTerminatedPod.String(), "no call"}
	fills := []string{"#f6f8fa", "#cdeed8", "#e7dcf8", "#e7dcf8", "#d5f0f2", "#cfe5fb"}
	legend := []string{
		"No source: only the runtime shows the pod, for example because its manifest was removed while no agent ran.",
		"Deleted: the source delivers the pod with a deletionTimestamp. Terminal: with the phase Succeeded or Failed.",
		"If a pod is removed before its first call and has no containers, it becomes unknown, or finished if it is static.",
		"Next incarnation: the UID was removed and delivered again. If the old pod has no source, it follows terminating.",
	}
	p := figure.New(800, top+step*len(stages)-4+18*len(legend), "The stages of a pod and its moves between them", figure.Paper)
	for i, stage := range stages {
		y := top + step*i
		p.DrawBox(left, y, width, height, fills[i], figure.Dim)
		p.DrawText(left+14, y+28, figure.Ink, stage, `font-weight="600"`)
		p.DrawText(left+width-14, y+28, figure.Ink, calls[i], `font-size="12" text-anchor="end"`)
	}
	for _, m := range drawnMoves {
		from, to := slices.Index(stages, m.from), slices.Index(stages, m.to)
		port := min(m.lane, 840-m.lane) * 3 / 10 // Inner lanes start and end lower.
		fromY, toY := top+step*from+port, top+step*to+port
		switch {
		case m.lane == 0:
			p.DrawArrow(figure.Dim, figure.Point{X: left + 30, Y: top + step*from + height}, figure.Point{X: left + 30, Y: top + step*to})
			p.DrawText(left+42, top+step*to-14, figure.Dim, m.label, `font-size="12"`)
		case m.lane < left:
			p.DrawArrow(figure.Dim, figure.Point{X: left, Y: fromY}, figure.Point{X: m.lane, Y: fromY}, figure.Point{X: m.lane, Y: toY}, figure.Point{X: left, Y: toY})
			p.DrawText(m.lane+8, max(fromY, toY)-10, figure.Dim, m.label, `font-size="12"`)
		default:
			p.DrawArrow(figure.Dim, figure.Point{X: left + width, Y: fromY}, figure.Point{X: m.lane, Y: fromY}, figure.Point{X: m.lane, Y: toY}, figure.Point{X: left + width, Y: toY})
			p.DrawText(m.lane-8, max(fromY, toY)-10, figure.Dim, m.label, `font-size="12" text-anchor="end"`)
		}
	}
	for i, line := range legend {
		p.DrawText(30, top+step*len(stages)-10+18*i, figure.Dim, line, `font-size="12"`)
	}
	return p
}
