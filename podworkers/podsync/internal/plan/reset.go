package plan

import (
	"github.com/podkeel/podkeel/runtime"
)

// resetAll lists the records of all containers if one of them has ended in a way
// that makes all begin anew, and reports whether that is so (CA-21). The next
// decision sees none of them, and begins with initialization. If that is cut
// short the records that are the reason, which go last, bring it about again.
func (d *decision) resetAll() bool {
	if d.Pod.DeletionTimestamp != nil || !d.anyCause() {
		return false
	}
	grace := new(int64)
	var causes []Kill
	list := func(e *entry) {
		cause := d.isCause(e)
		d.each(e, func(rec *runtime.ContainerStatus) {
			switch {
			case rec.Incarnation != d.Incarnation:
			case cause && rec == e.newest:
				causes = append(causes, Kill{ID: rec.ID, Name: rec.Name, Why: WhyRestartsAll, Grace: grace})
			default:
				d.Reset = append(d.Reset, Kill{ID: rec.ID, Name: rec.Name, Why: WhyAllRestart, Grace: grace})
			}
		})
	}
	first := len(d.Pod.Spec.InitContainers)
	for i := first; i < len(d.entries); i++ {
		if d.entries[i].spec != nil {
			list(&d.entries[i])
		}
	}
	for i := first - 1; i >= 0; i-- {
		list(&d.entries[i])
	}
	d.Reset = append(d.Reset, causes...)
	return true
}

// isCause reports whether the newest attempt at a container ended, in the
// current sandbox, in a way that makes all containers begin anew.
func (d *decision) isCause(e *entry) bool {
	return e.spec != nil && e.running == nil && e.here == e.newest &&
		restartsAll(d.Pod, e.spec, e.newest)
}

func (d *decision) anyCause() bool {
	for i := range d.entries {
		if d.isCause(&d.entries[i]) {
			return true
		}
	}
	return false
}
