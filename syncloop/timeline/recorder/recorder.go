package recorder

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/types"

	"github.com/podkeel/podkeel/syncloop/timeline"
)

// DefaultRemovedPods is how many pods are kept that are gone, unless Config says otherwise: enough to
// look at what has just ended.
const DefaultRemovedPods = 16

// ErrConfig is wrapped by the error of New.
var ErrConfig = errors.New("recorder: Config")

// Config bounds a Recorder. The zero value has the defaults.
type Config struct {
	// Records is how many records are kept of each pod; zero is timeline.DefaultRecords.
	Records int
	// RemovedPods is how many pods are kept that the node knows no more; zero is DefaultGone,
	// negative is none.
	RemovedPods int
}

// Recorder keeps records of pods. Its methods may be called concurrently.
type Recorder struct {
	config Config
	mu     struct {
		sync.Mutex
		pods map[types.UID]*pod
		gone []types.UID // in the order in which they went
	}
}

// pod is what is kept of one.
type pod struct {
	name    string // with the namespace; empty until a status has told it
	log     *timeline.Log
	last    time.Time
	removed bool
}

// New makes a Recorder. Its error, which wraps ErrConfig, is that Records is negative.
func New(config Config) (*Recorder, error) {
	if config.Records < 0 {
		return nil, fmt.Errorf("%w: Records is negative", ErrConfig)
	}
	r := &Recorder{config: config}
	r.config.RemovedPods = max(0, cmp.Or(config.RemovedPods, DefaultRemovedPods))
	r.mu.pods = make(map[types.UID]*pod)
	return r, nil
}

// Record keeps a record of a pod. It is the node.Config.Hooks.Timeline of a node.
func (r *Recorder) Record(uid types.UID, rec timeline.Record) {
	r.mu.Lock()
	defer r.mu.Unlock()
	p := r.mu.pods[uid]
	if p == nil {
		if rec.Kind == timeline.KindGone {
			return
		}
		p = &pod{log: timeline.NewLog(r.config.Records)}
		r.mu.pods[uid] = p
	}
	if rec.Status != nil {
		p.name = rec.Status.Pod
	}
	p.last = rec.At
	p.log.Add(rec)
	switch left := rec.Kind == timeline.KindGone; {
	case left && !p.removed:
		p.removed = true
		r.addRemovedLocked(uid)
	case !left && p.removed:
		p.removed = false
		r.mu.gone = slices.DeleteFunc(r.mu.gone, func(other types.UID) bool { return other == uid })
	}
}

// addRemovedLocked counts a pod among those that are gone, and drops the first of too many.
func (r *Recorder) addRemovedLocked(uid types.UID) {
	r.mu.gone = append(r.mu.gone, uid)
	for len(r.mu.gone) > r.config.RemovedPods {
		delete(r.mu.pods, r.mu.gone[0])
		r.mu.gone = slices.Delete(r.mu.gone, 0, 1)
	}
}

// RecordForAll keeps a record of every pod that is not gone: the agent has crashed, or has started.
func (r *Recorder) RecordForAll(at time.Time, text string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, p := range r.mu.pods {
		if !p.removed {
			p.log.Add(timeline.Record{At: at, Kind: timeline.KindNote, Text: text})
		}
	}
}

// TimelineByName is the drawing of the pod of a name, up to now. Of several of one name it is the one that
// is not gone, or else the last. False: none is kept.
func (r *Recorder) TimelineByName(namespace, name string, now time.Time) (timeline.Timeline, bool) {
	kept := r.copyPods(func(p *pod) bool { return p.name == namespace+"/"+name })
	if len(kept) == 0 {
		return timeline.Timeline{}, false
	}
	slices.SortStableFunc(kept, func(a, b podCopy) int {
		switch {
		case a.removed == b.removed:
			return b.last.Compare(a.last)
		case a.removed:
			return 1
		}
		return -1
	})
	return kept[0].buildTimeline(now), true
}

// podCopy is a pod as it was at one moment.
type podCopy struct {
	last    time.Time
	removed bool
	records []timeline.Record
	dropped int
}

// copyPods are of the pods that are asked for. They are drawn with no lock held: the node waits for the
// lock.
func (r *Recorder) copyPods(match func(*pod) bool) (kept []podCopy) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, p := range r.mu.pods {
		if match(p) {
			kept = append(kept, podCopy{p.last, p.removed, p.log.Records(), p.log.Dropped()})
		}
	}
	return kept
}

func (c *podCopy) buildTimeline(now time.Time) timeline.Timeline {
	return timeline.Build(c.records, timeline.Options{Now: now, Dropped: c.dropped})
}

// Timelines are the drawings of all pods that are kept and have had a status, in the order of their
// names, and of one name in the order of time.
func (r *Recorder) Timelines(now time.Time) []timeline.Timeline {
	var all []timeline.Timeline
	for _, c := range r.copyPods(func(p *pod) bool { return p.name != "" }) {
		all = append(all, c.buildTimeline(now))
	}
	slices.SortStableFunc(all, func(a, b timeline.Timeline) int {
		return cmp.Or(cmp.Compare(a.Pod, b.Pod), a.From.Compare(b.From), a.To.Compare(b.To))
	})
	return all
}
