package nodetest

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/podkeel/podkeel/internal/podspec"
	"github.com/podkeel/podkeel/runtime"
	"github.com/podkeel/podkeel/runtime/memory"
)

// checkScripts returns an error for an annotation with a script, or with handler results, for a
// container that the pod lacks: the annotation would have no effect.
func checkScripts(pod *v1.Pod) error {
	names := containerNames(pod)
	for _, key := range slices.Sorted(maps.Keys(pod.Annotations)) {
		rest, ok := strings.CutPrefix(key, memory.AnnotationPrefix)
		if name, _, _ := strings.Cut(rest, "."); ok && !slices.Contains(names, name) {
			return fmt.Errorf("pod %s: annotation %s is for a container that the pod does not have: its containers are %s",
				fullName(strings.TrimPrefix(pod.Namespace+"/"+pod.Name, "/")), key, strings.Join(names, ", "))
		}
	}
	return nil
}

// containerNames returns the names of all containers of a pod.
func containerNames(pod *v1.Pod) []string {
	var names []string
	for c := range podspec.AllAndEphemeralContainers(pod) {
		names = append(names, c.Name)
	}
	return names
}

// checkScripts adds a fault for each script on the machine whose container no pod ever had.
func (tr *trace) checkScripts(scripts []memory.Selector) {
	tr.mu.Lock()
	defer tr.mu.Unlock()
	for _, to := range scripts {
		if !tr.matchesAnyLocked(to) {
			tr.faults.add("SetScript: no pod has a container of %+v", to)
		}
	}
}

// matchesAnyLocked reports whether a script matches a container of any pod.
func (tr *trace) matchesAnyLocked(to memory.Selector) bool {
	matches := func(pod *v1.Pod) bool {
		ref := runtime.PodRef{UID: pod.UID, Namespace: cmp.Or(pod.Namespace, v1.NamespaceDefault), Name: pod.Name}
		return slices.ContainsFunc(containerNames(pod), func(name string) bool { return to.Matches(ref, name) })
	}
	for _, specs := range tr.mu.rules.specs {
		if slices.ContainsFunc(specs, matches) {
			return true
		}
	}
	for _, pod := range tr.mu.known {
		if matches(pod) {
			return true
		}
	}
	return false
}

// checkUID returns an error if no pod ever had the UID.
func (tr *trace) checkUID(uid types.UID) error {
	tr.mu.Lock()
	defer tr.mu.Unlock()
	if tr.mu.known[uid] != nil || tr.mu.rules.specs[uid] != nil {
		return nil
	}
	uids := map[types.UID]string{}
	for _, pod := range tr.mu.known {
		uids[pod.UID] = pod.Namespace + "/" + pod.Name
	}
	for _, specs := range tr.mu.rules.specs {
		uids[specs[0].UID] = cmp.Or(specs[0].Namespace, v1.NamespaceDefault) + "/" + specs[0].Name
	}
	if len(uids) == 0 {
		return fmt.Errorf("no pod has the UID %q: no pod was applied", uid)
	}
	var list []string
	for uid, name := range uids {
		list = append(list, fmt.Sprintf("%q (%s)", uid, name))
	}
	slices.Sort(list)
	return fmt.Errorf("no pod has the UID %q: the UIDs are %s", uid, strings.Join(list, ", "))
}
