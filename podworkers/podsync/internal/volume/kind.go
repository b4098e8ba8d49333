package volume

import (
	"reflect"
	"strings"

	v1 "k8s.io/api/core/v1"
)

// Kind is what a volume is made of, by the name of its field.
type Kind string

// The kinds that can be had.
const (
	// EmptyDir begins empty and lives as long as its pod.
	EmptyDir Kind = "emptyDir"
	// HostPath is a path of the host.
	HostPath Kind = "hostPath"
	// ConfigMap has a file for each key of one.
	ConfigMap Kind = "configMap"
	// Secret has a file for each key of one, too.
	Secret Kind = "secret"
	// DownwardAPI has files that tell of the pod.
	DownwardAPI Kind = "downwardAPI"
	// Projected has the files of several sources.
	Projected Kind = "projected"
	// Claim is a volume that lives longer than its pod.
	Claim Kind = "persistentVolumeClaim"
	// Ephemeral has a claim that is made for the pod.
	Ephemeral Kind = "ephemeral"
	// Image has the files of an image, which the runtime mounts.
	Image Kind = "image"
)

// Of is the kind of a volume. One that does not say is an EmptyDir, as by
// default; one with several kinds has all their names.
func Of(v *v1.Volume) Kind {
	set := given(v.VolumeSource)
	if len(set) == 0 {
		return EmptyDir
	}
	return Kind(strings.Join(set, " and "))
}

// HasFiles reports whether the files of the volume are written by us. Nobody
// else writes to it.
func (k Kind) HasFiles() bool {
	switch k {
	case ConfigMap, Secret, DownwardAPI, Projected:
		return true
	}
	return false
}

// Claimed reports whether the volume is one to which a claim is bound.
func (k Kind) Claimed() bool { return k == Claim || k == Ephemeral }

// given are the names of the fields that are set, in a struct of pointers.
func given(union any) []string {
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

// Find is the volume of a pod with a name, or nil.
func Find(pod *v1.Pod, name string) *v1.Volume {
	for i := range pod.Spec.Volumes {
		if pod.Spec.Volumes[i].Name == name {
			return &pod.Spec.Volumes[i]
		}
	}
	return nil
}
