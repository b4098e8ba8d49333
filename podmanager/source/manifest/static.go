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

// maxName is the maximum length of a pod's name, which is used as a file name and a DNS name.
const maxName = 253

// manifestOrigin is where a manifest comes from. It is part of the identity of its pods.
type manifestOrigin struct {
	node  string
	path  string // of the file, or the URL
	isURL bool
	// legacyUIDs selects the UID rule of earlier versions: see keep.go.
	legacyUIDs bool
	// strict makes unknown and duplicate fields faults.
	strict bool
}

// loadedPods holds the pods of a manifest.
type loadedPods struct {
	pods    []*v1.Pod
	memory  int64 // of the pods
	ignored Faults
}

// loadPods parses a manifest, validates its pods as new pods, and makes them static pods of a node. available
// says whether they may refer to ConfigMaps and Secrets. With an error the result has no pods, and memory only
// if the manifest could be decoded.
func loadPods(data []byte, src manifestOrigin, available validation.Available) (loadedPods, error) {
	return loadPodsWithCheck(validation.ValidatePartial, data, src, available)
}

// loadAcceptedPods loads a manifest as loadPods does. If that fails, it loads it again with the weaker rules
// for pods that an earlier process has accepted. newRuleErr is the error of the first attempt, or nil.
func loadAcceptedPods(data []byte, src manifestOrigin, available validation.Available) (l loadedPods, newRuleErr, err error) {
	l, err = loadPods(data, src, available)
	if err == nil {
		return l, nil, nil
	}
	newRuleErr = err
	l, err = loadPodsWithCheck(validation.ValidateAcceptedPartial, data, src, available)
	return l, newRuleErr, err
}

// loadPodsWithCheck parses a manifest, sets the pods' defaults, validates the pods with check, and makes them
// static pods of the node. One fault rejects the whole manifest. With an error the result has no pods, and
// memory only if the manifest could be decoded.
func loadPodsWithCheck(check checkPod, data []byte, src manifestOrigin, available validation.Available) (loadedPods, error) {
	docs, memory, faults, ignored, err := decodePods(data, src.strict)
	if err != nil {
		return loadedPods{memory: memory}, err
	}
	var duplicates duplicateChecker
	pods := make([]*v1.Pod, 0, len(docs))
	for _, d := range docs {
		if len(faults) >= maxCollected {
			break // The report is long enough.
		}
		validation.Default(d.pod)
		errs := append(d.validateDecodedFields(check), validation.References(d.pod, available)...)
		if full := len(d.pod.Name) + 1 + len(src.node); full > maxName && len(d.pod.Name) <= maxName {
			errs = append(errs, field.Invalid(field.NewPath("metadata", "name"), d.pod.Name, fmt.Sprintf("%d characters with the node's name: expected at most %d", full, maxName)))
		}
		faults = faults.appendBounded(d.locateDecodedFieldErrors(append(errs, duplicates.checkAndAdd(d)...)))
		pods = append(pods, d.pod)
	}
	if len(faults) > 0 {
		return loadedPods{memory: memory}, faults.appendBounded(ignored).sortAndBound() // An ignored field such as Image explains why image is missing.
	}
	for _, d := range docs {
		setStaticIdentityStatusAndTolerations(d, src)
	}
	return loadedPods{pods, memory, ignored.sortAndBound()}, nil
}

// setStaticIdentityStatusAndTolerations makes the decoded pod a static pod of the node: it sets name, node,
// status (Pending) and the hash annotation, and clears the creation time. It sets the UID if the manifest has
// none. A pod that does not come from a URL also tolerates all NoExecute taints (CF-10 to CF-12).
func setStaticIdentityStatusAndTolerations(d decodedPod, src manifestOrigin) {
	pod := d.pod
	if pod.UID == "" {
		raw := d.doc
		if !src.legacyUIDs {
			raw = copyWithMissingType(raw)
		}
		pod.UID = staticUID(raw.AppendJSON(nil), src)
	}
	pod.Name += "-" + src.node
	pod.Spec.NodeName = src.node
	if pod.Annotations == nil {
		pod.Annotations = map[string]string{}
	}
	pod.Annotations[podmanager.ConfigHashAnnotation] = string(pod.UID)
	if !src.isURL {
		pod.Spec.Tolerations = append(pod.Spec.Tolerations, v1.Toleration{
			Operator: v1.TolerationOpExists, Effect: v1.TaintEffectNoExecute,
		})
	}
	pod.CreationTimestamp = metav1.Time{} // A manifest may have the creation time of the object that it was copied from.
	pod.Status = v1.PodStatus{Phase: v1.PodPending}
}

// copyWithMissingType returns a copy of the document of a pod, with apiVersion and kind added if they are
// missing. An item of a PodList may lack them, and its UID must not depend on that.
func copyWithMissingType(doc *document.Value) *document.Value {
	fields := slices.Clone(doc.Fields)
	for _, f := range [...]struct{ name, value string }{{"apiVersion", "v1"}, {"kind", "Pod"}} {
		if doc.Get(f.name) == nil {
			fields = append(fields, document.Field{Name: f.name, Line: doc.Line, Value: &document.Value{Kind: document.Text, Line: doc.Line, Text: f.value}})
		}
	}
	return &document.Value{Kind: document.Object, Line: doc.Line, Fields: fields}
}

// staticUID returns 128 bits of a hash, in hexadecimal, of the canonical document and of its origin: the URL,
// or the node and the path of the file. The hash depends on no Go type, so a new version of a library restarts
// no pod (kubernetes/kubernetes#67537).
func staticUID(canonical []byte, src manifestOrigin) types.UID {
	h := sha256.New()
	h.Write(canonical)
	if src.isURL {
		h.Write([]byte("url:" + src.path))
	} else {
		h.Write([]byte("host:" + src.node))
		h.Write([]byte("file:" + src.path))
	}
	return types.UID(hex.EncodeToString(h.Sum(nil)[:16]))
}

// duplicateChecker finds pods of one file with the same name or UID.
type duplicateChecker struct {
	names map[types.NamespacedName]int // the line of the first pod with the name
	uids  map[types.UID]int
}

// checkAndAdd returns an error for the name, and one for the UID, if an earlier pod of the manifest has the
// same. It stores the pod's name and UID for later calls. Missing UIDs are not compared.
func (s *duplicateChecker) checkAndAdd(d decodedPod) (errs field.ErrorList) {
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
		s.names[name] = d.doc.Line
	}
	if line, ok := s.uids[d.pod.UID]; ok && d.pod.UID != "" {
		repeats("uid", string(d.pod.UID), line, "UID")
	} else {
		s.uids[d.pod.UID] = d.doc.Line
	}
	return errs
}
