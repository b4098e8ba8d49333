package lifecycle

// addTicket stores the ticket (the number) of a kill until resolveTickets resolves it.
func (t *Table) addTicket(r *record, ticket Ticket) {
	x := t.ensureColdFields(r)
	x.tickets = append(x.tickets, ticket)
}

// resolveTickets resolves and deletes all open tickets of a pod, that is, the numbers of its pending kills.
func (t *Table) resolveTickets(r *record, resolution Resolution, out *Effects) {
	if r.cold == nil {
		return
	}
	for _, k := range r.cold.tickets {
		emitResolve(out, r, k, resolution)
	}
	r.cold.tickets = r.cold.tickets[:0]
}

// emitResolve appends an effect to out that resolves a ticket. A ticket is the number of a kill request.
func emitResolve(out *Effects, r *record, ticket Ticket, resolution Resolution) {
	e := appendEffect(out, OpResolve, r)
	e.Ticket, e.Resolution = ticket, resolution
}
