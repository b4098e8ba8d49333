package patch

import (
	"errors"
	"slices"
	"time"

	v1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
)

// Kind says what the answer of a server means for the one who has asked.
type Kind int

// The kinds of answers.
const (
	// Done: the server has done it.
	Done Kind = iota
	// Gone: the pod is not there any more, so nothing is left to be done.
	Gone
	// OtherUID: another pod has the name, so nothing is left to be done.
	OtherUID
	// Conflict: the precondition failed, or two writers met. Read the pod, then use AnswerToGet.
	Conflict
	// Retry: send it again after a pause of this pod.
	Retry
	// WaitAll: the server has no time, does not know us or cannot be reached. Every request
	// waits.
	WaitAll
	// Refused: the same bytes would be refused again. Send nothing before there is a newer
	// status.
	Refused
)

// String is the name of the kind.
func (k Kind) String() string {
	if names := [...]string{"Done", "Gone", "OtherUID", "Conflict", "Retry", "WaitAll", "Refused"}; k >= 0 && int(k) < len(names) {
		return names[k]
	}
	return "unknown"
}

// Answer is what an answer of the server means.
type Answer struct {
	Kind Kind
	// After is how long the server asks to wait at least; zero if it does not say. It is a
	// minute at most, whatever the server says.
	After time.Duration
	// Forbidden: the server denies the right. It usually has not seen yet that the pod is on
	// this node, but a person should know.
	Forbidden bool
}

// longestAfter bounds what a server asks for: it may be wrong, and would silence the node.
const longestAfter = time.Minute

// AnswerToPatch says what the answer to a patch of a pod's status means. A nil error is Done.
func AnswerToPatch(err error) Answer { return answerTo(err) }

// AnswerToDelete says what the answer to the deletion of a pod means. A nil error is Done: the
// server has accepted it, and the pod goes when its finalizers have.
func AnswerToDelete(err error) Answer {
	a := answerTo(err)
	if a.Kind == Refused {
		a.Kind = Retry
	}
	return a
}

// AnswerToGet says what a pod means that was read after a Conflict: Gone, OtherUID, or Retry if it
// is the one with this UID.
func AnswerToGet(uid types.UID, pod *v1.Pod, err error) Answer {
	switch a := answerTo(err); {
	case a.Kind == Refused || a.Kind == Conflict || a.Kind == Done && pod == nil:
		return Answer{Kind: Retry}
	case a.Kind != Done:
		return a
	case pod.UID != uid:
		return Answer{Kind: OtherUID}
	}
	return Answer{Kind: Retry}
}

func answerTo(err error) Answer {
	if err == nil {
		return Answer{Kind: Done}
	}
	a := Answer{Kind: Retry}
	if seconds, ok := apierrors.SuggestsClientDelay(err); ok {
		a.After = max(0, min(time.Duration(seconds)*time.Second, longestAfter))
	}
	switch reason := apierrors.ReasonForError(err); reason {
	case metav1.StatusReasonNotFound, metav1.StatusReasonGone:
		a.Kind = Gone
	case metav1.StatusReasonConflict:
		a.Kind = Conflict
	case metav1.StatusReasonInvalid:
		a.Kind = Refused
		if isUIDConflict(err) {
			a.Kind = Conflict
		}
	case metav1.StatusReasonBadRequest, metav1.StatusReasonRequestEntityTooLarge, metav1.StatusReasonUnsupportedMediaType,
		metav1.StatusReasonNotAcceptable, metav1.StatusReasonMethodNotAllowed:
		a.Kind = Refused
	case metav1.StatusReasonForbidden:
		a.Forbidden = true
	case metav1.StatusReasonTooManyRequests, metav1.StatusReasonUnauthorized, metav1.StatusReasonServiceUnavailable:
		a.Kind = WaitAll
	case metav1.StatusReasonUnknown:
		if statusOf(err) == nil {
			a.Kind = WaitAll
		}
	}
	return a
}

// statusOf is the answer that an error carries; nil if no answer came.
func statusOf(err error) *metav1.Status {
	var s apierrors.APIStatus
	if !errors.As(err, &s) {
		return nil
	}
	status := s.Status()
	return &status
}

// isUIDConflict reports whether the UID of a patch was refused, as a change of the UID.
func isUIDConflict(err error) bool {
	s := statusOf(err)
	return s != nil && s.Details != nil && slices.ContainsFunc(s.Details.Causes, func(c metav1.StatusCause) bool {
		return c.Field == "metadata.uid"
	})
}
