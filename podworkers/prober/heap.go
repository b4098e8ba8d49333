package prober

import (
	"container/heap"
	"time"
)

// schedule is a heap of due probes, the earliest first. Equal times keep the order in which they
// were set.
type schedule struct {
	probes []*probe
	seq    uint64
}

// setDue sets the due time of a probe in the schedule. It adds the probe if the schedule does not have it.
func (s *schedule) setDue(p *probe, due time.Time) {
	if p.position >= 0 && p.due.Equal(due) {
		return
	}
	s.seq++
	p.due, p.seq = due, s.seq
	if p.position < 0 {
		heap.Push(s, p)
		return
	}
	heap.Fix(s, p.position)
}

// removeProbe removes a probe from the schedule. It does nothing if the schedule does not have the probe.
func (s *schedule) removeProbe(p *probe) {
	if p.position >= 0 {
		heap.Remove(s, p.position)
	}
}

// earliestDueProbe returns the probe with the earliest due time, which stays in the schedule. It returns nil if
// the schedule is empty.
func (s *schedule) earliestDueProbe() *probe {
	if len(s.probes) == 0 {
		return nil
	}
	return s.probes[0]
}

// Len implements heap.Interface.
func (s *schedule) Len() int { return len(s.probes) }

// Less implements heap.Interface.
func (s *schedule) Less(i, j int) bool {
	a, b := s.probes[i], s.probes[j]
	if d := a.due.Compare(b.due); d != 0 {
		return d < 0
	}
	return a.seq < b.seq
}

// Swap implements heap.Interface.
func (s *schedule) Swap(i, j int) {
	s.probes[i], s.probes[j] = s.probes[j], s.probes[i]
	s.probes[i].position, s.probes[j].position = i, j
}

// Push implements heap.Interface.
func (s *schedule) Push(x any) {
	p := x.(*probe)
	p.position = len(s.probes)
	s.probes = append(s.probes, p)
}

// Pop implements heap.Interface.
func (s *schedule) Pop() any {
	last := len(s.probes) - 1
	p := s.probes[last]
	s.probes[last] = nil
	s.probes = s.probes[:last]
	p.position = -1
	return p
}
