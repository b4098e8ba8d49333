package node_test

import (
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/types"

	"github.com/podkeel/podkeel/podmanager/source"
	"github.com/podkeel/podkeel/runtime/memory"
	"github.com/podkeel/podkeel/syncloop/node"
)

// slowToStopPod returns a pod that stops only at the end of its grace period of 20 seconds.
func slowToStopPod(name string) *v1.Pod {
	p := newPod(name, "serve")
	p.Spec.TerminationGracePeriodSeconds = new(int64(20))
	p.Annotations = map[string]string{"memory.podkeel.dev/c": "run=forever ignore-term"}
	return p
}

// TestNode_PodAndPodByName: one pod costs no list, and is found as Pods shows it, until its
// containers have stopped.
func TestNode_PodAndPodByName(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		n := runConfig(t, node.Config{})
		_, found := n.Pod("web")
		assert.False(t, found)
		_, found = n.PodByName("default", "web")
		assert.False(t, found)
		require.NoError(t, n.Apply(slowToStopPod("web")))
		require.NoError(t, n.Apply(newPod("other", "serve")))
		time.Sleep(time.Second)
		same := func() *v1.Pod {
			byUID, found := n.Pod("web")
			require.True(t, found)
			byName, found := n.PodByName("default", "web")
			require.True(t, found)
			assert.Equal(t, byUID, byName)
			assert.Contains(t, n.Pods(), byUID)
			return byUID
		}
		assert.Equal(t, v1.PodRunning, same().Status.Phase)
		assert.Nil(t, same().DeletionTimestamp)
		same().Status.Phase = "spoilt" // It is a copy.
		begun := time.Now()
		n.Delete("web")
		time.Sleep(5 * time.Second)
		assert.Equal(t, v1.PodRunning, same().Status.Phase)
		assert.True(t, begun.Add(20*time.Second).Equal(same().DeletionTimestamp.Time), "when it is to have ended")
		_, found = n.PodByName("default", "nobody")
		assert.False(t, found)
		time.Sleep(time.Minute)
		_, found = n.Pod("web")
		assert.False(t, found)
		_, found = n.PodByName("default", "web")
		assert.False(t, found)
		require.NoError(t, n.stopNode())
	})
}

// TestNode_PodOfAFormerAgent: Pod finds what the runtime tells of a pod that no source has
// named yet.
func TestNode_PodOfAFormerAgent(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		machine := memory.New(memory.Config{})
		former := runConfig(t, node.Config{Runtime: machine})
		require.NoError(t, former.Apply(newPod("left", "serve")))
		time.Sleep(time.Second)
		require.NoError(t, former.stopNode())

		n := runConfig(t, node.Config{Runtime: machine, Pods: node.PodsConfig{AwaitHost: true}})
		time.Sleep(time.Second)
		left, found := n.Pod("left")
		require.True(t, found)
		assert.Equal(t, n.Pods(), []*v1.Pod{left})
		byName, found := n.PodByName("default", "left")
		require.True(t, found)
		assert.Equal(t, left, byName)
		require.NoError(t, n.stopNode())
	})
}

// listNames returns the names of the listed pods.
func listNames(t *testing.T, n *runningParts, options node.ListOptions) []string {
	t.Helper()
	pods, version, err := n.List(options)
	require.NoError(t, err)
	assert.NotZero(t, version)
	names := []string{}
	for _, p := range pods {
		names = append(names, p.Namespace+"/"+p.Name)
	}
	return names
}

