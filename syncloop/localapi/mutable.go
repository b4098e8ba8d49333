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

// Messages of an API server about immutable fields of a pod.
const (
	specUpdateForbidden      = "pod updates may not change fields other than `spec.containers[*].image`,`spec.initContainers[*].image`,`spec.activeDeadlineSeconds`,`spec.tolerations` (only additions to existing tolerations)"
	ephemeralUpdateForbidden = "only additions to `spec.ephemeralContainers` are possible here"
)

// validateSpecUpdate returns an error for each change of a pod's spec that an API server forbids. Allowed are
// other images, a first or shorter activeDeadlineSeconds, and added tolerations or other tolerationSeconds.
func validateSpecUpdate(before, after *v1.Pod) (errs field.ErrorList) {
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
		errs = append(errs, field.Forbidden(spec, specUpdateForbidden))
	}
	return errs
}

// validateAppArmorUpdate returns an error for each added, changed or removed AppArmor annotation. The next
// start of a container would otherwise use the new profile.
func validateAppArmorUpdate(before, after *v1.Pod) (errs field.ErrorList) {
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

// validateFinalizers returns an error for each malformed finalizer, and for each finalizer that is added to a
// pod that is being deleted.
func validateFinalizers(before, after *v1.Pod) (errs field.ErrorList) {
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

// validateEphemeralUpdate returns an error for each change other than an added ephemeral container.
func validateEphemeralUpdate(before, after *v1.Pod) (errs field.ErrorList) {
	was, now := before.Spec.EphemeralContainers, after.Spec.DeepCopy()
	if len(now.EphemeralContainers) < len(was) || !equality.Semantic.DeepEqual(now.EphemeralContainers[:len(was)], was) {
		errs = append(errs, field.Forbidden(field.NewPath("spec", "ephemeralContainers"), "existing ephemeral containers may not be changed or removed"))
	}
	now.EphemeralContainers = was
	if !equality.Semantic.DeepEqual(*now, before.Spec) {
		errs = append(errs, field.Forbidden(field.NewPath("spec"), ephemeralUpdateForbidden))
	}
	return errs
}
