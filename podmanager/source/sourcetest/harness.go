package sourcetest

import (
	"errors"
	"time"

	v1 "k8s.io/api/core/v1"

	"github.com/podkeel/podkeel/podmanager/source"
)

// Harness is a source under test, with functions that change its pods.
type Harness struct {
	// Source is the source under test. It has not been run.
	Source source.Source
	// Set makes these pods all that the source has, as if a user had written them. There may be
	// none. Unreadable input becomes readable again. It is called before and while the source runs,
	// one call at a time. It may keep the pods. An error fails the case.
	Set func(pods []*v1.Pod) error
	// Break makes the input of the last Set unreadable, so that the source cannot know which pods
	// it has. It is called like Set. Nil skips the cases that need it, for a source whose input is
	// always readable.
	Break func() error
	// Timeout limits every wait for a required event. 0 is 20 seconds.
	Timeout time.Duration
	// Pause is how long a case waits to check that something does not happen. It should be longer
	// than the source needs to detect a change. 0 is 1 second.
	Pause time.Duration
}

// setDefaultsAndValidate sets the default times and returns an error that names the missing fields.
func (h *Harness) setDefaultsAndValidate() error {
	var faults []error
	if h.Source == nil {
		faults = append(faults, errors.New("sourcetest: Harness.Source is missing"))
	}
	if h.Set == nil {
		faults = append(faults, errors.New("sourcetest: Harness.Set is missing"))
	}
	if h.Timeout == 0 {
		h.Timeout = 20 * time.Second
	}
	if h.Pause == 0 {
		h.Pause = time.Second
	}
	return errors.Join(faults...)
}
