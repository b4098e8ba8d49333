package syncloop

import (
	"fmt"
	"strings"

	"k8s.io/apimachinery/pkg/types"

	"github.com/podkeel/podkeel/syncloop/allocation"
)

// FitError is the error of Fits for a pod that does not fit on the node. errors.As finds it. errors.As with an
// allocation.Reason finds the first reason.
type FitError struct {
	// Node is the node's name; it may be empty.
	Node string
	// Pod is the pod's namespace and name.
	Pod types.NamespacedName
	// Reasons are all reasons, at least one, in the order of the admission chain. A rejection uses the first
	// reason that is not SchedulingOnly.
	Reasons []allocation.Reason
	// Waits is true if the node would not reject the pod but keep it Pending until other pods have terminated
	// or the node has changed.
	Waits bool
}

// Error returns one sentence with all reasons.
func (e *FitError) Error() string {
	on := "the node"
	if e.Node != "" {
		on = "node " + e.Node
	}
	all := make([]string, len(e.Reasons))
	for i, r := range e.Reasons {
		all[i] = r.Error()
	}
	return fmt.Sprintf("pod %s does not fit on %s: %s", e.Pod, on, strings.Join(all, "; "))
}

// Unwrap returns the reasons.
func (e *FitError) Unwrap() []error {
	errs := make([]error, len(e.Reasons))
	for i, r := range e.Reasons {
		errs[i] = r
	}
	return errs
}

// SchedulingOnly reports whether the node would admit the pod, because every reason concerns schedulers only.
func (e *FitError) SchedulingOnly() bool {
	for _, r := range e.Reasons {
		if !r.SchedulingOnly() {
			return false
		}
	}
	return true
}

// Refused returns a refusal with these reasons. Without reasons it returns a result that admits the pod.
func Refused(reasons ...allocation.Reason) PodAdmitResult {
	if len(reasons) == 0 {
		return admitted
	}
	return PodAdmitResult{Reason: reasons[0].Reason, Message: reasons[0].Message, Reasons: reasons}
}

// allReasons returns the Reasons of a refusal. If it has none, it returns one reason made from the fields
// Reason and Message.
func (r PodAdmitResult) allReasons() []allocation.Reason {
	if len(r.Reasons) > 0 {
		return r.Reasons
	}
	return []allocation.Reason{{Kind: allocation.KindHandler, Reason: r.Reason, Message: r.Message}}
}
