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

// DefaultRemovedPods is the default number of removed pods that are kept.
const DefaultRemovedPods = 16

// ErrConfig is wrapped by the error of New.
var ErrConfig = errors.New("recorder: Config")

// Config bounds a Recorder. The zero value has the defaults.
type Config struct {
	// Records is the maximum number of records of each pod; zero is timeline.DefaultRecords.
	Records int
	// RemovedPods is the maximum number of pods that the node has removed; zero is DefaultRemovedPods,
	// negative is none.
	RemovedPods int
}

// Recorder stores records of pods. It is safe for concurrent use.
type Recorder struct {
	config Config
	mu     struct {
		sync.Mutex
		pods map[types.UID]*pod
		gone []types.UID // in order of removal
	}
}

// pod has the records of one pod.
type pod struct {
	name    string // with the namespace; empty before the first status
	log     *timeline.Log
	last    time.Time
	removed bool
}

// New returns a Recorder without pods. It returns an error that wraps ErrConfig if Records is negative.
func New(config Config) (*Recorder, error) {
	if config.Records < 0 {
		return nil, fmt.Errorf("%w: Records is negative", ErrConfig)
	}
	r := &Recorder{config: config}
	r.config.RemovedPods = max(0, cmp.Or(config.RemovedPods, DefaultRemovedPods))
	r.mu.pods = make(map[types.UID]*pod)
	return r, nil
}

// Record stores a record of a pod. Use it as node.Config.Hooks.Timeline.
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
		r.addRemovedAndDropOldestLocked(uid)
	case !left && p.removed:
		p.removed = false
		r.mu.gone = slices.DeleteFunc(r.mu.gone, func(other types.UID) bool { return other == uid })
	}
}

// addRemovedAndDropOldestLocked adds a pod to the list of removed pods. If there are more than Config.RemovedPods, it drops
// the records of the oldest ones.
func (r *Recorder) addRemovedAndDropOldestLocked(uid types.UID) {
	r.mu.gone = append(r.mu.gone, uid)
	for len(r.mu.gone) > r.config.RemovedPods {
		delete(r.mu.pods, r.mu.gone[0])
		r.mu.gone = slices.Delete(r.mu.gone, 0, 1)
	}
}

// RecordForAll stores a note for every pod that is not removed, for example that the agent has crashed or
// started.
func (r *Recorder) RecordForAll(at time.Time, text string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, p := range r.mu.pods {
		if !p.removed {
			p.log.Add(timeline.Record{At: at, Kind: timeline.KindNote, Text: text})
		}
	}
}

// TimelineByName returns the timeline of the pod with a name, up to now. If several pods have the name, it
// returns the pod that is not removed, or else the last one. It returns false if there is none.
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

// podCopy is a copy of a pod's records.
type podCopy struct {
	last    time.Time
	removed bool
	records []timeline.Record
	dropped int
}

// copyPods returns copies of the records of the pods that match. The caller draws the copies without the lock,
// because the node waits for the lock.
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

// buildTimeline returns the timeline of the copied records, which ends now if the pod has not finished.
func (c *podCopy) buildTimeline(now time.Time) timeline.Timeline {
	return timeline.Build(c.records, timeline.Options{Now: now, Dropped: c.dropped})
}

// Timelines returns the timelines of all pods that have had a status, sorted by name and then by time.
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
