package convert

import (
	"encoding/json"
	"maps"
	"strconv"

	"k8s.io/apimachinery/pkg/types"

	"github.com/podkeel/podkeel/runtime"
)

// Labels with which records are found.
const (
	// LabelOwner is the owner of a record.
	LabelOwner = "podkeel.dev/owner"
	// LabelPodName is the name of the pod, as in the kubelet.
	LabelPodName = "io.kubernetes.pod.name"
	// LabelPodNamespace is the namespace of the pod.
	LabelPodNamespace = "io.kubernetes.pod.namespace"
	// LabelPodUID is the UID of the pod.
	LabelPodUID = "io.kubernetes.pod.uid"
	// LabelContainerName is the name of the container.
	LabelContainerName = "io.kubernetes.container.name"
)

// Annotations for values without a field in CRI.
const (
	// AnnotationIncarnation is the incarnation of the UID for which a record was created.
	AnnotationIncarnation = "podkeel.dev/incarnation"
	// AnnotationImage is the requested image of a container.
	AnnotationImage = "podkeel.dev/image"
	// AnnotationSandboxContext is the SandboxContext of a sandbox.
	AnnotationSandboxContext = "podkeel.dev/sandbox"
)

// SandboxContext has the fields of a sandbox that CRI requires again for each of its containers,
// and that CRI does not return.
type SandboxContext struct {
	LogDir     string             `json:"logDir,omitempty"`
	CgroupDir  string             `json:"cgroupDir,omitempty"`
	Hostname   string             `json:"hostname,omitempty"`
	Privileged bool               `json:"privileged,omitempty"`
	Namespaces runtime.Namespaces `json:"namespaces"`
}

// SandboxContextFromAnnotations reads the SandboxContext from the annotations of a sandbox. It is
// zero if the annotation is missing or invalid.
func SandboxContextFromAnnotations(annotations map[string]string) SandboxContext {
	var p SandboxContext
	if json.Unmarshal([]byte(annotations[AnnotationSandboxContext]), &p) != nil {
		return SandboxContext{}
	}
	return p
}

// sandboxContext returns the fields of a sandbox request that requests for the sandbox's containers repeat
// later. The hostname is empty if the pod uses the host network.
func sandboxContext(req *runtime.RunSandboxRequest) SandboxContext {
	p := SandboxContext{
		LogDir: req.LogDir, CgroupDir: req.CgroupDir, Hostname: req.Hostname,
		Privileged: req.Security.Privileged, Namespaces: req.Namespaces,
	}
	if req.Namespaces.HostNetwork {
		p.Hostname = ""
	}
	return p
}

// labelsWithPodAndOwner returns a copy of the requested labels with labels for the pod's name, namespace and
// UID and for the owner. These replace requested labels with the same key.
func labelsWithPodAndOwner(requested map[string]string, pod runtime.PodRef, owner string) map[string]string {
	l := map[string]string{}
	maps.Copy(l, requested)
	l[LabelPodName], l[LabelPodNamespace], l[LabelPodUID] = pod.Name, pod.Namespace, string(pod.UID)
	l[LabelOwner] = owner
	return l
}

// annotationsWithIncarnation returns a copy of the requested annotations with an annotation for the incarnation
// (how many pods with this UID were created on the node). It replaces a requested annotation with the same key.
func annotationsWithIncarnation(requested map[string]string, pod runtime.PodRef) map[string]string {
	a := map[string]string{}
	maps.Copy(a, requested)
	a[AnnotationIncarnation] = strconv.FormatUint(pod.Incarnation, 10)
	return a
}

// incarnationFromAnnotations returns the incarnation (how many pods with this UID were created on the node)
// from the annotations. It returns zero if the annotation is missing or invalid.
func incarnationFromAnnotations(annotations map[string]string) uint64 {
	n, _ := strconv.ParseUint(annotations[AnnotationIncarnation], 10, 64)
	return n
}

// Selector returns the label selector for the records of an owner, or of one pod if uid is not
// empty.
func Selector(owner string, uid types.UID) map[string]string {
	s := map[string]string{LabelOwner: owner}
	if uid != "" {
		s[LabelPodUID] = string(uid)
	}
	return s
}
