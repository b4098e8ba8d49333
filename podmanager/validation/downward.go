package validation

import (
	"slices"
	"strings"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/validation/field"
)

// What a pod can tell its own containers: the fields that an environment
// variable can be, those that a file can be, and those with a key, such as
// metadata.labels['app'], which both can be.
var (
	bothFields = []string{"metadata.name", "metadata.namespace", "metadata.uid"}
	envFields  = append([]string{"spec.nodeName", "spec.serviceAccountName",
		"status.hostIP", "status.hostIPs", "status.podIP", "status.podIPs"}, bothFields...)
	fileFields = append([]string{"metadata.labels", "metadata.annotations"}, bothFields...)
	keyFields  = []string{"metadata.labels", "metadata.annotations"}
)

// fieldRef wants a field that can be told in one of the two ways.
func (f *findings) fieldRef(ref *v1.ObjectFieldSelector, at *field.Path, allowed []string) {
	if ref == nil {
		return
	}
	if ref.APIVersion != "v1" {
		f.unsupported(at.Child("apiVersion"), ref.APIVersion, "expected v1")
	}
	name, rest, keyed := strings.Cut(ref.FieldPath, "['")
	if keyed {
		key, ends := strings.CutSuffix(rest, "']")
		if ends && slices.Contains(keyFields, name) && len(qualifiedName.complaints(strings.ToLower(key))) == 0 {
			return
		}
	} else if slices.Contains(allowed, ref.FieldPath) {
		return
	}
	f.unsupported(at.Child("fieldPath"), ref.FieldPath, "expected one of %s, metadata.labels['key'], metadata.annotations['key']",
		strings.Join(allowed, ", "))
}

// resourceFields are the resources that can be told, as limits and requests.
var resourceFields = []string{"cpu", "memory", "ephemeral-storage"}

func (f *findings) resourceFieldRef(ref *v1.ResourceFieldSelector, at *field.Path) {
	if ref == nil {
		return
	}
	kind, name, _ := strings.Cut(ref.Resource, ".")
	if kind != "limits" && kind != "requests" || !slices.Contains(resourceFields, name) && !hugePages(v1.ResourceName(name)) {
		f.unsupported(at.Child("resource"), ref.Resource, "expected limits. or requests. and one of %s, hugepages-...",
			strings.Join(resourceFields, ", "))
	}
}
