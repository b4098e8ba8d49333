package lifecycle

// hold keeps a ticket until the containers of the pod are stopped.
func (t *Table) hold(r *record, k Ticket) {
	x := t.coldFields(r)
	x.tickets = append(x.tickets, k)
}

// resolve settles all open tickets of a pod. Every way out of Terminating
// comes through here, which is why none is left behind or settled twice.
func (t *Table) resolve(r *record, o Resolution, out *Effects) {
	if r.coldFields == nil {
		return
	}
	for _, k := range r.coldFields.tickets {
		resolveTicket(out, r, k, o)
	}
	r.coldFields.tickets = r.coldFields.tickets[:0]
}

// resolveTicket says how one kill ended.
func resolveTicket(out *Effects, r *record, k Ticket, o Resolution) {
	e := emit(out, OpResolve, r)
	e.Ticket, e.Resolution = k, o
}
