package statustest

import (
	"context"
	"errors"
	"fmt"

	v1 "k8s.io/api/core/v1"

	"github.com/podkeel/podkeel/podmanager"
	"github.com/podkeel/podkeel/podmanager/status"
)

// Trouble is a way in which the destination of a Sink fails.
type Trouble int

// The troubles.
const (
	// NoTrouble: the destination accepts every status.
	NoTrouble Trouble = iota
	// Unreachable: the destination cannot be reached.
	Unreachable
	// Busy: the destination is overloaded, for one pod or for all.
	Busy
	// Refuses: the destination rejects the status and would reject it again.
	Refuses
	// NotYet: the destination does not have the static pod yet.
	NotYet
)

// String returns a description of the trouble.
func (t Trouble) String() string {
	return [...]string{"no trouble", "the destination is away", "the destination is busy", "the destination refuses", "the pod is not there yet"}[t]
}

// newTroubleCheck returns a check that makes the sink fail with trouble, sends a status, ends the trouble and
// sends the status again. The first Send must return the matching error, and the second must store the status.
// The check does nothing if the sink cannot have that trouble.
func newTroubleCheck(trouble Trouble) func(ctx context.Context, s SinkUnderTest) error {
	return func(ctx context.Context, s SinkUnderTest) error {
		if s.Trouble == nil || !s.Trouble(trouble) {
			return nil
		}
		u := newUpdate("a", 1, v1.PodRunning)
		if trouble == NotYet {
			u.Pod.Annotations = map[string]string{podmanager.ConfigSourceAnnotation: podmanager.FileSource}
		}
		if err := checkErrorKind(s.Sink.Send(ctx, u), trouble); err != nil {
			return err
		}
		s.Trouble(NoTrouble)
		return sendAndCompare(ctx, s, u)
	}
}

// checkErrorKind returns an error if err, the result of Send, does not wrap the sentinel that trouble requires:
// ErrRefused, ErrNotYet or neither. It also returns an error if err is nil or wraps another of these sentinels.
func checkErrorKind(err error, trouble Trouble) error {
	if err == nil {
		return fmt.Errorf("%s, and Send returns nil", trouble)
	}
	for is, means := range map[error]Trouble{status.ErrRefused: Refuses, status.ErrNotYet: NotYet} {
		if errors.Is(err, is) != (trouble == means) {
			return fmt.Errorf("%s: whether the error of Send is %q must be %t: %w", trouble, is, trouble == means, err)
		}
	}
	return nil
}
