package apiservertest

import (
	"slices"
	"time"

	"github.com/podkeel/podkeel/internal/executor"
)

// Fault changes what happens to matching requests. An empty field of the first group matches all requests.
type Fault struct {
	// Node is the node that sends the request. Verb and Resource are as in a Request: a node writes the status of a pod
	// with the verb patch and the resource pods/status. Name is the name of the object.
	Node, Verb, Resource, Name string
	// Times is how many requests the fault affects; zero: all until it is cleared.
	Times int

	// Latency delays the execution of the request.
	Latency time.Duration
	// Hang makes the request wait until the fault is cleared or the caller gives up.
	Hang bool
	// Late makes a request that hangs and whose caller has given up run when the fault is cleared.
	Late bool
	// Err is the response instead of the server's own.
	Err error
	// Lost means that the request is executed and its response is lost: the caller gets Err, or a connection error if
	// Err is nil.
	Lost bool
}

// lostResponseError returns the error that the caller gets instead of the response: the fault's error, or a
// connection reset.
func (f Fault) lostResponseError() error {
	if f.Err != nil {
		return f.Err
	}
	return errReset()
}

// activeFault is a Fault that has been injected.
type activeFault struct {
	Fault
	cleared  executor.Latch
	requests int
}

// matchesAndIsNotUsedUp reports whether the fault affects a request. All filters of the fault must match, and
// it must have affected fewer requests than its maximum.
func (f *activeFault) matchesAndIsNotUsedUp(r *Request) bool {
	return (f.Times == 0 || f.requests < f.Times) && matchesFilter(f.Node, r.Node) && matchesFilter(f.Verb, r.Verb) &&
		matchesFilter(f.Resource, r.Resource) && matchesFilter(f.Name, r.Name)
}

// matchesFilter reports whether a filter is empty or equals the value.
func matchesFilter(filter, value string) bool { return filter == "" || filter == value }

// Inject adds a fault. The first matching fault affects a request. The returned function clears the fault, so that
// hanging requests are executed.
func (s *Server) Inject(f Fault) (clear func()) {
	in := &activeFault{Fault: f, cleared: s.executor.NewLatch()}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.mu.faults = append(s.mu.faults, in)
	return func() { s.removeFaultAndExecuteWaiting(in) }
}

// ClearFaults clears all faults.
func (s *Server) ClearFaults() {
	s.mu.Lock()
	faults := slices.Clone(s.mu.faults)
	s.mu.Unlock()
	for _, f := range faults {
		s.removeFaultAndExecuteWaiting(f)
	}
}

// removeFaultAndExecuteWaiting removes a fault and lets the requests continue that hang because of it. It also
// executes all requests of canceled callers that executeWhenFaultCleared has kept, whichever fault they met.
func (s *Server) removeFaultAndExecuteWaiting(f *activeFault) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.mu.faults = slices.DeleteFunc(s.mu.faults, func(o *activeFault) bool { return o == f })
	for _, do := range s.mu.late {
		do()
	}
	s.mu.late = nil
	f.cleared.Open()
}

// chooseAndCountFaultLocked returns the first fault that matches a request, and counts the request for that
// fault. Without a match it returns a fault that does nothing.
func (s *Server) chooseAndCountFaultLocked(r *Request) *activeFault {
	for _, f := range s.mu.faults {
		if f.matchesAndIsNotUsedUp(r) {
			f.requests++
			return f
		}
	}
	return &activeFault{}
}
