package statustest

import (
	"context"
	"errors"
	"fmt"

	v1 "k8s.io/api/core/v1"

	"github.com/podkeel/podkeel/podmanager"
	"github.com/podkeel/podkeel/podmanager/status"
)

// Trouble is how the destination of a Sink fails.
type Trouble int

// The troubles.
const (
	// NoTrouble: the destination takes what it is sent.
	NoTrouble Trouble = iota
	// Unreachable: the destination cannot be reached.
	Unreachable
	// Busy: the destination has no time for one pod, or for any.
	Busy
	// Refuses: the destination would refuse the same status again.
	Refuses
	// NotYet: the destination does not have the pod, a static one, and will have it.
	NotYet
)

// String is the trouble's name.
func (t Trouble) String() string {
	return [...]string{"no trouble", "the destination is away", "the destination is busy", "the destination refuses", "the pod is not there yet"}[t]
}

// checkTrouble sends a status while there is trouble, and once more after it.
func checkTrouble(trouble Trouble) func(ctx context.Context, s SinkUnderTest) error {
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

// checkErrorKind checks that an error of Send says what a Sender does next.
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
