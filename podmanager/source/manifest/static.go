package manifest

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"slices"

	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/podkeel/podkeel/internal/document"
	"github.com/podkeel/podkeel/podmanager"
	"github.com/podkeel/podkeel/podmanager/validation"
)

// maxName is the longest name of a pod: it is a file name, and a DNS name.
const maxName = 253

// origin is where a manifest comes from, which is a part of the identity of its pods.
type origin struct {
	node string
	path string // of the file, or the URL
	url  bool
	// formerUIDs: see keep.go.
	formerUIDs bool
	// strict: unknown and duplicate fields are faults.
	strict bool
}

// loaded are the pods of a manifest.
type loaded struct {
	pods    []*v1.Pod
	memory  int64 // of the pods
	ignored Faults
}

// load reads a manifest as new static pods of a node. have is what they may refer to. With an error
// only the memory is set.
func load(data []byte, from origin, have validation.Available) (loaded, error) {
	return loadWith(validation.ValidatePartial, data, from, have)
}

// loadAccepted is load for a manifest that an earlier process has accepted. outdated is the error for
// which new pods like these would be refused, or nil.
func loadAccepted(data []byte, from origin, have validation.Available) (l loaded, outdated, err error) {
	l, err = load(data, from, have)
	if err == nil {
		return l, nil, nil
	}
	outdated = err
	l, err = loadWith(validation.ValidateAcceptedPartial, data, from, have)
	return l, outdated, err
}

func loadWith(check checkPod, data []byte, from origin, have validation.Available) (loaded, error) {
	docs, memory, faults, ignored, err := decode(data, from.strict)
	if err != nil {
		return loaded{memory: memory}, err
	}
	var distinct sameness
	pods := make([]*v1.Pod, 0, len(docs))
	for _, d := range docs {
		if len(faults) >= maxListed {
			break // Nobody reads more.
		}
		validation.Default(d.pod)
		errs := append(d.validate(check), validation.References(d.pod, have)...)
		if full := len(d.pod.Name) + 1 + len(from.node); full > maxName && len(d.pod.Name) <= maxName {
			errs = append(errs, field.Invalid(field.NewPath("metadata", "name"), d.pod.Name, fmt.Sprintf("%d characters with the node's name: expected at most %d", full, maxName)))
		}
		faults = faults.and(d.located(append(errs, distinct.check(d)...)))
		pods = append(pods, d.pod)
	}
	if len(faults) > 0 {
		return loaded{memory: memory}, faults.and(ignored).inOrder() // Image, which is ignored, explains that image is missing.
	}
	for _, d := range docs {
		identify(d, from)
	}
	return loaded{pods, memory, ignored.inOrder()}, nil
}

// identify makes a pod of a manifest the static pod of a node (CF-10 to CF-12).
func identify(d written, from origin) {
	pod := d.pod
	if pod.UID == "" {
		raw := d.raw
		if !from.formerUIDs {
			raw = withType(raw)
		}
		pod.UID = staticUID(raw.AppendJSON(nil), from)
	}
	pod.Name += "-" + from.node
	pod.Spec.NodeName = from.node
	if pod.Annotations == nil {
		pod.Annotations = map[string]string{}
	}
	pod.Annotations[podmanager.ConfigHashAnnotation] = string(pod.UID)
	if !from.url {
		pod.Spec.Tolerations = append(pod.Spec.Tolerations, v1.Toleration{
			Operator: v1.TolerationOpExists, Effect: v1.TaintEffectNoExecute,
		})
	}
	pod.CreationTimestamp = metav1.Time{} // That of another object, from which the manifest was made.
	pod.Status = v1.PodStatus{Phase: v1.PodPending}
}

// withType returns a document of a pod with apiVersion and kind, which an item of a PodList may lack: it
// is the same pod with and without them.
func withType(doc *document.Value) *document.Value {
	fields := slices.Clone(doc.Fields)
	for _, f := range [...]struct{ name, value string }{{"apiVersion", "v1"}, {"kind", "Pod"}} {
		if doc.Get(f.name) == nil {
			fields = append(fields, document.Field{Name: f.name, Line: doc.Line, Value: &document.Value{Kind: document.Text, Line: doc.Line, Text: f.value}})
		}
	}
	return &document.Value{Kind: document.Object, Line: doc.Line, Fields: fields}
}

// staticUID is 128 bits of a hash of the document in canonical form and the URL, or the node
// and the file. No Go type is part of it, so a new version of a library restarts
// nothing (kubernetes/kubernetes#67537).
func staticUID(canonical []byte, from origin) types.UID {
	h := sha256.New()
	h.Write(canonical)
	if from.url {
		h.Write([]byte("url:" + from.path))
	} else {
		h.Write([]byte("host:" + from.node))
		h.Write([]byte("file:" + from.path))
	}
	return types.UID(hex.EncodeToString(h.Sum(nil)[:16]))
}

// sameness finds pods of one file that cannot both run.
type sameness struct {
	names map[types.NamespacedName]int // the line of the first
	uids  map[types.UID]int
}

// check adds a document to those known, or says which one it repeats.
func (s *sameness) check(d written) (errs field.ErrorList) {
	if s.names == nil {
		s.names, s.uids = map[types.NamespacedName]int{}, map[types.UID]int{}
	}
	repeats := func(name string, value any, line int, what string) {
		err := field.Duplicate(field.NewPath("metadata", name), value)
		err.Detail = fmt.Sprintf("the pod on line %d has the same %s", line, what)
		errs = append(errs, err)
	}
	name := types.NamespacedName{Namespace: d.pod.Namespace, Name: d.pod.Name}
	if line, ok := s.names[name]; ok {
		repeats("name", d.pod.Name, line, "name")
	} else {
		s.names[name] = d.raw.Line
	}
	if line, ok := s.uids[d.pod.UID]; ok && d.pod.UID != "" {
		repeats("uid", string(d.pod.UID), line, "UID")
	} else {
		s.uids[d.pod.UID] = d.raw.Line
	}
	return errs
}
