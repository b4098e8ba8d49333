package sourcetest_test

import (
	"context"
	"errors"
	"slices"
	"sync"
	"time"

	v1 "k8s.io/api/core/v1"

	"github.com/podkeel/podkeel/podmanager/source"
)

// list is a source that keeps every promise, except where the test replaces a part.
type list struct {
	mu     sync.Mutex
	pods   []*v1.Pod
	broken bool
	known  bool // it has a good version
	sink   source.Sink
	runs   int
	last   *source.Snapshot

	// send delivers a snapshot, or not.
	send func(l *list, s source.Snapshot)
	// end is called when the context of Run has ended.
	end func() error
}

func newList() *list {
	return &list{
		send: func(l *list, s source.Snapshot) { l.sink.Set(s) },
		end:  func() error { return nil },
	}
}

func (l *list) set(pods []*v1.Pod) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.pods, l.broken = pods, false
	l.handOver()
	return nil
}

func (l *list) breaks() error {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.broken = true
	l.handOver()
	return nil
}

func (l *list) handOver() {
	if l.sink == nil {
		return
	}
	s := source.Snapshot{Pods: l.pods}
	if l.broken && !l.known {
		s = source.Snapshot{Incomplete: true}
	}
	l.known = l.known || !l.broken
	l.send(l, s)
	l.last = &s
}

// Run implements source.Source.
func (l *list) Run(ctx context.Context, sink source.Sink) error {
	l.mu.Lock()
	l.sink = sink
	l.runs++
	l.handOver()
	l.mu.Unlock()
	<-ctx.Done()
	l.mu.Lock()
	l.sink = nil
	l.mu.Unlock()
	return l.end()
}

