package clusterlab_test

import (
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/podkeel/podkeel/podmanager"
)

// waitForEvents waits until kubectl shows these events of an object, with their counts, in the
// order in which they were recorded, or others that are as good.
func (j *joint) waitForEvents(name, want string, others ...string) {
	j.Helper()
	const line = `jsonpath={range .items[*]}{.involvedObject.fieldPath} {.reason} x{.count}{"\n"}{end}`
	var have string
	for deadline := time.Now().Add(joinLimit); time.Now().Before(deadline); {
		have = strings.TrimSpace(j.kubectl("get", "events", "--sort-by=.metadata.name", "--field-selector=involvedObject.name="+name, "-o", line))
		if have == want || slices.Contains(others, have) {
			return
		}
	}
	assert.Equal(j, want, have, name)
}

// waitForDescription waits until kubectl describes an object as a pattern says.
func (j *joint) waitForDescription(kind, name, pattern string) {
	j.Helper()
	var have string
	for deadline := time.Now().Add(joinLimit); time.Now().Before(deadline); {
		if have = j.kubectl("describe", kind, name); regexp.MustCompile(pattern).MatchString(have) {
			return
		}
	}
	assert.Regexp(j, pattern, have)
}

// TestJoin_Events: the events of pods' lives, and of the node, are at the server, each as often
// as it happened, and kubectl describe shows them.
func TestJoin_Events(t *testing.T) {
	j := joinCluster(t)
	j.createPod("web")
	j.waitForRunning("web")
	const started = "spec.containers{c} Pulling x1\nspec.containers{c} Pulled x1\nspec.containers{c} Created x1\nspec.containers{c} Started x1"
	j.waitForEvents("web", started)
	j.waitForDescription("pod", "web", `(?s)Events:.*Normal +Pulling +.* kubelet +spec.containers.c.: Pulling image "web:1".*Normal +Started .* kubelet +spec.containers.c.: Container c started`)
	// On a slow machine the node registers before its runtime has answered.
	j.waitForEvents("n1", "Starting x1\n NodeReady x1", "Starting x1\n NodeNotReady x1\n NodeReady x1")
	j.waitForDescription("node", "n1", `(?s)Events:.*Normal +Starting .* kubelet +Starting node agent\..*Normal +NodeReady `)
	j.kubectl("delete", "pod", "web")
	j.waitForEvents("web", started+"\nspec.containers{c} Killing x1")

	// One that fails again and again, and one without its ConfigMap.
	_, err := j.admin.Create(t.Context(), &v1.Pod{
		ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "crash", Annotations: map[string]string{"memory.podkeel.dev/c": "run=100ms exit=1"}},
		Spec:       v1.PodSpec{NodeName: "n1", Containers: []v1.Container{{Name: "c", Image: "web:1"}}},
	})
	require.NoError(t, err)
	_, err = j.admin.Create(t.Context(), &v1.Pod{
		ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "poor"},
		Spec: v1.PodSpec{NodeName: "n1", Containers: []v1.Container{{Name: "c", Image: "web:1"}},
			Volumes: []v1.Volume{{Name: "v", VolumeSource: v1.VolumeSource{ConfigMap: &v1.ConfigMapVolumeSource{LocalObjectReference: v1.LocalObjectReference{Name: "missing"}}}}}},
	})
	require.NoError(t, err)
	j.waitForEvents("crash", "spec.containers{c} Pulled x2\nspec.containers{c} Created x2\nspec.containers{c} Started x2\nspec.containers{c} BackOff x1")
	j.waitForDescription("pod", "poor", `Warning +FailedMount .* kubelet +.*there is no ConfigMap default/missing`)
	j.kubectl("delete", "pod", "crash", "poor", "--force", "--grace-period=0")

	// A static pod: kubectl finds its events by the mirror pod.
	require.NoError(t, j.static.Apply(&v1.Pod{
		ObjectMeta: metav1.ObjectMeta{UID: "static", Namespace: "default", Name: "dns-n1", Annotations: map[string]string{podmanager.ConfigHashAnnotation: "static"}},
		Spec:       v1.PodSpec{NodeName: "n1", Containers: []v1.Container{{Name: "c", Image: "dns:1"}}},
	}))
	j.waitForRunning("dns-n1")
	j.waitForEvents("dns-n1", started)
	j.waitForDescription("pod", "dns-n1", `(?s)Events:.*Normal +Started .* kubelet +spec.containers.c.: Container c started`)
}
