package cgroups

import (
	"errors"
	"fmt"
	"path"
	"strings"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/podkeel/podkeel/internal/podspec"
)

// ErrInvalidName is wrapped by errors about an owner or a UID that cannot be part of a path.
var ErrInvalidName = errors.New("cgroups: invalid name")

const (
	rootPrefix     = "podkeel-"
	podPrefix      = "pod"
	burstableName  = "burstable"
	bestEffortName = "besteffort"
	maxOwnerLength = 64
)

// Root is the cgroup that contains all pods of one agent. The zero Root is invalid.
type Root struct{ name string }

// RootForOwner returns the root /podkeel-<owner>. An owner has 1 to 64 letters, digits, '-', '_' and '.', beginning
// with a letter or digit. Two agents on one host need different owners.
func RootForOwner(owner string) (Root, error) {
	if len(owner) > maxOwnerLength || !podspec.IsValidUID(types.UID(owner)) {
		return Root{}, fmt.Errorf("%w: owner %.80q: expected 1 to %d letters, digits, '-', '_' and '.', beginning with a letter or digit",
			ErrInvalidName, owner, maxOwnerLength)
	}
	return Root{rootPrefix + owner}, nil
}

// String returns the path of the root below the mount point of a hierarchy.
func (r Root) String() string { return "/" + r.name }

// PodDir returns the path of a pod's cgroup below the mount point of a hierarchy, for example
// "/podkeel-a/burstable/pod1234".
func (r Root) PodDir(class v1.PodQOSClass, uid types.UID) (string, error) {
	if err := podspec.CheckUID(uid); err != nil {
		return "", fmt.Errorf("%w: %w", ErrInvalidName, err)
	}
	return path.Join(r.classDir(class), podPrefix+string(uid)), nil
}

// classDir returns the path of the cgroup that contains the pods of a QoS class. The pods of a class other than
// Burstable and BestEffort are directly in the root.
func (r Root) classDir(class v1.PodQOSClass) string {
	switch class {
	case v1.PodQOSBurstable:
		return path.Join(r.String(), burstableName)
	case v1.PodQOSBestEffort:
		return path.Join(r.String(), bestEffortName)
	}
	return r.String()
}

// qosClasses are the three classes whose directories contain pods.
var qosClasses = [...]v1.PodQOSClass{v1.PodQOSGuaranteed, v1.PodQOSBurstable, v1.PodQOSBestEffort}

// ParsePodDir returns the QoS class and the UID of a path that PodDir has returned. The result is false for every other
// path, also for a path below the cgroup of a pod and for a path in another root.
func (r Root) ParsePodDir(dir string) (class v1.PodQOSClass, uid types.UID, ok bool) {
	parent, base := path.Split(dir)
	uid, ok = parsePodName(base)
	if !ok || r.name == "" {
		return "", "", false
	}
	for _, class := range qosClasses {
		if parent == r.classDir(class)+"/" {
			return class, uid, true
		}
	}
	return "", "", false
}

// parsePodName returns the UID in the name of a pod's directory. Only the prefix is cut, so a UID may contain "pod".
func parsePodName(name string) (uid types.UID, ok bool) {
	text, ok := strings.CutPrefix(name, podPrefix)
	uid = types.UID(text)
	return uid, ok && podspec.IsValidUID(uid)
}

// SystemdDir converts a path of PodDir to the nested slices that the cgroup driver systemd uses, for example
// "/podkeel_a.slice/podkeel_a-burstable.slice/podkeel_a-burstable-pod1234.slice". A runtime with that driver gets the
// last element. Names with "_" or "." cannot be converted: "-" becomes "_", and the names could not be told apart.
func SystemdDir(dir string) (string, error) {
	slices, prefix := "", ""
	for element := range strings.SplitSeq(strings.TrimPrefix(dir, "/"), "/") {
		if element == "" || strings.ContainsAny(element, "_.") {
			return "", fmt.Errorf("%w: %.80q has an element that is empty or contains '_' or '.', and so has no slice", ErrInvalidName, dir)
		}
		prefix += strings.ReplaceAll(element, "-", "_")
		slices += "/" + prefix + ".slice"
		prefix += "-"
	}
	return slices, nil
}

// CgroupfsDir converts a path of SystemdDir back. The result is false for every other path.
func CgroupfsDir(slices string) (dir string, ok bool) {
	last := path.Base(slices)
	text, ok := strings.CutSuffix(last, ".slice")
	if !ok {
		return "", false
	}
	for element := range strings.SplitSeq(text, "-") {
		dir += "/" + strings.ReplaceAll(element, "_", "-")
	}
	again, err := SystemdDir(dir)
	return dir, err == nil && again == slices
}
