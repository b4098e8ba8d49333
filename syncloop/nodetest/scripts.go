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

// checkScriptAnnotations returns an error if an annotation of the in-memory runtime names a container that the
// pod does not have. Such an annotation sets the script or the handler results of a container, and would have
// no effect.
func checkScriptAnnotations(pod *v1.Pod) error {
	names := containerNames(pod)
	for _, key := range slices.Sorted(maps.Keys(pod.Annotations)) {
		rest, ok := strings.CutPrefix(key, memory.AnnotationPrefix)
		if name, _, _ := strings.Cut(rest, "."); ok && !slices.Contains(names, name) {
			return fmt.Errorf("pod %s: annotation %s is for a container that the pod does not have: its containers are %s",
				withDefaultNamespace(strings.TrimPrefix(pod.Namespace+"/"+pod.Name, "/")), key, strings.Join(names, ", "))
		}
	}
	return nil
}

// containerNames returns the names of all containers of a pod, including init and ephemeral ones.
func containerNames(pod *v1.Pod) []string {
	var names []string
	for c := range podspec.AllAndEphemeralContainers(pod) {
		names = append(names, c.Name)
	}
	return names
}

// checkScriptsSelectContainers adds a fault for each script selector that matches no container of a pod that
// was applied or observed. Tests set such scripts on the in-memory runtime.
func (tr *trace) checkScriptsSelectContainers(selectors []memory.Selector) {
	tr.mu.Lock()
	defer tr.mu.Unlock()
	for _, to := range selectors {
		if !tr.selectsAnyContainerLocked(to) {
			tr.faults.formatAndStoreFault("SetScript: no pod has a container of %+v", to)
		}
	}
}

// selectsAnyContainerLocked reports whether the selector of a script matches a container of any pod that was
// applied or observed.
func (tr *trace) selectsAnyContainerLocked(selector memory.Selector) bool {
	matches := func(pod *v1.Pod) bool {
		ref := runtime.PodRef{UID: pod.UID, Namespace: cmp.Or(pod.Namespace, v1.NamespaceDefault), Name: pod.Name}
		return slices.ContainsFunc(containerNames(pod), func(name string) bool { return selector.Matches(ref, name) })
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

// checkUIDKnown returns an error if no pod with this UID was applied or observed. The error lists all known
// UIDs.
func (tr *trace) checkUIDKnown(uid types.UID) error {
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
