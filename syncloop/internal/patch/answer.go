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

// Kind is how the caller must react to an answer of the server.
type Kind int

// The kinds of answers.
const (
	// Done: the request has succeeded.
	Done Kind = iota
	// Gone: the pod does not exist any longer, so the caller does nothing.
	Gone
	// OtherUID: another pod has the name, so the caller does nothing.
	OtherUID
	// Conflict: the precondition failed, or two writers collided. The caller reads the pod and calls
	// AnswerToGet.
	Conflict
	// Retry: the caller sends the request again after a pause for this pod.
	Retry
	// WaitAll: the server is overloaded, does not accept the node's credentials or is unreachable. All
	// requests pause.
	WaitAll
	// Refused: the server would refuse the same bytes again. The caller waits for a newer status.
	Refused
)

// String returns the name of the kind.
func (k Kind) String() string {
	if names := [...]string{"Done", "Gone", "OtherUID", "Conflict", "Retry", "WaitAll", "Refused"}; k >= 0 && int(k) < len(names) {
		return names[k]
	}
	return "unknown"
}

// Answer is the meaning of an answer of the server.
type Answer struct {
	Kind Kind
	// After is the minimum pause that the server asks for, at most one minute; zero: the server does not say.
	After time.Duration
	// Forbidden: the server denies the permission. Usually it has not yet seen that the pod is on this node,
	// but an operator should see it.
	Forbidden bool
}

// longestAfter bounds the pause that a server asks for. A wrong value must not silence the node.
const longestAfter = time.Minute

// AnswerToPatch returns the meaning of the answer to a patch of a pod's status. A nil error is Done.
func AnswerToPatch(err error) Answer { return reactionToError(err) }

// AnswerToDelete returns the meaning of the answer to the deletion of a pod. A nil error is Done: the server
// has accepted the deletion, and removes the pod after its finalizers.
func AnswerToDelete(err error) Answer {
	a := reactionToError(err)
	if a.Kind == Refused {
		a.Kind = Retry
	}
	return a
}

// AnswerToGet returns the meaning of a pod that was read after a Conflict: Gone, OtherUID, or Retry if the pod
// has this UID.
func AnswerToGet(uid types.UID, pod *v1.Pod, err error) Answer {
	switch a := reactionToError(err); {
	case a.Kind == Refused || a.Kind == Conflict || a.Kind == Done && pod == nil:
		return Answer{Kind: Retry}
	case a.Kind != Done:
		return a
	case pod.UID != uid:
		return Answer{Kind: OtherUID}
	}
	return Answer{Kind: Retry}
}

// reactionToError returns how a caller must react to the error of a request. The Answer has the kind of the
// reaction, the delay that the server asks for, and whether access is forbidden. A nil error is Done.
func reactionToError(err error) Answer {
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

// statusOf returns the API status in an error. It returns nil if the error has none, for example because the
// server did not answer.
func statusOf(err error) *metav1.Status {
	var s apierrors.APIStatus
	if !errors.As(err, &s) {
		return nil
	}
	status := s.Status()
	return &status
}

// isUIDConflict reports whether the server refused a patch because it would change the UID.
func isUIDConflict(err error) bool {
	s := statusOf(err)
	return s != nil && s.Details != nil && slices.ContainsFunc(s.Details.Causes, func(c metav1.StatusCause) bool {
		return c.Field == "metadata.uid"
	})
}
