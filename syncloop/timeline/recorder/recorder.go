package recorder

import (
	"cmp"
	"errors"
	"slices"
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/types"

	"github.com/podkeel/podkeel/syncloop/timeline"
)

// DefaultGone is how many pods are kept that are gone, unless Config says otherwise: enough to
// look at what has just ended.
const DefaultGone = 16

// ErrConfig is wrapped by the error of New.
var ErrConfig = errors.New("recorder: Config")

// Config bounds a Recorder. The zero value has the defaults.
type Config struct {
	// Records is how many records are kept of each pod; zero is timeline.DefaultRecords.
	Records int
	// Gone is how many pods are kept that the node knows no more; zero is DefaultGone,
	// negative is none.
	Gone int
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
	name string // with the namespace; empty until a status has told it
	log  *timeline.Log
	last time.Time
	gone bool
}

// New makes a Recorder. Its error, which wraps ErrConfig, is that Records is negative.
func New(config Config) (*Recorder, error) {
	if config.Records < 0 {
		return nil, errors.Join(ErrConfig, errors.New("recorder: Records is negative"))
	}
	r := &Recorder{config: config}
	r.config.Gone = max(0, cmp.Or(config.Gone, DefaultGone))
	r.mu.pods = make(map[types.UID]*pod)
	return r, nil
}

// Record keeps a record of a pod. It is the node.Config.Timeline of a node.
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
	case left && !p.gone:
		p.gone = true
		r.leaveLocked(uid)
	case !left && p.gone:
		p.gone = false
		r.mu.gone = slices.DeleteFunc(r.mu.gone, func(other types.UID) bool { return other == uid })
	}
}

// leaveLocked counts a pod among those that are gone, and drops the first of too many.
func (r *Recorder) leaveLocked(uid types.UID) {
	r.mu.gone = append(r.mu.gone, uid)
	for len(r.mu.gone) > r.config.Gone {
		delete(r.mu.pods, r.mu.gone[0])
		r.mu.gone = slices.Delete(r.mu.gone, 0, 1)
	}
}

// Note keeps a record of every pod that is not gone: the agent has crashed, or has started.
func (r *Recorder) Note(at time.Time, text string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, p := range r.mu.pods {
		if !p.gone {
			p.log.Add(timeline.Record{At: at, Kind: timeline.KindNote, Text: text})
		}
	}
}

// Named is the drawing of the pod of a name, up to now. Of several of one name it is the one that
// is not gone, or else the last. False: none is kept.
func (r *Recorder) Named(namespace, name string, now time.Time) (timeline.Timeline, bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	var found *pod
	for _, p := range r.mu.pods {
		if p.name == namespace+"/"+name && (found == nil || p.after(found)) {
			found = p
		}
	}
	if found == nil {
		return timeline.Timeline{}, false
	}
	return found.draw(now), true
}

// after reports whether a pod goes before another one of its name.
func (p *pod) after(other *pod) bool {
	if p.gone != other.gone {
		return other.gone
	}
	return p.last.After(other.last)
}

func (p *pod) draw(now time.Time) timeline.Timeline {
	return timeline.Build(p.log.Records(), timeline.Options{Now: now, Dropped: p.log.Dropped()})
}

// All are the drawings of all pods that are kept and have had a status, in the order of their
// names, and of one name in the order of time.
func (r *Recorder) All(now time.Time) []timeline.Timeline {
	r.mu.Lock()
	defer r.mu.Unlock()
	var all []timeline.Timeline
	for _, p := range r.mu.pods {
		if p.name != "" {
			all = append(all, p.draw(now))
		}
	}
	slices.SortFunc(all, func(a, b timeline.Timeline) int {
		return cmp.Or(cmp.Compare(a.Pod, b.Pod), a.From.Compare(b.From), a.To.Compare(b.To))
	})
	return all
}
