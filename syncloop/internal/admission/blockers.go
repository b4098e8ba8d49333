package admission

import (
	"cmp"
	"slices"
	"time"

	"k8s.io/apimachinery/pkg/types"
)

// maxBlockers bounds among how many pods those are looked for that a pod waits
// for, since admission is asked about each. Beyond it the pod waits for all.
const maxBlockers = 32

// blockers are the pods that a pod waits for, those that should end first at the
// beginning: of all that are ending as few as need to, if they end when they
// should.
func (l *Queue) blockers(uid types.UID, staying Taken, now time.Time, ask Ask) []types.UID {
	all := l.ending.UIDs()
	slices.SortFunc(all, func(a, b types.UID) int {
		return cmp.Or(l.until[a].Compare(l.until[b]), cmp.Compare(a, b))
	})
	if len(all) == 1 || len(all) > maxBlockers {
		return all
	}
	var gone []Item
	defer func() {
		for _, item := range gone {
			l.ending.Put(item)
		}
	}()
	for _, other := range all {
		item, _ := l.ending.Remove(other)
		gone = append(gone, item)
		if l.fits(uid, staying, ask) {
			break
		}
	}
	return l.needed(uid, staying, &gone, ask)
}

// needed are those of the pods that are gone without which admission refuses.
func (l *Queue) needed(uid types.UID, staying Taken, gone *[]Item, ask Ask) (needed []types.UID) {
	var still []Item
	for _, item := range *gone {
		l.ending.Put(item)
		if l.fits(uid, staying, ask) {
			continue
		}
		l.ending.Remove(item.UID)
		still = append(still, item)
		needed = append(needed, item.UID)
	}
	*gone = still
	return needed
}

func (l *Queue) fits(uid types.UID, staying Taken, ask Ask) bool {
	return ask(uid, Beside{Staying: staying, Ending: &l.ending}).Admit
}

// expected is when the last of these pods should have ended.
func (l *Queue) expected(uids []types.UID, now time.Time) time.Time {
	for _, uid := range uids {
		if until := l.until[uid]; until.After(now) {
			now = until
		}
	}
	return now
}
