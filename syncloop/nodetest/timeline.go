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

// enableTimelines makes the trace record timelines, if they are enabled here or by the test flag.
func (tr *trace) enableTimelines(enabled bool) {
	if enabled || *timelineDir != "" {
		tr.records, _ = recorder.New(recorder.Config{Records: maxRecords, RemovedPods: maxGonePods}) // The Config is valid.
	}
}

// timelineHook returns a timeline hook that records and then calls next. Without timelines it returns
// next.
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

// noteOnTimelines adds a note about the agent to all timelines.
func (tr *trace) noteOnTimelines(text string) {
	if tr.records != nil {
		tr.records.RecordForAll(tr.now(), text)
	}
}

func (tr *trace) timelines() []timeline.Timeline {
	if tr.records == nil {
		return nil
	}
	return tr.records.Timelines(tr.now())
}

// timelines returns the timelines of all nodes.
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

// saveTimelines saves the drawings of a failed test, if the test flag is set.
func saveTimelines(t testing.TB, timelines func() []timeline.Timeline) {
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

// testFileName converts the name of a test to a file name.
func testFileName(test string) string {
	return strings.Map(func(r rune) rune {
		if r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9' || strings.ContainsRune("-_.", r) {
			return r
		}
		return '_'
	}, test)
}
