package node_test

import (
	"bytes"
	"log/slog"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	"k8s.io/apimachinery/pkg/types"

	"github.com/podkeel/podkeel/podmanager"
	"github.com/podkeel/podkeel/podmanager/source"
	"github.com/podkeel/podkeel/runtime/memory"
	"github.com/podkeel/podkeel/syncloop/node"
)

// podRejectedByServer returns a pod that a node can run and an API server rejects.
func podRejectedByServer(name string) *v1.Pod {
	p := newPod(name, "serve")
	p.Spec.TerminationGracePeriodSeconds = new(int64(5))
	p.Spec.Containers[0].Lifecycle = &v1.Lifecycle{PreStop: &v1.LifecycleHandler{Sleep: &v1.SleepAction{Seconds: 6}}}
	return p
}

// TestNode_RuleOfANewVersion: a pod that an earlier process may have accepted goes on, with a
// warning, if a new one like it is refused.
func TestNode_RuleOfANewVersion(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var log bytes.Buffer
		machine := memory.New(memory.Config{})
		n, err := node.New(node.Config{Runtime: machine, Log: slog.New(slog.NewTextHandler(&log, nil))})
		require.NoError(t, err)
		require.NoError(t, n.Scheduling().Fits(podRejectedByServer("web")))
		require.NoError(t, n.Apply(podRejectedByServer("web")), "before the node is ready it cannot know")
		assert.Equal(t, 1, strings.Count(log.String(), "accepting a pod that a new validation rule rejects"))
		assert.Contains(t, log.String(), "spec.containers[0].lifecycle.preStop.sleep.seconds: 6: expected at most terminationGracePeriodSeconds, 5")
		r := runNode(t, n)
		<-n.Ready()
		synctest.Wait()
		assert.Equal(t, []string{"web/c"}, runningContainers(machine))

		changed := podRejectedByServer("web")
		changed.Labels = map[string]string{"a": "b"}
		assert.NoError(t, n.Apply(changed), "the node knows it")
		err = n.Apply(podRejectedByServer("new"))
		assert.ErrorIs(t, err, source.ErrInvalid)
		assert.ErrorContains(t, err, "preStop.sleep.seconds")
		assert.Equal(t, []string{"Invalid FailedValidation spec.containers[0].lifecycle.preStop.sleep.seconds"}, reasonLines(n.Scheduling().Fits(podRejectedByServer("new"))))
		synctest.Wait()
		assert.Equal(t, []string{"web/c"}, runningContainers(machine))
		require.NoError(t, r.stopNode())
	})
}

// TestNode_MirrorPod: a mirror pod, which would never run, is refused with a sentence. Before the node is
// ready an earlier version may have taken one beside pods that run, so it is only logged then.
func TestNode_MirrorPod(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var log bytes.Buffer
		n, err := node.New(node.Config{Runtime: memory.New(memory.Config{}), Log: slog.New(slog.NewTextHandler(&log, nil))})
		require.NoError(t, err)
		mirror := newPod("mirror", "serve")
		mirror.Annotations = map[string]string{podmanager.ConfigMirrorAnnotation: "hash"}
		const sentence = "it marks the mirror pod of a static pod at an API server, which does not run"
		require.NoError(t, n.Replace([]*v1.Pod{newPod("web", "serve"), mirror}))
		assert.Contains(t, log.String(), sentence)
		r := runNode(t, n)
		<-n.Ready()
		other := mirror.DeepCopy()
		other.Name, other.UID = "other", "other"
		err = n.Apply(other)
		assert.ErrorIs(t, err, source.ErrInvalid)
		assert.ErrorContains(t, err, `metadata.annotations[kubernetes.io/config.mirror]: "hash": expected none, since `+sentence)
		require.NoError(t, r.stopNode())
	})
}

