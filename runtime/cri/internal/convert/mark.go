package convert

import (
	"encoding/json"
	"maps"
	"strconv"

	"k8s.io/apimachinery/pkg/types"

	"github.com/podkeel/podkeel/runtime"
)

// Labels by which records are found.
const (
	// LabelOwner is the agent that made a record.
	LabelOwner = "podkeel.dev/owner"
	// LabelPodName is the name of the pod, as the kubelet writes it.
	LabelPodName = "io.kubernetes.pod.name"
	// LabelPodNamespace is its namespace.
	LabelPodNamespace = "io.kubernetes.pod.namespace"
	// LabelPodUID is its UID.
	LabelPodUID = "io.kubernetes.pod.uid"
	// LabelContainerName is the name of the container.
	LabelContainerName = "io.kubernetes.container.name"
)

// Annotations for which CRI has no field.
const (
	// AnnotationIncarnation is the incarnation of the UID that a record was made for.
	AnnotationIncarnation = "podkeel.dev/incarnation"
	// AnnotationImage is a container's image as it was asked for.
	AnnotationImage = "podkeel.dev/image"
	// AnnotationPlace is what a sandbox's containers have to repeat.
	AnnotationPlace = "podkeel.dev/sandbox"
)

// Place is what CRI wants to hear of a sandbox again when a container is made
// in it, and does not tell itself.
type Place struct {
	LogDir     string             `json:"logDir,omitempty"`
	CgroupDir  string             `json:"cgroupDir,omitempty"`
	Hostname   string             `json:"hostname,omitempty"`
	Privileged bool               `json:"privileged,omitempty"`
	Namespaces runtime.Namespaces `json:"namespaces"`
}

// PlaceOf reads the place back from the annotations of a sandbox. What was not
// written by us is an empty place.
func PlaceOf(annotations map[string]string) Place {
	var p Place
	if json.Unmarshal([]byte(annotations[AnnotationPlace]), &p) != nil {
		return Place{}
	}
	return p
}

func placeOf(req *runtime.RunSandboxRequest) Place {
	p := Place{
		LogDir: req.LogDir, CgroupDir: req.CgroupDir, Hostname: req.Hostname,
		Privileged: req.Security.Privileged, Namespaces: req.Namespaces,
	}
	if req.Namespaces.HostNetwork {
		p.Hostname = ""
	}
	return p
}

// labels are the request's with ours over them.
func labels(asked map[string]string, pod runtime.PodRef, owner string) map[string]string {
	l := map[string]string{}
	maps.Copy(l, asked)
	l[LabelPodName], l[LabelPodNamespace], l[LabelPodUID] = pod.Name, pod.Namespace, string(pod.UID)
	l[LabelOwner] = owner
	return l
}

// annotations are the request's with the incarnation over them.
func annotations(asked map[string]string, pod runtime.PodRef) map[string]string {
	a := map[string]string{}
	maps.Copy(a, asked)
	a[AnnotationIncarnation] = strconv.FormatUint(pod.Incarnation, 10)
	return a
}

// incarnation is zero for what nobody has stamped.
func incarnation(annotations map[string]string) uint64 {
	n, _ := strconv.ParseUint(annotations[AnnotationIncarnation], 10, 64)
	return n
}

// Selector is the label selector of an owner's records, of one pod if a UID is
// given.
func Selector(owner string, uid types.UID) map[string]string {
	s := map[string]string{LabelOwner: owner}
	if uid != "" {
		s[LabelPodUID] = string(uid)
	}
	return s
}