// broken are sources that break one promise each, with the cases that must fail: these and no
// others.
var broken = []struct {
	how   string
	cases []string
	do    func(l *list)
}{
	{"it keeps every promise", nil, func(*list) {}},
	{"it says nothing before the first change", []string{
		"broken/again", "broken/kept", "change/added", "change/changed", "change/last", "change/removed", "change/unmodified",
		"run/again", "run/empty", "run/ends", "run/first", "snapshot/identity",
	}, func(l *list) {
		first := true
		l.send = func(l *list, s source.Snapshot) {
			if !first {
				l.sink.Set(s)
			}
			first = false
		}
	}},
	{"it says nothing if it has no pods", []string{"change/last", "change/unmodified", "run/empty"}, func(l *list) {
		l.send = func(l *list, s source.Snapshot) {
			if len(s.Pods) > 0 || s.Incomplete {
				l.sink.Set(s)
			}
		}
	}},
	{"it says nothing at its start if it has no pods", []string{"run/empty"}, func(l *list) {
		l.send = func(l *list, s source.Snapshot) {
			if len(s.Pods) > 0 || s.Incomplete || l.last != nil {
				l.sink.Set(s)
			}
		}
	}},
	{"it never removes a pod", []string{"change/last", "change/removed", "change/unmodified", "snapshot/identity"}, func(l *list) {
		var all []*v1.Pod
		l.send = func(l *list, s source.Snapshot) {
			all = slices.DeleteFunc(all, func(p *v1.Pod) bool {
				return slices.ContainsFunc(s.Pods, func(q *v1.Pod) bool { return p.UID == q.UID })
			})
			all = append(all, s.Pods...)
			l.sink.Set(source.Snapshot{Pods: slices.Clone(all), Incomplete: s.Incomplete})
		}
	}},
	{"it removes pods one by one, but the last", []string{"change/last", "change/unmodified"}, func(l *list) {
		l.send = func(l *list, s source.Snapshot) {
			if len(s.Pods) == 0 && !s.Incomplete && l.last != nil && len(l.last.Pods) > 0 {
				s.Pods = l.last.Pods[:1]
			}
			l.sink.Set(s)
		}
	}},
	{"it adds nothing", []string{"change/added"}, func(l *list) {
		l.send = func(l *list, s source.Snapshot) {
			if l.last == nil || len(s.Pods) <= len(l.last.Pods) {
				l.sink.Set(s)
			}
		}
	}},
	{"it does not notice a change of a pod", []string{"broken/again", "change/changed", "change/unmodified", "run/again"}, func(l *list) {
		l.send = func(l *list, s source.Snapshot) {
			pods := slices.Clone(s.Pods)
			for i, p := range pods {
				for _, q := range l.lastPods() {
					if p.UID == q.UID {
						pods[i] = q
					}
				}
			}
			s.Pods = pods
			l.sink.Set(s)
		}
	}},
	{"it modifies the pods that it has handed over", []string{"broken/again", "change/changed", "change/unmodified", "run/again"}, func(l *list) {
		l.send = func(l *list, s source.Snapshot) {
			for i, p := range s.Pods {
				for _, q := range l.lastPods() {
					if p.UID == q.UID {
						*q = *p
						s.Pods[i] = q
					}
				}
			}
			l.sink.Set(s)
		}
	}},
	{"it modifies the list that it has handed over", []string{"change/unmodified", "snapshot/identity"}, func(l *list) {
		l.send = func(l *list, s source.Snapshot) {
			if old := l.lastPods(); len(s.Pods) == len(old) && len(old) > 1 {
				copy(old, s.Pods)
				s.Pods = old
			}
			l.sink.Set(s)
		}
	}},
	{"its Run returns the error of its context", []string{"run/ends"}, func(l *list) {
		l.end = func() error { return errors.New("it was told to end") }
	}},
	{"its Run does not end in time", []string{"run/again", "run/ends"}, func(l *list) {
		l.end = func() error {
			<-time.After(time.Hour)
			return nil
		}
	}},
	{"its second Run says nothing without a change", []string{"run/again"}, func(l *list) {
		l.send = func(l *list, s source.Snapshot) {
			if l.runs == 1 || l.last != nil && !slices.Equal(l.last.Pods, s.Pods) {
				l.sink.Set(s)
			}
		}
	}},
	{"its second Run does not notice changes", []string{"run/again"}, func(l *list) {
		said := 0
		l.send = func(l *list, s source.Snapshot) {
			if l.runs == 1 || said == 0 {
				l.sink.Set(s)
			}
			if l.runs > 1 {
				said++
			}
		}
	}},
	{"its pods have no namespace", []string{"snapshot/identity"}, func(l *list) {
		l.send = func(l *list, s source.Snapshot) {
			for i, p := range s.Pods {
				s.Pods[i] = p.DeepCopy()
				s.Pods[i].Namespace = ""
			}
			l.sink.Set(s)
		}
	}},
	{"its pods have one name", []string{"snapshot/identity"}, func(l *list) {
		l.send = func(l *list, s source.Snapshot) {
			for i, p := range s.Pods {
				s.Pods[i] = p.DeepCopy()
				s.Pods[i].Name = "pod"
			}
			l.sink.Set(s)
		}
	}},
	{"it has no pods when it cannot read them", []string{"broken/kept"}, func(l *list) {
		l.send = func(l *list, s source.Snapshot) {
			if l.broken && !s.Incomplete {
				s.Pods = nil
			}
			l.sink.Set(s)
		}
	}},
	{"it has no pods when it could never read them", []string{"broken/start"}, func(l *list) {
		l.send = func(l *list, s source.Snapshot) {
			s.Incomplete = false
			l.sink.Set(s)
		}
	}},
	{"it says nothing any more after it could not read once", []string{"broken/again"}, func(l *list) {
		failed := false
		l.send = func(l *list, s source.Snapshot) {
			failed = failed || l.broken
			if !failed {
				l.sink.Set(s)
			}
		}
	}},
}

func (l *list) lastPods() []*v1.Pod {
	if l.last == nil {
		return nil
	}
	return l.last.Pods
}