// TestNode_EveryFaultAtOnce: Apply and Fits name each fault of a pod, and each field once. A pod without a UID has
// no fault: Apply gives it one.
func TestNode_EveryFaultAtOnce(t *testing.T) {
	n := newNode(t)
	assert.Equal(t, []string{
		"Invalid FailedValidation metadata.name", "Invalid FailedValidation spec.containers",
	}, reasonLines(n.Scheduling().Fits(&v1.Pod{})))
	assert.EqualError(t, n.Apply(&v1.Pod{}), "node: source: invalid pod: default/: metadata.name: missing: expected a name\nspec.containers: missing: expected at least one container")
	p := newPod("web", "serve")
	p.UID, p.Spec.Containers[0].Image, p.Spec.RestartPolicy = "", "", "Sometimes"
	err := n.Apply(p)
	assert.ErrorIs(t, err, source.ErrInvalid)
	for _, field := range []string{"spec.restartPolicy", "spec.containers[0].image"} {
		assert.ErrorContains(t, err, field)
	}
}

// TestNode_AppliesAPodWithoutUID: the UID is made of the namespace and the name. It is golden, as the state directory
// and the runtime have it. A second Apply of the name updates the pod.
func TestNode_AppliesAPodWithoutUID(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		n := runConfig(t, node.Config{})
		p := newPod("web", "serve")
		p.UID = ""
		require.NoError(t, n.Scheduling().Fits(p))
		require.NoError(t, n.Apply(p))
		assert.Empty(t, p.UID, "Apply does not change the pod of its caller")
		p.Labels = map[string]string{"version": "2"}
		require.NoError(t, n.Apply(p))
		other := newPod("web", "serve")
		other.UID, other.Namespace = "", "other"
		require.NoError(t, n.Apply(other))
		synctest.Wait()
		require.Len(t, n.Pods(), 2)
		web, known := n.PodByName("default", "web")
		require.True(t, known)
		assert.Equal(t, types.UID("82b3ade9d00cd1642a4d420e670d6cd9"), web.UID)
		assert.Equal(t, web.UID, node.UIDFromName("", "web"))
		assert.Equal(t, "2", web.Labels["version"])
		assert.Equal(t, v1.PodRunning, web.Status.Phase)
		n.Delete(web.UID)
		synctest.Wait()
		_, known = n.PodByName("default", "web")
		assert.False(t, known)
		require.NoError(t, n.stopNode())
	})
}

// TestNode_NewNamesEveryFault: the error of New has every fault of names, labels, taints and resources.
func TestNode_NewNamesEveryFault(t *testing.T) {
	_, err := node.New(node.Config{
		Name: "Node_1", Scheduling: node.SchedulingConfig{MaxPods: -1,
			Labels: map[string]string{"a b": "x", "ok": "not ok"},
			Taints: []v1.Taint{
				{Key: "dedicated", Value: "a b", Effect: v1.TaintEffectNoExecute}, {Key: "", Effect: "Sometimes"}, {Key: "dedicated", Effect: v1.TaintEffectNoExecute},
			},
			Capacity: v1.ResourceList{"a b": resource.MustParse("1"), v1.ResourceCPU: resource.MustParse("-1")}},
	})
	require.Error(t, err)
	var said []string
	for line := range strings.Lines(err.Error()) {
		said = append(said, strings.SplitAfter(strings.TrimSpace(line), `": `)[0])
	}
	assert.Equal(t, []string{
		"node: Config.Scheduling.MaxPods is negative", "node: Config.Scheduling.Capacity: cpu is negative", `node: Config.Name "Node_1": `,
		`node: Config.Scheduling.Labels: the key "a b": `, `node: Config.Scheduling.Labels: the value of ok "not ok": `,
		`node: Config.Scheduling.Taints[0]: the value "a b": `, `node: Config.Scheduling.Taints[1]: the key "": `,
		`node: Config.Scheduling.Taints[1]: the effect "Sometimes" is none of NoSchedule, PreferNoSchedule and NoExecute`,
		`node: Config.Scheduling.Taints[2]: an earlier taint has the key "dedicated" and the effect "NoExecute"`,
		`node: Config.Scheduling.Capacity: the name "a b": `,
	}, said)
}
