package apiservertest

import (
	"slices"
	"time"

	"github.com/podkeel/podkeel/internal/executor"
)

// Fault is what happens to requests. An empty field of the first group selects all.
type Fault struct {
	// Node is whose requests are meant, Verb and Resource are as in a Request, Name is the
	// object's.
	Node, Verb, Resource, Name string
	// Times is how many requests meet the fault; zero is all until it is cleared.
	Times int

	// Latency is how long the request is under way.
	Latency time.Duration
	// Hang has the request wait until the fault is cleared, or the caller gives up.
	Hang bool
	// Late has a request that hangs and whose caller has given up be carried out when
	// the fault is cleared.
	Late bool
	// Err is the answer, instead of the server's own.
	Err error
	// Lost says that the request is carried out and its answer lost: the caller gets Err,
	// or a broken connection without one.
	Lost bool
}

// lostResponseError is what the caller sees instead of the answer.
func (f Fault) lostResponseError() error {
	if f.Err != nil {
		return f.Err
	}
	return errReset()
}

// activeFault is one that is under way.
type activeFault struct {
	Fault
	cleared executor.Latch
	met     int
}

func (f *activeFault) matches(r *Request) bool {
	return (f.Times == 0 || f.met < f.Times) && matchesFilter(f.Node, r.Node) && matchesFilter(f.Verb, r.Verb) &&
		matchesFilter(f.Resource, r.Resource) && matchesFilter(f.Name, r.Name)
}

func matchesFilter(selected, is string) bool { return selected == "" || selected == is }

// Inject adds a fault. A request meets the first one that selects it. The returned
// function clears it: requests that hang in it are carried out.
func (s *Server) Inject(f Fault) (clear func()) {
	in := &activeFault{Fault: f, cleared: s.executor.NewLatch()}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.mu.faults = append(s.mu.faults, in)
	return func() { s.clearFault(in) }
}

// ClearFaults clears all faults.
func (s *Server) ClearFaults() {
	s.mu.Lock()
	faults := slices.Clone(s.mu.faults)
	s.mu.Unlock()
	for _, f := range faults {
		s.clearFault(f)
	}
}

func (s *Server) clearFault(f *activeFault) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.mu.faults = slices.DeleteFunc(s.mu.faults, func(o *activeFault) bool { return o == f })
	for _, do := range s.mu.late {
		do()
	}
	s.mu.late = nil
	f.cleared.Open()
}

// matchFaultLocked is the fault that a request meets.
func (s *Server) matchFaultLocked(r *Request) *activeFault {
	for _, f := range s.mu.faults {
		if f.matches(r) {
			f.met++
			return f
		}
	}
	return &activeFault{}
}
