package merge

import (
	"maps"
	"time"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	"k8s.io/apimachinery/pkg/types"
)

// The local annotations: the node sets them, not the source. Package podmanager defines them. A
// pure package cannot import it, so a test of package source checks that both spellings are equal.
const (
	// SourceAnnotation names the source a pod came from.
	SourceAnnotation = "kubernetes.io/config.source"
	// MirrorAnnotation marks a mirror pod.
	MirrorAnnotation = "kubernetes.io/config.mirror"
	// SeenAnnotation is when the source first delivered the pod.
	SeenAnnotation = "kubernetes.io/config.seen"
)

// APISource is the name of the source that may have mirror pods.
const APISource = "api"

// Changes are the changes for the consumer, in the order of delivery. The pods are shared with the
// source, except for their annotations, and must not be modified.
type Changes struct {
	// First: this is the source's first snapshot, so Add is delivered even if it is empty.
	First bool
	// Remove, Add, Update, Delete and Reconcile are in the order of the snapshot: of the old one
	// for Remove, of the new one for the others.
	Remove, Add, Update, Delete, Reconcile []*v1.Pod
	// Rejected are the pods that are rejected now and were not before, so that each fault is
	// reported once.
	Rejected []Rejected
}

// addChange adds the pod of e to one list of changes. If nothing differs from before, it adds nothing. If only
// the status differs, it adds the pod to Reconcile. If anything else differs, it adds a pod with a deletion
// timestamp to Delete, and any other pod to Update.
func (c *Changes) addChange(before *v1.Pod, e entry, source string) {
	if before == e.pod {
		return
	}
	if !desiredStateDiffers(before, e.pod) {
		if !equality.Semantic.DeepEqual(before.Status, e.pod.Status) {
			c.Reconcile = append(c.Reconcile, e.podWithAnnotations(source))
		}
		return
	}
	if e.pod.DeletionTimestamp != nil {
		c.Delete = append(c.Delete, e.podWithAnnotations(source))
		return
	}
	c.Update = append(c.Update, e.podWithAnnotations(source))
}

// desiredStateDiffers reports whether the labels, the annotations, the deletion or the spec of two pods differ.
// It ignores the annotations that the node sets.
func desiredStateDiffers(a, b *v1.Pod) bool {
	return !equality.Semantic.DeepEqual(a.Labels, b.Labels) ||
		!equality.Semantic.DeepEqual(a.DeletionTimestamp, b.DeletionTimestamp) ||
		!equality.Semantic.DeepEqual(a.DeletionGracePeriodSeconds, b.DeletionGracePeriodSeconds) ||
		annotationsDiffer(a.Annotations, b.Annotations) ||
		!equality.Semantic.DeepEqual(a.Spec, b.Spec)
}

// annotationsDiffer reports whether two maps of annotations differ. It ignores the annotations that the node
// sets.
func annotationsDiffer(a, b map[string]string) bool {
	return hasNonLocalKeyMissingOrOtherIn(a, b) || hasNonLocalKeyMissingOrOtherIn(b, a)
}

// hasNonLocalKeyMissingOrOtherIn reports whether an annotation of a is missing in b or has another value there.
// It ignores the annotations that the node sets.
func hasNonLocalKeyMissingOrOtherIn(a, b map[string]string) bool {
	for key, value := range a {
		if isLocalAnnotation(key) {
			continue
		}
		if other, ok := b[key]; !ok || other != value {
			return true
		}
	}
	return false
}

// isLocalAnnotation reports whether the node sets the annotation with this key itself: source, mirror or
// first-seen time.
func isLocalAnnotation(key string) bool {
	return key == SourceAnnotation || key == MirrorAnnotation || key == SeenAnnotation
}

// podWithAnnotations returns a shallow copy of the pod whose annotations contain its source and the time at
// which it was first seen (see annotationsWithLocal). If the pod object has these annotations already, it
// returns the pod itself (CF-7, CF-8).
func (e entry) podWithAnnotations(source string) *v1.Pod {
	if e.hasLocalAnnotations {
		return e.pod
	}
	pod := *e.pod
	pod.Annotations = e.annotationsWithLocal(source)
	return &pod
}

// annotationsWithLocal returns a copy of the pod's annotations, with the source and the time it was first seen
// added. For a source that is not the API server it leaves out the mirror annotation, because the loop would
// treat the pod as a mirror pod.
func (e entry) annotationsWithLocal(source string) map[string]string {
	all := make(map[string]string, len(e.pod.Annotations)+2)
	maps.Copy(all, e.pod.Annotations)
	if source != APISource {
		delete(all, MirrorAnnotation) // Only an API server has mirror pods. The loop would terminate a static pod with this annotation as if it were a mirror pod.
	}
	all[SourceAnnotation] = source
	all[SeenAnnotation] = e.firstSeen.Format(time.RFC3339Nano)
	return all
}

// newlyRejected returns the pods of latest that old does not have with the same UID and error. It returns each
// pair of UID and error once.
func newlyRejected(old, latest []Rejected) []Rejected {
	if len(latest) == 0 {
		return nil
	}
	type fault struct {
		uid  types.UID
		text string
	}
	key := func(r Rejected) fault {
		if r.Pod == nil {
			return fault{"", r.Err.Error()}
		}
		return fault{r.Pod.UID, r.Err.Error()}
	}
	told := map[fault]bool{}
	for _, r := range old {
		told[key(r)] = true
	}
	var fresh []Rejected
	for _, r := range latest {
		if !told[key(r)] {
			told[key(r)] = true
			fresh = append(fresh, r)
		}
	}
	return fresh
}

// hasImmutableChange reports whether a spec field has changed that an API server never lets change. Such a pod
// counts as another pod, because a running pod could apply only part of the change. It returns false for a pod
// with a deletion timestamp (F18).
func hasImmutableChange(before, now *v1.Pod) bool {
	if before == now || now.DeletionTimestamp != nil || equality.Semantic.DeepEqual(before.Spec, now.Spec) {
		return false
	}
	return !equality.Semantic.DeepEqual(copyImmutableSpec(&before.Spec), copyImmutableSpec(&now.Spec))
}

// copyImmutableSpec returns a copy of the spec without the fields that may change: images, resources, the
// active deadline, the grace period, tolerations, ephemeral containers, scheduling gates and the node name.
func copyImmutableSpec(spec *v1.PodSpec) *v1.PodSpec {
	spec = spec.DeepCopy()
	for _, containers := range [...][]v1.Container{spec.InitContainers, spec.Containers} {
		for i := range containers {
			c := &containers[i]
			c.Image, c.ImagePullPolicy = "", "" // The default of the pull policy depends on the image's tag.
			c.Resources, c.ResizePolicy = v1.ResourceRequirements{}, nil
		}
	}
	spec.Resources = nil
	spec.EphemeralContainers = nil
	spec.ActiveDeadlineSeconds = nil
	spec.TerminationGracePeriodSeconds = nil
	spec.Tolerations = nil
	spec.SchedulingGates = nil
	spec.NodeName = ""
	return spec
}
