package page_test

import (
	"crypto/sha256"
	"encoding/base64"
	"fmt"
	"html"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/podkeel/podkeel/syncloop/timeline"
	"github.com/podkeel/podkeel/syncloop/timeline/page"
)

var epoch = time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)

func at(seconds float64) time.Time { return epoch.Add(time.Duration(seconds * float64(time.Second))) }

// hostile is a text that would break out of every context of a page.
const hostile = `</style></script><img src=x onerror="alert(1)">'"{{.}}` + "`\u2028\x00"

// known returns the timeline of a container that crashes twice and waits in back-off, in 100 s.
func known() timeline.Timeline {
	return timeline.Timeline{
		Pod: "default/web", From: epoch, To: at(100),
		Marks: []timeline.Mark{{At: at(50), Text: "the agent crashes"}},
		Lanes: []timeline.Lane{
			{Name: "app", Kind: "container", Rows: 1, Bars: []timeline.Bar{
				{From: at(0), To: at(10), Class: timeline.Waiting, Label: "ContainerCreating"},
				{From: at(10), To: at(25), Class: timeline.Failed, Label: "exit 1", Details: []string{"first run", "exit code 1 Error"}},
				{From: at(25), To: at(60), Class: timeline.Backoff, Label: "CrashLoopBackOff"},
				{From: at(60), To: at(100), Class: timeline.Running, Label: "running", Open: true, Details: []string{"restart 1"}},
			}},
			{Name: "app actions", Kind: timeline.LaneActions, Rows: 2, Bars: []timeline.Bar{
				{From: at(5), To: at(10), Class: timeline.Working, Label: "StartContainer"},
				{From: at(8), To: at(12), Class: timeline.Working, Label: "RunPostStartHook", Row: 1},
				{From: at(60), To: at(60), Class: timeline.Working, Label: "StartContainer"},
			}},
			{Name: "events", Kind: timeline.LaneEvents, Rows: 1, Bars: []timeline.Bar{
				{From: at(25), To: at(25), Class: timeline.Warning, Label: "BackOff", Details: []string{"Back-off restarting failed container"}},
			}},
		},
	}
}

// TestDraw_Policy: the policy of the page allows its style and script by their hashes, and forbids everything
// else.
func TestDraw_Policy(t *testing.T) {
	drawn := page.Draw("web", known())
	text := drawn.HTML
	var want []string
	for _, element := range regexp.MustCompile(`(?s)<(style|script)>(.*?)</(?:style|script)>`).FindAllStringSubmatch(string(text), -1) {
		sum := sha256.Sum256([]byte(element[2]))
		want = append(want, element[1]+" sha256-"+base64.StdEncoding.EncodeToString(sum[:]))
	}
	require.Len(t, want, 3)
	policy := "default-src 'none'; style-src"
	for _, w := range want {
		kind, hash, _ := strings.Cut(w, " ")
		if kind == "script" {
			policy += "; script-src"
		}
		policy += " '" + hash + "'"
	}
	policy += "; base-uri 'none'; form-action 'none'"
	assert.Contains(t, html.UnescapeString(string(text)), `content="`+policy+`"`)
	assert.Equal(t, policy+"; frame-ancestors 'none'", drawn.Policy)
	assert.NotRegexp(t, `(?i)https?://|@import|url\(|\ssrc=|\shref=|\sstyle=|\son\w+=`, string(text))
}

// TestDraw_Escapes: the name of a container, an image or a test stays text.
func TestDraw_Escapes(t *testing.T) {
	drawing := known()
	drawing.Pod = hostile
	drawing.Marks[0].Text = hostile
	for i := range drawing.Lanes {
		drawing.Lanes[i].Name, drawing.Lanes[i].Kind = hostile, hostile
		for j := range drawing.Lanes[i].Bars {
			b := &drawing.Lanes[i].Bars[j]
			b.Label, b.Class, b.Details = hostile, hostile, []string{hostile}
		}
	}
	bad := draw(t, hostile, drawing)
	good := draw(t, "web", known())
	assert.NotContains(t, string(bad), "<img")
	assert.NotContains(t, string(bad), "\x00")
	assert.Equal(t, elements(good), elements(bad), "but for the legend, which knows its classes")
}

// elements counts the elements of a page without the legend.
func elements(text []byte) map[string]int {
	body, _, _ := strings.Cut(string(text), `<ul class="legend"`)
	count := map[string]int{}
	for _, e := range regexp.MustCompile(`<([a-z0-9]+)[ >]`).FindAllStringSubmatch(body, -1) {
		count[e[1]]++
	}
	return count
}

// TestDraw_Places: the position of a bar corresponds to its times, in the scale of all pods of the page.
func TestDraw_Places(t *testing.T) {
	late := timeline.Timeline{Pod: "default/late", From: at(150), To: at(200), Lanes: []timeline.Lane{
		{Name: "status", Kind: timeline.LaneStatus, Rows: 1, Bars: []timeline.Bar{{From: at(150), To: at(200), Class: timeline.Plain, Label: "x"}}},
	}}
	text := draw(t, "two", known(), late)
	for _, want := range []string{
		"#b1{left:0.00000%;width:5.00000%;--row:0}", "#b2{left:5.00000%;width:7.50000%;--row:0}",
		"#b6{left:4.00000%;width:2.00000%;--row:1}", "#b9{left:75.00000%;width:25.00000%;--row:0}", "{--rows:2}",
	} {
		assert.Contains(t, string(text), want)
	}
	assert.Contains(t, string(text), `aria-label="app: exit 1; from 10s to 25s, 15s (00:00:10.000 UTC); first run; exit code 1 Error"`)
	assert.Contains(t, string(text), `aria-label="app: running; from 1m, for 40s so far (00:01:00.000 UTC); restart 1"`)
	assert.Contains(t, string(text), `aria-label="events: BackOff; at 25s (00:00:25.000 UTC); Back-off restarting failed container"`)
}

// TestDraw_Axis: the axis has few ticks, and more of them when there is space.
func TestDraw_Axis(t *testing.T) {
	for span, want := range map[time.Duration][]string{
		time.Second:            {"0s", "500ms", "1s"},
		52 * time.Second:       {"0s", "10s", "20s", "30s", "40s", "50s"},
		time.Hour:              {"0s", "10m", "20m", "30m", "40m", "50m", "1h"},
		100 * 24 * time.Hour:   {"0s", "14d", "28d", "42d", "56d", "70d", "84d", "98d"},
		150 * time.Microsecond: {"0s", "100µs"},
	} {
		text := draw(t, "axis", timeline.Timeline{From: epoch, To: epoch.Add(span)})
		var got []string
		for _, tick := range regexp.MustCompile(`level0 t\d+"><span>(.*?)<`).FindAllStringSubmatch(string(text), -1) {
			got = append(got, tick[1])
		}
		assert.Equal(t, want, got, span)
		assert.LessOrEqual(t, strings.Count(string(text), `class="tick`), 310, span)
	}
}

// TestDraw_Nothing: a page without timelines says that nothing was recorded.
func TestDraw_Nothing(t *testing.T) {
	for _, drawings := range [][]timeline.Timeline{nil, {{}}} {
		text := draw(t, "nothing", drawings...)
		assert.Equal(t, len(drawings) == 0, strings.Contains(string(text), "Nothing was recorded."), fmt.Sprint(drawings))
	}
}

func draw(t *testing.T, title string, drawings ...timeline.Timeline) []byte {
	t.Helper()
	return page.Draw(title, drawings...).HTML
}
