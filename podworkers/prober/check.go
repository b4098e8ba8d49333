package prober

import (
	"context"
	"time"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/podkeel/podkeel/podworkers/prober/verdict"
)

// Outcome is what one check has found.
type Outcome uint8

// The outcomes. The zero value is none: a check that returns it without an
// error has not checked anything.
const (
	// Passed counts as a success.
	Passed Outcome = iota + 1
	// Warned counts as a success with a warning event.
	Warned
	// Failed counts as a failure.
	Failed
)

// String is the outcome's name.
func (o Outcome) String() string {
	if o >= Passed && o <= Failed {
		return [...]string{"Passed", "Warned", "Failed"}[o-Passed]
	}
	return "None"
}

// value is what an outcome says of the container.
func (o Outcome) value() verdict.Value {
	switch o {
	case Passed, Warned:
		return verdict.Success
	case Failed:
		return verdict.Failure
	}
	return verdict.Unknown
}

// Request is one check to be made. What it points to is only to be read.
type Request struct {
	// UID, Namespace and Name are the pod's.
	UID       types.UID
	Namespace string
	Name      string
	// PodIP is the pod's first address; empty if it has none yet.
	PodIP string
	// Container is the name, ContainerID the ID as in the pod's status.
	Container   string
	ContainerID string
	// Ports are the container's: a probe may name one of them.
	Ports []v1.ContainerPort
	// Kind is why it is checked.
	Kind verdict.Kind
	// Handler says how to check. One field of it is set, or none if the pod
	// makes no sense.
	Handler *v1.ProbeHandler
	// Timeout is how long the check may take; its context ends after that.
	Timeout time.Duration
}

// Checker makes checks. It is what a program implements that has its own ways
// to look into a container; package check has the usual ones.
type Checker interface {
	// Check makes one check and says what it has found, and why in a few words for
	// people. It is called concurrently, never twice at once for the same probe of the
	// same container, with a context that ends at the timeout or when its result is no
	// longer needed; it returns soon after that.
	//
	// An error means that the check could not be made, so that nothing has been found
	// out about the container. It is made again at once, twice at most. An error after
	// the timeout is a failure of the container.
	Check(ctx context.Context, req Request) (Outcome, string, error)
}
