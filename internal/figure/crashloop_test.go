package figure_test

import (
	"flag"
	"fmt"
	"os"
	"regexp"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/stretchr/testify/require"
	v1 "k8s.io/api/core/v1"

	"github.com/podkeel/podkeel/internal/figure"
	"github.com/podkeel/podkeel/syncloop/nodetest"
	"github.com/podkeel/podkeel/syncloop/timeline"
)

var _ = flag.Bool("rewrite", false, "rewrite the figures; look at them, and review the difference")

// TestFigure_CrashLoop draws the timeline of a pod whose container exits after eight seconds each time, on a
// simulated node.
func TestFigure_CrashLoop(t *testing.T) {
	s := nodetest.New(t, nodetest.Config{Timelines: true})
	pod := &v1.Pod{Spec: v1.PodSpec{Containers: []v1.Container{{Name: "app", Image: "app:1", Command: []string{"sh", "-c", "sleep 8; exit 1"}}}}}
	pod.Name, pod.UID = "web", "web"
	s.Apply(pod)
	s.Run(58 * time.Second)
	s.Delete("web")
	s.Run(2 * time.Second)
	s.Stop()
	drawn := s.Timelines()
	require.Len(t, drawn, 1)
	figure.AssertFile(t, "crashloop.svg", drawTimeline(t, drawn[0]))
}

// Sizes of a drawing of a timeline.
const (
	nameWidth, trackWidth = 120, 760
	rowHeight, axisHeight = 26, 34
)

// drawTimeline draws each lane with its bars, in the light colours of package page.
func drawTimeline(t *testing.T, line timeline.Timeline) *figure.Figure {
	style, err := os.ReadFile("../../syncloop/timeline/page/style.css")
	require.NoError(t, err)
	colour := func(class timeline.Class, part string) string {
		found := regexp.MustCompile(fmt.Sprintf("--%s-%s:(#[0-9a-f]+)", class, part)).FindSubmatch(style)
		require.NotNil(t, found, class)
		return string(found[1])
	}
	height := axisHeight + 8
	for _, lane := range line.Lanes {
		height += lane.Rows*rowHeight + 8
	}
	p := figure.New(nameWidth+trackWidth+20, height, "Timeline of pod "+line.Pod+" in a crash loop", figure.Paper)
	x := func(at time.Time) int {
		return nameWidth + int(int64(trackWidth)*int64(at.Sub(line.From))/int64(line.To.Sub(line.From)))
	}
	p.DrawText(12, 22, figure.Ink, line.Pod, `font-weight="600"`)
	for at := line.From; !at.After(line.To); at = at.Add(10 * time.Second) {
		p.DrawLine("#e3e6ea", figure.Point{X: x(at), Y: 10}, figure.Point{X: x(at), Y: height - 8})
		p.DrawText(x(at)+4, 22, figure.Dim, at.Sub(line.From).String(), `font-size="11"`)
	}
	y := axisHeight
	for _, lane := range line.Lanes {
		p.DrawLine("#e3e6ea", figure.Point{X: 1, Y: y}, figure.Point{X: nameWidth + trackWidth + 19, Y: y})
		p.DrawText(12, y+21, figure.Ink, lane.Name, "")
		for i, b := range lane.Bars {
			fill, edge, top := colour(b.Class, "fill"), colour(b.Class, "edge"), y+4+b.Row*rowHeight
			left, width := x(b.From), x(b.To)-x(b.From)
			if b.IsPoint() {
				p.DrawBox(left-5, top+7, 10, 10, fill, edge)
			} else {
				p.DrawBox(left, top, max(width, 2), rowHeight-2, fill, edge)
			}
			if !b.IsPoint() {
				p.DrawText(left+6, top+16, colour(b.Class, "text"), cutLabel(b.Label, (width-12)/6), `font-size="11"`)
			} else {
				drawPointLabel(p, lane, i, x, top+16)
			}
		}
		y += lane.Rows*rowHeight + 8
	}
	return p
}

// cutLabel returns the label, cut to a number of characters. It returns "" if fewer than four fit.
func cutLabel(label string, most int) string {
	switch {
	case utf8.RuneCountInString(label) <= most:
		return label
	case most < 4:
		return ""
	default:
		return string([]rune(label)[:most-1]) + "…"
	}
}

// drawPointLabel draws the label of a bar without a duration on its right, if the next bar leaves the space.
func drawPointLabel(p *figure.Figure, lane timeline.Lane, i int, x func(time.Time) int, y int) {
	b, free := lane.Bars[i], nameWidth+trackWidth
	if i+1 < len(lane.Bars) {
		free = x(lane.Bars[i+1].From)
	}
	if left := x(b.From) + 9; left+utf8.RuneCountInString(b.Label)*6 < free {
		p.DrawText(left, y, figure.Dim, b.Label, `font-size="11"`)
	}
}
