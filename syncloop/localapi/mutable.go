package localapi

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	"k8s.io/apimachinery/pkg/util/validation"
	"k8s.io/apimachinery/pkg/util/validation/field"
)

// The rules of a real server about what of a pod may change.
const (
	onlyThese     = "pod updates may not change fields other than `spec.containers[*].image`,`spec.initContainers[*].image`,`spec.activeDeadlineSeconds`,`spec.tolerations` (only additions to existing tolerations)"
	onlyEphemeral = "only additions to `spec.ephemeralContainers` are possible here"
)

// checkUpdate is what is wrong with a change of a pod's spec.
func checkUpdate(before, after *v1.Pod) (errs field.ErrorList) {
	spec := field.NewPath("spec")
	now := after.Spec.DeepCopy()
	for lists, into := range map[*[]v1.Container][]v1.Container{&before.Spec.Containers: now.Containers, &before.Spec.InitContainers: now.InitContainers} {
		for i := range min(len(*lists), len(into)) {
			into[i].Image = (*lists)[i].Image
		}
	}
	switch was, is := before.Spec.ActiveDeadlineSeconds, now.ActiveDeadlineSeconds; {
	case is == nil && was != nil:
		errs = append(errs, field.Invalid(spec.Child("activeDeadlineSeconds"), nil, "must not update from a positive integer to nil value"))
	case was != nil && *is > *was:
		errs = append(errs, field.Invalid(spec.Child("activeDeadlineSeconds"), *is, "must be less than or equal to previous value"))
	}
	now.ActiveDeadlineSeconds = before.Spec.ActiveDeadlineSeconds
	for _, t := range before.Spec.Tolerations {
		stays := func(other v1.Toleration) bool {
			t.TolerationSeconds = other.TolerationSeconds
			return equality.Semantic.DeepEqual(t, other)
		}
		if !slices.ContainsFunc(now.Tolerations, stays) {
			errs = append(errs, field.Forbidden(spec.Child("tolerations"), "existing toleration can not be modified except its tolerationSeconds"))
		}
	}
	now.Tolerations = before.Spec.Tolerations
	if !equality.Semantic.DeepEqual(*now, before.Spec) {
		errs = append(errs, field.Forbidden(spec, onlyThese))
	}
	return errs
}

// checkAnnotations returns the faults of a change to the annotations that confine a pod: the next
// start of a container would follow the new annotations.
func checkAnnotations(before, after *v1.Pod) (errs field.ErrorList) {
	path := field.NewPath("metadata", "annotations")
	changed := maps.Clone(after.Annotations)
	if changed == nil {
		changed = map[string]string{}
	}
	for key, was := range before.Annotations {
		if is, set := changed[key]; set && is == was {
			delete(changed, key)
		} else {
			changed[key] = is
		}
	}
	for _, key := range slices.Sorted(maps.Keys(changed)) {
		if strings.HasPrefix(key, v1.DeprecatedAppArmorBetaContainerAnnotationKeyPrefix) {
			errs = append(errs, field.Forbidden(path.Key(key), "may not add, change or remove AppArmor annotations"))
		}
	}
	return errs
}

// checkFinalizers is what is wrong with a change of a pod's finalizers.
func checkFinalizers(before, after *v1.Pod) (errs field.ErrorList) {
	path := field.NewPath("metadata", "finalizers")
	for _, name := range after.Finalizers {
		for _, fault := range validation.IsQualifiedName(name) {
			errs = append(errs, field.Invalid(path, name, fault))
		}
		if before.DeletionTimestamp != nil && !slices.Contains(before.Finalizers, name) {
			errs = append(errs, field.Forbidden(path, fmt.Sprintf("no new finalizers can be added if the object is being deleted, found new finalizers []string{%q}", name)))
		}
	}
	return errs
}

// checkEphemeral is what is wrong with a change of a pod's ephemeral containers.
func checkEphemeral(before, after *v1.Pod) (errs field.ErrorList) {
	was, now := before.Spec.EphemeralContainers, after.Spec.DeepCopy()
	if len(now.EphemeralContainers) < len(was) || !equality.Semantic.DeepEqual(now.EphemeralContainers[:len(was)], was) {
		errs = append(errs, field.Forbidden(field.NewPath("spec", "ephemeralContainers"), "existing ephemeral containers may not be changed or removed"))
	}
	now.EphemeralContainers = was
	if !equality.Semantic.DeepEqual(*now, before.Spec) {
		errs = append(errs, field.Forbidden(field.NewPath("spec"), onlyEphemeral))
	}
	return errs
}
