package nodetest

import (
	"flag"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/types"

	"github.com/podkeel/podkeel/syncloop/timeline"
	"github.com/podkeel/podkeel/syncloop/timeline/page"
	"github.com/podkeel/podkeel/syncloop/timeline/recorder"
)

// timelineDir is the value of the test flag -timeline.
var timelineDir = flag.String("timeline", "", "nodetest: the directory in which a test that fails saves a drawing of its pods")

// Limits of the recorded timelines.
const (
	maxRecords   = 4096 // per pod
	maxGonePods  = 256  // removed pods
	maxDrawnPods = 100  // pods per page
)

// enableTimelinesIfRequested makes the trace record timelines if enabled is true or the test flag -timeline is
// given.
func (tr *trace) enableTimelinesIfRequested(enabled bool) {
	if enabled || *timelineDir != "" {
		tr.records, _ = recorder.New(recorder.Config{Records: maxRecords, RemovedPods: maxGonePods}) // The Config is valid.
	}
}

// timelineHook returns a timeline hook that records and then calls next. If timelines are not recorded, it
// returns next.
func (tr *trace) timelineHook(next func(types.UID, timeline.Record)) func(types.UID, timeline.Record) {
	switch {
	case tr.records == nil:
		return next
	case next == nil:
		return tr.records.Record
	}
	return func(uid types.UID, r timeline.Record) {
		tr.records.Record(uid, r)
		next(uid, r)
	}
}

// addNoteToTimelines adds a note about the agent to the timelines of all pods, if timelines are recorded.
func (tr *trace) addNoteToTimelines(text string) {
	if tr.records != nil {
		tr.records.RecordForAll(tr.now(), text)
	}
}

// timelines returns the timelines of all pods up to the present time, or nil if timelines are not recorded.
func (tr *trace) timelines() []timeline.Timeline {
	if tr.records == nil {
		return nil
	}
	return tr.records.Timelines(tr.now())
}

// timelines returns the timelines of all nodes. With several nodes each timeline has the name of its node.
func (s *simulator) timelines() (all []timeline.Timeline) {
	for _, b := range s.nodes {
		for _, t := range b.trace.timelines() {
			if len(s.nodes) > 1 {
				t.Pod = b.nodeName() + ": " + t.Pod
			}
			all = append(all, t)
		}
	}
	return all
}

// saveTimelinesIfFlagSet writes the timelines of a test, but at most maxDrawnPods, to an HTML file in the
// directory of the test flag -timeline, and logs its path. It does nothing without the flag. An error is only
// logged.
func saveTimelinesIfFlagSet(t testing.TB, timelines func() []timeline.Timeline) {
	t.Helper()
	if *timelineDir == "" {
		return
	}
	path := filepath.Join(*timelineDir, testFileName(t.Name())+".html")
	all := timelines()
	drawn := page.Draw(t.Name(), all[:min(len(all), maxDrawnPods)]...)
	err := os.MkdirAll(*timelineDir, 0o755)
	if err == nil {
		err = os.WriteFile(path, drawn.HTML, 0o644)
	}
	if err != nil {
		t.Logf("nodetest: the drawing of the test could not be saved: %v", err)
		return
	}
	t.Logf("nodetest: the drawing of the test is in %s", path)
}

// testFileName converts the name of a test to a file name. It replaces each character that is not a letter, a
// digit or one of "-_." by "_".
func testFileName(test string) string {
	return strings.Map(func(r rune) rune {
		if r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9' || strings.ContainsRune("-_.", r) {
			return r
		}
		return '_'
	}, test)
}