// TestNode_ListSelects: labels and fields select as they do at an API server.
func TestNode_ListSelects(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		n := runConfig(t, node.Config{Name: "edge"})
		web, job, system := newPod("web", "serve"), newPod("job", "true"), newPod("web", "serve")
		web.Labels = map[string]string{"app": "web"}
		job.Spec.RestartPolicy = v1.RestartPolicyNever
		job.Spec.ServiceAccountName, job.Spec.SchedulerName = "robot", "mine"
		system.UID, system.Namespace, system.Spec.HostNetwork = "system", "system", true
		for _, p := range []*v1.Pod{web, job, system} {
			require.NoError(t, n.Apply(p))
		}
		time.Sleep(time.Second)
		ip := ""
		if p, ok := n.Pod("web"); ok {
			ip = p.Status.PodIP
		}
		require.NotEmpty(t, ip)
		all := []string{"default/job", "default/web", "system/web"}
		assert.Equal(t, all, listNames(t, n, node.ListOptions{}))
		for selector, want := range map[string][]string{
			"metadata.name=web":                              {"default/web", "system/web"},
			"metadata.name=web,metadata.namespace=system":    {"system/web"},
			"metadata.name=web,metadata.namespace=nobody":    {},
			"metadata.name=job,metadata.namespace!=default":  {},
			"metadata.namespace!=default":                    {"system/web"},
			"spec.nodeName=edge":                             all,
			"spec.host=edge":                                 all,
			"spec.nodeName=other":                            {},
			"spec.restartPolicy=Never":                       {"default/job"},
			"spec.schedulerName=mine":                        {"default/job"},
			"spec.serviceAccountName=robot":                  {"default/job"},
			"spec.hostNetwork=true":                          {"system/web"},
			"status.phase=Running":                           {"default/web", "system/web"},
			"status.phase!=Running":                          {"default/job"},
			"status.podIP=" + ip:                             {"default/web"},
			"status.podIPs=" + ip:                            {"default/web"},
			"status.nominatedNodeName=":                      all,
			"metadata.name=job,status.phase=Running":         {},
			"metadata.namespace=default,metadata.name=web":   {"default/web"},
			"metadata.namespace=default,status.phase=Failed": {},
		} {
			assert.Equal(t, want, listNames(t, n, node.ListOptions{FieldSelector: fields.ParseSelectorOrDie(selector)}), selector)
		}
		byLabel, err := labels.Parse("app=web")
		require.NoError(t, err)
		assert.Equal(t, []string{"default/web"}, listNames(t, n, node.ListOptions{LabelSelector: byLabel}))
		assert.Equal(t, []string{"system/web"}, listNames(t, n, node.ListOptions{Namespace: "system"}))
		assert.Empty(t, listNames(t, n, node.ListOptions{Namespace: "system", LabelSelector: byLabel}))
		assert.Equal(t, []string{"system/web"}, listNames(t, n, node.ListOptions{Namespace: "system", FieldSelector: fields.OneTermEqualSelector("metadata.name", "web")}))

		_, _, err = n.List(node.ListOptions{FieldSelector: fields.OneTermEqualSelector("spec.color", "red")})
		require.ErrorIs(t, err, node.ErrFieldSelector)
		assert.EqualError(t, err, "node: field label not supported: spec.color")
		require.NoError(t, n.stopNode())
	})
}

// TestNode_ListIsShared: two lists of an unchanged pod are one object, with the version of
// its last change.
func TestNode_ListIsShared(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		n := runConfig(t, node.Config{})
		require.NoError(t, n.Apply(newPod("web", "serve")))
		time.Sleep(5 * time.Second)
		first, version, err := n.List(node.ListOptions{})
		require.NoError(t, err)
		again, same, err := n.List(node.ListOptions{})
		require.NoError(t, err)
		assert.Same(t, first[0], again[0])
		assert.Equal(t, version, same)

		require.NoError(t, n.Apply(newPod("other", "serve")))
		time.Sleep(5 * time.Second)
		both, later, err := n.List(node.ListOptions{})
		require.NoError(t, err)
		require.Len(t, both, 2)
		assert.Same(t, first[0], both[1])
		assert.Greater(t, later, version)
		require.NoError(t, n.stopNode())
	})
}

// TestNode_ListOfAStaticPodsName: of two pods of one name List shows the first until it is gone;
// PodByName returns the desired one.
func TestNode_ListOfAStaticPodsName(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		handle := source.NewHandle()
		n := runConfig(t, node.Config{Pods: node.PodsConfig{Sources: map[string]source.Source{"file": handle}}})
		require.NoError(t, handle.Apply(podWithUID("old", "web")))
		time.Sleep(time.Second)
		require.Equal(t, []string{"old"}, listUIDs(t, n))
		require.NoError(t, handle.Replace([]*v1.Pod{podWithUID("new", "web")}))
		time.Sleep(5 * time.Second)
		assert.Equal(t, []string{"old"}, listUIDs(t, n), "it has not ended")
		desired, found := n.PodByName("default", "web")
		require.True(t, found)
		assert.EqualValues(t, "new", desired.UID)
		time.Sleep(time.Minute)
		assert.Equal(t, []string{"new"}, listUIDs(t, n))
		require.NoError(t, n.stopNode())
	})
}

func podWithUID(uid, name string) *v1.Pod {
	p := slowToStopPod(name)
	p.UID = types.UID(uid)
	return p
}

func listUIDs(t *testing.T, n *runningParts) (list []string) {
	pods, _, err := n.List(node.ListOptions{})
	require.NoError(t, err)
	for _, p := range pods {
		list = append(list, string(p.UID))
	}
	return list
}
