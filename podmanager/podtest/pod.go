package podtest

import (
	"cmp"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/podkeel/podkeel/internal/document"
	"github.com/podkeel/podkeel/internal/podspec"
	"github.com/podkeel/podkeel/runtime/memory"
)

// PodBuilder builds a pod. Its methods change the builder and return it. Only one goroutine may use a builder.
type PodBuilder struct {
	pod    *v1.Pod
	last   containerPlace // the container that Probe and Hook concern
	faults []error
}

// Pod returns a builder of a pod with this name or namespace/name and without containers.
func Pod(name string) *PodBuilder {
	b := &PodBuilder{pod: &v1.Pod{}}
	b.pod.APIVersion, b.pod.Kind = "v1", "Pod"
	if namespace, rest, ok := strings.Cut(name, "/"); ok {
		b.pod.Namespace, name = namespace, rest
	}
	b.pod.Name = name
	return b
}

// maxManifestBytes bounds the text of FromYAML, and the memory of its pod.
const maxManifestBytes = 1 << 20

// FromYAML returns a builder that begins with the pod of a manifest in YAML or JSON. Unknown fields are faults.
// Container adds a script to a container that the manifest has. If the text has no Pod or several documents, Build fails the test.
func FromYAML(text string) *PodBuilder {
	b := Pod("")
	file, faults := document.Read([]byte(text), document.Bounds{Bytes: maxManifestBytes, Memory: maxManifestBytes})
	if len(faults) == 0 && len(file.Documents) != 1 {
		b.addFault("FromYAML: the text has %d documents: expected one Pod", len(file.Documents))
		return b
	}
	if len(faults) == 0 {
		doc := file.Documents[0]
		if kind := doc.Get("kind"); kind == nil || kind.Text != "Pod" {
			b.addFault("FromYAML: line %d: the document is not a Pod", doc.Line)
			return b
		}
		_, faults = file.Decode(doc, b.pod)
	}
	if len(faults) > 0 {
		b.addFault("FromYAML: %w", faults.InOrder())
		return b
	}
	for _, containers := range []*[]v1.Container{&b.pod.Spec.InitContainers, &b.pod.Spec.Containers} {
		if n := len(*containers); n > 0 {
			b.last = containerPlace{containers, n - 1}
		}
	}
	return b
}

func (b *PodBuilder) addFault(format string, args ...any) {
	b.faults = append(b.faults, fmt.Errorf("podtest: "+format, args...))
}

// UID sets the UID.
func (b *PodBuilder) UID(uid types.UID) *PodBuilder {
	b.pod.UID = uid
	return b
}

// Label sets a label.
func (b *PodBuilder) Label(key, value string) *PodBuilder {
	b.pod.Labels = setInMap(b.pod.Labels, key, value)
	return b
}

// Node binds the pod to a node.
func (b *PodBuilder) Node(name string) *PodBuilder {
	b.pod.Spec.NodeName = name
	return b
}

// RestartPolicy sets the restart policy.
func (b *PodBuilder) RestartPolicy(policy v1.RestartPolicy) *PodBuilder {
	b.pod.Spec.RestartPolicy = policy
	return b
}

// GracePeriod sets the termination grace period.
func (b *PodBuilder) GracePeriod(d time.Duration) *PodBuilder {
	b.pod.Spec.TerminationGracePeriodSeconds = new(int64(b.wholeSeconds("GracePeriod", d)))
	return b
}

// Edit calls f with the pod, for everything that has no method.
func (b *PodBuilder) Edit(f func(*v1.Pod)) *PodBuilder {
	f(b.pod)
	return b
}

// Build returns the pod, or fails the test with all faults. Each call returns a new copy.
func (b *PodBuilder) Build(t testing.TB) *v1.Pod {
	t.Helper()
	pod, err := b.Object()
	if err != nil {
		t.Fatal(err)
	}
	return pod
}

// Object returns the pod, or an error with all faults. Each call returns a new copy.
func (b *PodBuilder) Object() (*v1.Pod, error) {
	pod := b.pod.DeepCopy()
	pod.Namespace = cmp.Or(pod.Namespace, v1.NamespaceDefault)
	if pod.UID == "" {
		pod.UID = types.UID(strings.TrimPrefix(pod.Namespace+"_"+pod.Name, v1.NamespaceDefault+"_"))
	}
	if faults := append(slices.Clip(b.faults), checkScriptAnnotations(pod)...); len(faults) > 0 {
		return nil, errors.Join(faults...)
	}
	return pod, nil
}

// checkScriptAnnotations returns an error for each annotation of the in-memory runtime that cannot be parsed, and for
// each that names a container that the pod does not have.
func checkScriptAnnotations(pod *v1.Pod) (faults []error) {
	var names []string
	for c := range podspec.AllAndEphemeralContainers(pod) {
		names = append(names, c.Name)
	}
	for _, key := range slices.Sorted(maps.Keys(pod.Annotations)) {
		rest, ok := strings.CutPrefix(key, memory.AnnotationPrefix)
		if !ok {
			continue
		}
		name, purpose, _ := strings.Cut(rest, ".")
		if !slices.Contains(names, name) {
			faults = append(faults, fmt.Errorf("podtest: pod %s: annotation %s is for a container that the pod does not have: its containers are %s", pod.Name, key, strings.Join(names, ", ")))
			continue
		}
		var err error
		if purpose == "" {
			_, err = memory.ParseScript(pod.Annotations[key])
		} else {
			_, err = memory.ParseAnswers(pod.Annotations[key])
		}
		if err != nil {
			faults = append(faults, fmt.Errorf("podtest: pod %s: annotation %s: %w", pod.Name, key, err))
		}
	}
	return faults
}

// wholeSeconds returns a duration in seconds. It adds a fault for a duration that is negative or has a fraction of a
// second.
func (b *PodBuilder) wholeSeconds(what string, d time.Duration) int32 {
	if d < 0 || d%time.Second != 0 {
		b.addFault("%s(%s): expected whole seconds", what, d)
	}
	return int32(d / time.Second)
}

// setInMap sets a key in a map, which it creates if it is nil, and returns the map.
func setInMap(m map[string]string, key, value string) map[string]string {
	if m == nil {
		m = map[string]string{}
	}
	m[key] = value
	return m
}
