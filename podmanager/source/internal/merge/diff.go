package merge

import (
	"maps"
	"time"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	"k8s.io/apimachinery/pkg/types"
)

// The local annotations: ours, not the source's. podmanager has them for
// everybody; a pure package cannot import it, and a test of package source
// keeps the two spellings equal.
const (
	// SourceAnnotation names the source a pod came from.
	SourceAnnotation = "kubernetes.io/config.source"
	// MirrorAnnotation marks a mirror pod.
	MirrorAnnotation = "kubernetes.io/config.mirror"
	// SeenAnnotation is when the source first had the pod.
	SeenAnnotation = "kubernetes.io/config.seen"
)

// APISource is the name of the source that may have mirror pods.
const APISource = "api"

// Changes are what a consumer gets, in the order of delivery.
// The pods are shared with the source, annotations apart, and must not be modified.
type Changes struct {
	// First: this is the source's first snapshot, so that Add is delivered
	// even when empty.
	First bool
	// Remove, Add, Update, Delete and Reconcile are in the order of the
	// snapshot: the old one for Remove, the new one for the others.
	Remove, Add, Update, Delete, Reconcile []*v1.Pod
	// Rejected is what the new snapshot rejects and the old one did not, so
	// that each fault is told once.
	Rejected []Rejected
}

// compare files a pod that is in both snapshots under what changed in it.
func (c *Changes) compare(before *v1.Pod, e entry, source string) {
	if before == e.pod {
		return
	}
	if !desiredStateDiffers(before, e.pod) {
		if !equality.Semantic.DeepEqual(before.Status, e.pod.Status) {
			c.Reconcile = append(c.Reconcile, e.deliver(source))
		}
		return
	}
	if e.pod.DeletionTimestamp != nil {
		c.Delete = append(c.Delete, e.deliver(source))
		return
	}
	c.Update = append(c.Update, e.deliver(source))
}

// desiredStateDiffers compares what a user wants, as opposed to what was observed.
func desiredStateDiffers(a, b *v1.Pod) bool {
	return !equality.Semantic.DeepEqual(a.Labels, b.Labels) ||
		!equality.Semantic.DeepEqual(a.DeletionTimestamp, b.DeletionTimestamp) ||
		!equality.Semantic.DeepEqual(a.DeletionGracePeriodSeconds, b.DeletionGracePeriodSeconds) ||
		annotationsDiffer(a.Annotations, b.Annotations) ||
		!equality.Semantic.DeepEqual(a.Spec, b.Spec)
}

// annotationsDiffer ignores the local annotations.
func annotationsDiffer(a, b map[string]string) bool {
	return missing(a, b) || missing(b, a)
}

// missing reports whether b lacks a non-local annotation of a or has it with
// another value.
func missing(a, b map[string]string) bool {
	for key, value := range a {
		if local(key) {
			continue
		}
		if other, ok := b[key]; !ok || other != value {
			return true
		}
	}
	return false
}

func local(key string) bool {
	return key == SourceAnnotation || key == MirrorAnnotation || key == SeenAnnotation
}

// deliver makes the stamped copy that the consumer gets (CF-7, CF-8). It shares all but the
// annotations with the source's, which is never changed. A pod that is the Tracker's own is
// stamped already.
func (e entry) deliver(source string) *v1.Pod {
	if e.stamped {
		return e.pod
	}
	pod := *e.pod
	pod.Annotations = e.annotations(source)
	return &pod
}

// annotations are those of the pod and the local ones.
func (e entry) annotations(source string) map[string]string {
	all := make(map[string]string, len(e.pod.Annotations)+2)
	maps.Copy(all, e.pod.Annotations)
	if source != APISource {
		delete(all, MirrorAnnotation) // Only an API server has mirror pods. A static pod that is taken for one would end without a word.
	}
	all[SourceAnnotation] = source
	all[SeenAnnotation] = e.seen.Format(time.RFC3339Nano)
	return all
}

// newlyRejected leaves out what was rejected before for the same reason.
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

// rebuilt reports whether something of a pod has changed under its UID that an
// API server would never let change. Such a pod is another pod (F18): applied
// in place, half of the change would take effect at the next restart and the
// rest never.
func rebuilt(before, now *v1.Pod) bool {
	if before == now || now.DeletionTimestamp != nil || equality.Semantic.DeepEqual(before.Spec, now.Spec) {
		return false
	}
	return !equality.Semantic.DeepEqual(fixed(&before.Spec), fixed(&now.Spec))
}

// fixed is a spec without what may change during a pod's life: images, the
// deadline, the grace, tolerations, ephemeral containers, scheduling, and
// resources, which an API server lets a pod be resized by.
func fixed(spec *v1.PodSpec) *v1.PodSpec {
	spec = spec.DeepCopy()
	for _, containers := range [...][]v1.Container{spec.InitContainers, spec.Containers} {
		for i := range containers {
			c := &containers[i]
			c.Image, c.ImagePullPolicy = "", "" // The default of the latter follows the image's tag.
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
