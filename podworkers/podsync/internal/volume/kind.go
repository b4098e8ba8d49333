package volume

import (
	"reflect"
	"strings"

	v1 "k8s.io/api/core/v1"
)

// Kind is the kind of a volume. Its value is the name of the field in the spec.
type Kind string

// The supported kinds.
const (
	// EmptyDir is empty at first and is removed with its pod.
	EmptyDir Kind = "emptyDir"
	// HostPath is a path of the host.
	HostPath Kind = "hostPath"
	// ConfigMap has a file for each key of a ConfigMap.
	ConfigMap Kind = "configMap"
	// Secret has a file for each key of a Secret.
	Secret Kind = "secret"
	// DownwardAPI has files that show fields of the pod.
	DownwardAPI Kind = "downwardAPI"
	// Projected has the files of several sources.
	Projected Kind = "projected"
	// Claim is a volume that outlives its pod.
	Claim Kind = "persistentVolumeClaim"
	// Ephemeral is a volume whose claim is created for the pod.
	Ephemeral Kind = "ephemeral"
	// Image has the files of an image. The runtime mounts it.
	Image Kind = "image"
)

// KindOf returns the kind of a volume. A volume without a kind is an EmptyDir, the default of the API.
// The result for a volume with several kinds has all their names.
func KindOf(v *v1.Volume) Kind {
	set := nonNilFieldNames(v.VolumeSource)
	if len(set) == 0 {
		return EmptyDir
	}
	return Kind(strings.Join(set, " and "))
}

// HasFiles reports whether the agent writes the files of the volume. Containers cannot write to it.
func (k Kind) HasFiles() bool {
	switch k {
	case ConfigMap, Secret, DownwardAPI, Projected:
		return true
	}
	return false
}

// IsClaim reports whether the volume is bound to a claim.
func (k Kind) IsClaim() bool { return k == Claim || k == Ephemeral }

// nonNilFieldNames returns the JSON names of the fields that are not nil. union must be a struct whose fields
// are all pointers.
func nonNilFieldNames(union any) []string {
	var set []string
	v := reflect.ValueOf(union)
	for i := range v.NumField() {
		if !v.Field(i).IsNil() {
			name, _, _ := strings.Cut(v.Type().Field(i).Tag.Get("json"), ",")
			set = append(set, name)
		}
	}
	return set
}

// VolumeByName returns the volume of a pod with a name, or nil.
func VolumeByName(pod *v1.Pod, name string) *v1.Volume {
	for i := range pod.Spec.Volumes {
		if pod.Spec.Volumes[i].Name == name {
			return &pod.Spec.Volumes[i]
		}
	}
	return nil
}
