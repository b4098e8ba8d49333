package workqueuetest_test

import (
	"fmt"
	"runtime"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"k8s.io/apimachinery/pkg/types"

	"github.com/podkeel/podkeel/workqueue"
	"github.com/podkeel/podkeel/workqueue/workqueuetest"
)

// The queue of package workqueue.
func TestQueue(t *testing.T) {
	workqueuetest.Run(t, func() workqueue.WorkQueue { return workqueue.New(workqueue.Config{}) })
}

// A queue of ten lines keeps the contract too.
func TestSlice(t *testing.T) {
	workqueuetest.Run(t, func() workqueue.WorkQueue { return &list{} })
}

// TestBroken: for each case there is a broken queue that fails only this case.
func TestBroken(t *testing.T) {
	broken := map[string]string{
		"empty":               "removes the unknown",
		"due/not-after-now":   "strict",
		"due/past":            "no zero time",
		"due/once":            "again and again",
		"due/again":           "once in a life",
		"due/clock-goes-back": "monotonic",
		"due/appended":        "forgets the caller's",
		"due/slice-not-kept":  "keeps the slice",
		"overwrite/later":     "keeps the earlier",
		"overwrite/earlier":   "keeps the later",
		"remove":              "removes nothing",
		"remove/again":        "removed for ever",
		"next/earliest":       "first come",
		"next/past":           "never in the past",
		"due-of-a-pod":        "looks once",
		"many":                "lossy",
		"same":                "any order",
	}
	for _, c := range workqueuetest.Cases() {
		fault, ok := broken[c.Name]
		assert.True(t, ok, "no broken queue fails %s", c.Name)
		assert.Empty(t, verdict(c, ""), "%s: a queue in order", c.Name)
		assert.NotEmpty(t, verdict(c, fault), "%s: %s", c.Name, fault)
		delete(broken, c.Name)
	}
	assert.Empty(t, broken, "cases that there are not")
}

// verdict returns the failure of a case for a queue with a fault.
func verdict(c workqueuetest.Case, fault string) string {
	f := &fake{}
	made := 0
	done := make(chan struct{})
	go func() {
		defer close(done)
		defer func() {
			if v := recover(); v != nil {
				f.said = fmt.Sprint("panic: ", v)
			}
		}()
		c.Run(f, func() workqueue.WorkQueue { made++; return &list{fault: fault, odd: made%2 == 1} })
	}()
	<-done
	return f.said
}

// fake is a testing.TB that records its failure.
type fake struct {
	testing.TB
	said string
}

func (*fake) Helper()                             {}
func (f *fake) Errorf(format string, args ...any) { f.said = fmt.Sprintf(format, args...) }
func (*fake) FailNow()                            { runtime.Goexit() }

// list is a correct queue in the order of enqueueing, unless it has a fault.
type list struct {
	fault string
	odd   bool
	pods  []entry
	seen  time.Time   // the newest now
	kept  []types.UID // enqueued UIDs, in the caller's array
	gone  []types.UID
}

type entry struct {
	uid types.UID
	at  time.Time
}

func (l *list) find(uid types.UID) int {
	if l.fault == "keeps the slice" && !slices.Contains(l.kept, uid) {
		return -1
	}
	return slices.IndexFunc(l.pods, func(e entry) bool { return e.uid == uid })
}

func (l *list) EnqueueAt(uid types.UID, at time.Time) {
	i := l.find(uid)
	switch {
	case slices.Contains(l.gone, uid):
	case i < 0 && l.fault == "lossy" && len(l.pods) > 100:
	case i < 0:
		l.pods = append(l.pods, entry{uid, at})
		l.kept = append(l.kept, uid)
	case l.fault == "keeps the earlier" && at.After(l.pods[i].at):
	case l.fault == "keeps the later" && at.Before(l.pods[i].at):
	default:
		l.pods[i].at = at
	}
}

func (l *list) Remove(uid types.UID) {
	i := l.find(uid)
	if l.fault == "removed for ever" {
		l.gone = append(l.gone, uid)
	}
	switch {
	case i < 0 && l.fault == "removes the unknown":
		panic("nobody knows " + uid)
	case i >= 0 && l.fault != "removes nothing":
		l.pods = slices.Delete(l.pods, i, i+1)
	}
}

func (l *list) GetWork(now time.Time, due []types.UID) []types.UID {
	if l.fault == "monotonic" && now.Before(l.seen) {
		now = l.seen
	}
	l.seen = now
	if l.fault == "forgets the caller's" {
		due = nil
	}
	before := len(due)
	l.pods = slices.DeleteFunc(l.pods, func(e entry) bool {
		ready := !e.at.After(now)
		switch l.fault {
		case "strict":
			ready = e.at.Before(now)
		case "no zero time":
			ready = ready && !e.at.IsZero()
		}
		if ready {
			due = append(due, e.uid)
		}
		return ready && l.fault != "again and again"
	})
	switch l.fault {
	case "any order":
		if l.odd {
			slices.Reverse(due[before:])
		}
	case "once in a life":
		l.gone = append(l.gone, due[before:]...)
	case "keeps the slice":
		l.kept = due
	}
	return due
}

func (l *list) Next() (next time.Time, ok bool) {
	for _, e := range l.pods {
		if !ok || e.at.Before(next) && l.fault != "first come" {
			next, ok = e.at, true
		}
	}
	if l.fault == "never in the past" && next.Before(time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)) {
		return time.Time{}, false
	}
	return next, ok
}

func (l *list) Due(uid types.UID) (time.Time, bool) {
	i := l.find(uid)
	if i < 0 {
		return time.Time{}, false
	}
	at := l.pods[i].at
	if l.fault == "looks once" {
		l.pods = slices.Delete(l.pods, i, i+1)
	}
	return at, true
}
