package localapi

import (
	"context"
	"iter"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/podkeel/podkeel/syncloop/localapi/internal/created"
	"github.com/podkeel/podkeel/syncloop/node"
)

// noNode has no pods, takes all and finds none.
type noNode struct{}

func (noNode) Watch(context.Context) iter.Seq[node.PodState] { return nil }
func (noNode) Pods() []*v1.Pod                               { return nil }
func (noNode) Pod(types.UID) (*v1.Pod, bool)                 { return nil, false }
func (noNode) Health() node.Health                           { return node.Health{} }
func (noNode) Apply(*v1.Pod) error                           { return nil }
func (noNode) Delete(types.UID)                              {}

func (noNode) PodContainerID(context.Context, types.UID, string, bool) (string, error) {
	return "", nil
}

func (noNode) PodSandboxID(context.Context, types.UID) (string, error) { return "", nil }

// deletedAt is a pod that a client deletes.
func deletedAt(pod *v1.Pod) *v1.Pod {
	pod = pod.DeepCopy()
	pod.DeletionTimestamp = &metav1.Time{Time: time.Unix(1, 0)}
	return pod
}

// TestNamespace: a namespace is there as long as a pod is in it, also if the node shows the pod
// once more while it is forgotten.
func TestNamespace(t *testing.T) {
	a, err := New(Config{Node: noNode{}, NodeName: "n1", Finder: noNode{}, Authenticator: Token("t"), Writer: noNode{}, Saved: Unsaved{}})
	require.NoError(t, err)
	has := func() bool { return a.served["namespaces"].shownObjectOrNil("", "x") != nil }
	pods := []*v1.Pod{{}, {}}
	for i, pod := range pods {
		pod.Namespace, pod.Name, pod.UID = "x", []string{"a", "b"}[i], types.UID([]string{"a", "b"}[i])
		_, err := a.pods.showAndApplyWrite(created.Create, pod)
		require.NoError(t, err)
		_, err = a.pods.showAndApplyWrite(created.Delete, deletedAt(pod))
		require.NoError(t, err)
	}
	assert.True(t, has(), "with the pod, not before it")
	a.pods.deletePodAndFileIfDeleting(pods[0])
	assert.True(t, has(), "another pod is in it")
	a.pods.deletePodAndFileIfDeleting(pods[1])
	assert.False(t, has())
	a.pods.showOrHideReportedPodAndFinishDeletion(node.PodState{Pod: pods[1]})
	assert.False(t, has(), "a late state shows neither the pod nor the namespace")
	assert.Nil(t, a.served["pods"].shownObjectOrNil("x", "b"))
}
