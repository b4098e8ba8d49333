package operatortest_test

import (
	"context"
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"
	"sigs.k8s.io/controller-runtime/pkg/controller/controllerutil"

	"github.com/podkeel/podkeel/examples/operatortest"
	"github.com/podkeel/podkeel/syncloop/node"
	"github.com/podkeel/podkeel/syncloop/nodetest"
)

// terminatedFinalizer keeps the object of a pod until its node has terminated it. The fake client knows no grace period.
const terminatedFinalizer = "example.com/terminated"

// simulation connects the fake client to nodes of nodetest: it applies the pods to the nodes, and writes the statuses back.
type simulation struct {
	*testing.T
	client     client.Client
	reconciler *operatortest.Reconciler
	nodes      map[string]*nodetest.Simulation
	lost       map[string]bool
	bound      map[string]int // the number of pods that were bound to each node
	uids       int
}

func newSimulationEnv(t *testing.T) *env {
	scheme := runtime.NewScheme()
	require.NoError(t, operatortest.AddToScheme(scheme))
	s := &simulation{T: t, nodes: map[string]*nodetest.Simulation{}, lost: map[string]bool{}, bound: map[string]int{}}
	s.client = fake.NewClientBuilder().WithScheme(scheme).WithStatusSubresource(&operatortest.Site{}, &v1.Pod{}).
		WithInterceptorFuncs(interceptor.Funcs{Create: s.create}).Build()
	s.reconciler = &operatortest.Reconciler{Client: s.client}
	first := nodetest.New(t, nodetest.Config{Node: node.Config{Name: "node-0"}})
	s.nodes["node-0"], s.nodes["node-1"] = first, first.AddNode(nodetest.Config{Node: node.Config{Name: "node-1"}})
	return &env{
		TB: t, Client: s.client, now: first.Now, lose: s.lose, evictFrom: s.evictFrom,
		node:   func(name string) *node.Node { return s.nodes[name].Node() },
		cordon: func(name string) { s.nodes[name].Node().Scheduling().Cordon() },
		wait:   s.wait,
	}
}

// create gives a new pod a UID and the finalizer, and creates it.
func (s *simulation) create(ctx context.Context, c client.WithWatch, o client.Object, options ...client.CreateOption) error {
	if pod, ok := o.(*v1.Pod); ok {
		s.uids++
		pod.UID = types.UID(fmt.Sprint("uid-", s.uids))
		controllerutil.AddFinalizer(pod, terminatedFinalizer)
	}
	return c.Create(ctx, o, options...)
}

// wait lets the operator and the nodes take turns until a condition holds, for ten minutes of virtual time.
func (s *simulation) wait(holds func() bool) bool {
	for range 6000 {
		if holds() {
			return true
		}
		_, err := s.reconciler.Reconcile(s.Context(), ctrl.Request{NamespacedName: types.NamespacedName{Namespace: "default", Name: "site"}})
		require.NoError(s, err)
		var pods v1.PodList
		require.NoError(s, s.client.List(s.Context(), &pods))
		for i := range pods.Items {
			s.syncPod(&pods.Items[i])
		}
		s.nodes["node-1"].Run(100 * time.Millisecond) // For both nodes.
	}
	return false
}

// syncPod binds a pod, or applies its deletion to its node, and writes its status. It deletes a pod from its node
// when the pod has terminated.
func (s *simulation) syncPod(pod *v1.Pod) {
	if pod.Spec.NodeName == "" && pod.DeletionTimestamp == nil {
		s.bind(pod)
		return
	}
	if s.lost[pod.Spec.NodeName] {
		return
	}
	var onNode *v1.Pod
	if pod.Spec.NodeName != "" {
		onNode = s.nodes[pod.Spec.NodeName].Pod(pod.Name)
	}
	terminal := pod.Status.Phase == v1.PodFailed || pod.Status.Phase == v1.PodSucceeded
	switch {
	case pod.DeletionTimestamp != nil && (onNode == nil || terminal):
		controllerutil.RemoveFinalizer(pod, terminatedFinalizer)
		require.NoError(s, s.client.Update(s.Context(), pod))
		if onNode != nil {
			s.nodes[pod.Spec.NodeName].Delete(pod.UID)
		}
		return
	case pod.DeletionTimestamp != nil && onNode.DeletionTimestamp == nil:
		s.nodes[pod.Spec.NodeName].Apply(pod.DeepCopy())
	}
	if onNode != nil && !equality.Semantic.DeepEqual(onNode.Status, pod.Status) {
		pod.Status = onNode.Status
		require.NoError(s, s.client.Status().Update(s.Context(), pod))
	}
}

// bind binds a pod to the node with the fewest pods on which it fits.
func (s *simulation) bind(pod *v1.Pod) {
	best := ""
	for _, name := range []string{"node-0", "node-1"} {
		if !s.lost[name] && s.nodes[name].Node().Scheduling().Fits(pod) == nil && (best == "" || s.bound[name] < s.bound[best]) {
			best = name
		}
	}
	if best == "" {
		return
	}
	s.bound[best]++
	pod.Spec.NodeName = best
	require.NoError(s, s.client.Update(s.Context(), pod))
	s.nodes[best].Apply(pod)
}

// lose crashes a node and sets the condition Ready of its pods to False.
func (s *simulation) lose(name string) {
	s.nodes[name].Crash()
	s.lost[name] = true
	var pods v1.PodList
	require.NoError(s, s.client.List(s.Context(), &pods))
	for i := range pods.Items {
		pod := &pods.Items[i]
		for j := range pod.Status.Conditions {
			if c := &pod.Status.Conditions[j]; pod.Spec.NodeName == name && c.Type == v1.PodReady {
				c.Status = v1.ConditionFalse
				require.NoError(s, s.client.Status().Update(s.Context(), pod))
			}
		}
	}
}

// evictFrom deletes the pods of a node.
func (s *simulation) evictFrom(name string) {
	var pods v1.PodList
	require.NoError(s, s.client.List(s.Context(), &pods))
	for i := range pods.Items {
		if pod := &pods.Items[i]; pod.Spec.NodeName == name {
			require.NoError(s, s.client.Delete(s.Context(), pod))
		}
	}
}
