package manifest

import (
	"crypto/sha256"
	"encoding/hex"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/podkeel/podkeel/internal/document"
	"github.com/podkeel/podkeel/podmanager"
)

// maxName is the longest name of a pod: it is a file name, and a DNS name.
const maxName = 253

// load reads a manifest file as the static pods of a node, and says what they take
// in memory. path is part of their identity; objects says that they may refer to
// config maps and secrets.
func load(data []byte, node, path string, objects bool) ([]*v1.Pod, int64, error) {
	docs, memory, faults, err := decode(data)
	if err != nil {
		return nil, memory, err
	}
	var distinct sameness
	pods := make([]*v1.Pod, 0, len(docs))
	for _, d := range docs {
		if len(faults) >= maxListed {
			break // Nobody reads more.
		}
		Default(d.pod)
		found := validate(d.pod)
		found = append(found, references(d.pod, objects)...)
		if full := len(d.pod.Name) + 1 + len(node); full > maxName && len(d.pod.Name) <= maxName {
			found.add((*document.Path)(nil).Fields("metadata", "name"), "%s: %d characters with the node's name: expected at most %d", document.Quote(d.pod.Name), full, maxName)
		}
		faults = faults.and(d.located(append(found, distinct.check(d)...)))
		pods = append(pods, d.pod)
	}
	if len(faults) > 0 {
		return nil, memory, faults.inOrder()
	}
	for _, d := range docs {
		identify(d, node, path)
	}
	return pods, memory, nil
}

// identify makes a pod of a manifest the static pod of a node (CF-10 to CF-12).
func identify(d written, node, path string) {
	pod := d.pod
	if pod.UID == "" {
		pod.UID = staticUID(d.raw.AppendJSON(nil), node, path)
	}
	pod.Name += "-" + node
	pod.Spec.NodeName = node
	if pod.Annotations == nil {
		pod.Annotations = map[string]string{}
	}
	pod.Annotations[podmanager.ConfigHashAnnotation] = string(pod.UID)
	pod.Spec.Tolerations = append(pod.Spec.Tolerations, v1.Toleration{
		Operator: v1.TolerationOpExists, Effect: v1.TaintEffectNoExecute,
	})
	pod.Status = v1.PodStatus{Phase: v1.PodPending}
}

// staticUID is 128 bits of a hash of the document in canonical form, the node, and the
// file. No Go type is part of it, so a new version of a library restarts
// nothing (kubernetes/kubernetes#67537).
func staticUID(canonical []byte, node, path string) types.UID {
	h := sha256.New()
	h.Write(canonical)
	h.Write([]byte("host:" + node))
	h.Write([]byte("file:" + path))
	return types.UID(hex.EncodeToString(h.Sum(nil)[:16]))
}

// sameness finds pods of one file that cannot both run.
type sameness struct {
	names map[types.NamespacedName]int // the line of the first
	uids  map[types.UID]int
}

// check adds a document to those known, or says which one it repeats.
func (s *sameness) check(d written) (f findings) {
	if s.names == nil {
		s.names, s.uids = map[types.NamespacedName]int{}, map[types.UID]int{}
	}
	meta := (*document.Path)(nil).Field("metadata")
	name := types.NamespacedName{Namespace: d.pod.Namespace, Name: d.pod.Name}
	if line, ok := s.names[name]; ok {
		f.add(meta.Field("name"), "%s: the pod on line %d has the same name", document.Quote(d.pod.Name), line)
	} else {
		s.names[name] = d.raw.Line
	}
	if line, ok := s.uids[d.pod.UID]; ok && d.pod.UID != "" {
		f.add(meta.Field("uid"), "%s: the pod on line %d has the same UID", document.Quote(string(d.pod.UID)), line)
	} else {
		s.uids[d.pod.UID] = d.raw.Line
	}
	return f
}
