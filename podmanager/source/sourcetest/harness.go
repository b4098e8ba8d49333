package sourcetest

import (
	"errors"
	"time"

	v1 "k8s.io/api/core/v1"

	"github.com/podkeel/podkeel/podmanager/source"
)

// Harness is a source under test, and how its pods are changed.
type Harness struct {
	// Source is the one under test. It has not been run.
	Source source.Source
	// Set makes these pods all that the source has, as if their author had written
	// them anew; none is a valid answer. What was unreadable is readable again. It is
	// called before and while the source runs, one call at a time. The pods are the
	// callee's. An error fails the case.
	Set func(pods []*v1.Pod) error
	// Break makes unreadable what the last Set wrote, so that the source cannot know
	// which pods it has. It is called as Set is. nil skips the cases that need it, for a
	// source that always knows.
	Break func() error
	// Timeout bounds every wait for something that has to happen. 0 is 20 seconds.
	Timeout time.Duration
	// Pause is how long a case waits to see that something does not happen. It should
	// be longer than the source takes to notice a change. 0 is 1 second.
	Pause time.Duration
}

// complete fills in the defaults, and says what is missing.
func (h *Harness) complete() error {
	var faults []error
	if h.Source == nil {
		faults = append(faults, errors.New("sourcetest: the harness has no Source"))
	}
	if h.Set == nil {
		faults = append(faults, errors.New("sourcetest: the harness has no Set"))
	}
	if h.Timeout == 0 {
		h.Timeout = 20 * time.Second
	}
	if h.Pause == 0 {
		h.Pause = time.Second
	}
	return errors.Join(faults...)
}
