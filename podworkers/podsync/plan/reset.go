package plan

// resetAll lists the records of all containers if one of them has ended in a way
// that makes all begin anew, and reports whether that is so (CA-21). The next
// decision sees none of them, and begins with initialization. If that is cut
// short the records that are the reason, which go last, bring it about again.
func (d *decision) resetAll() bool {
	if d.Pod.DeletionTimestamp != nil || !d.anyCause() {
		return false
	}
	var causes []Kill
	first := len(d.Pod.Spec.InitContainers)
	for i := first; i < d.count; i++ {
		causes = d.resetOne(d.place(i), causes)
	}
	for i := first - 1; i >= 0; i-- {
		causes = d.resetOne(d.place(i), causes)
	}
	d.Reset = append(d.Reset, causes...)
	return true
}

// resetOne lists the records of one container, or adds it to the causes. What is
// begun anew has nothing to put in order, and gets no grace (outer 3.5).
func (d *decision) resetOne(e *entry, causes []Kill) []Kill {
	if e.spec == nil {
		return causes // An ephemeral container is left as it is.
	}
	for rec := range d.all(e) {
		k := Kill{ID: rec.ID, Name: rec.Name, Why: WhyAllRestart, Grace: new(int64)}
		switch {
		case rec.Incarnation != d.Incarnation:
		case rec == e.newest && d.isCause(e):
			k.Why = WhyRestartsAll
			causes = append(causes, k)
		default:
			d.Reset = append(d.Reset, k)
		}
	}
	return causes
}

// isCause reports whether the newest attempt at a container ended, in the
// current sandbox, in a way that makes all containers begin anew.
func (d *decision) isCause(e *entry) bool {
	if e.spec == nil || e.running != nil || e.here != e.newest || !restartsAll(e.spec, e.newest) {
		return false
	}
	d.recall()
	return !e.gone
}

func (d *decision) anyCause() bool {
	for i := range d.count {
		if d.isCause(d.place(i)) {
			return true
		}
	}
	return false
}
