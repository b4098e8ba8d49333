package clusterlab_test

import (
	"context"
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/builder"
	"sigs.k8s.io/controller-runtime/pkg/client"
	crconfig "sigs.k8s.io/controller-runtime/pkg/config"
	"sigs.k8s.io/controller-runtime/pkg/controller/controllerutil"
	"sigs.k8s.io/controller-runtime/pkg/handler"
	"sigs.k8s.io/controller-runtime/pkg/log"
	"sigs.k8s.io/controller-runtime/pkg/manager"
	"sigs.k8s.io/controller-runtime/pkg/metrics/server"
	"sigs.k8s.io/controller-runtime/pkg/predicate"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"github.com/go-logr/logr"
)

const (
	leaderLabel = "example.com/leader"
	finalizer   = "example.com/followers"
	followers   = 2
)

// operator gives each pod with the label leader=yes two followers, which are made again when
// they go, and go before it does.
type operator struct{ client.Client }

// Reconcile implements reconcile.Reconciler.
func (o operator) Reconcile(ctx context.Context, r reconcile.Request) (reconcile.Result, error) {
	leader := &v1.Pod{}
	if err := o.Get(ctx, r.NamespacedName, leader); err != nil {
		return reconcile.Result{}, client.IgnoreNotFound(err)
	}
	if leader.DeletionTimestamp != nil {
		return reconcile.Result{}, o.releaseLeader(ctx, leader)
	}
	before := client.MergeFrom(leader.DeepCopy())
	if controllerutil.AddFinalizer(leader, finalizer) {
		if err := o.Patch(ctx, leader, before); err != nil {
			return reconcile.Result{}, err
		}
	}
	ready := 0
	for i := range followers {
		f := followerPod(leader, i)
		_, err := controllerutil.CreateOrPatch(ctx, o, f, func() error {
			if f.Labels == nil {
				f.Labels = map[string]string{}
			}
			f.Labels[leaderLabel+"-name"] = leader.Name
			return controllerutil.SetControllerReference(leader, f, o.Scheme())
		})
		if err != nil {
			return reconcile.Result{}, err
		}
		if f.Status.Phase == v1.PodRunning && f.DeletionTimestamp == nil {
			ready++
		}
	}
	before = client.MergeFrom(leader.DeepCopy())
	metav1.SetMetaDataLabel(&leader.ObjectMeta, "example.com/ready", fmt.Sprint(ready))
	return reconcile.Result{}, o.Patch(ctx, leader, before)
}

// releaseLeader deletes the followers of a leader. When no follower is left, it removes the finalizer of the leader.
func (o operator) releaseLeader(ctx context.Context, leader *v1.Pod) error {
	var left v1.PodList
	if err := o.List(ctx, &left, client.InNamespace(leader.Namespace), client.MatchingLabels{leaderLabel + "-name": leader.Name}); err != nil {
		return err
	}
	for i := range left.Items {
		if err := o.Delete(ctx, &left.Items[i], client.Preconditions{UID: &left.Items[i].UID}); client.IgnoreNotFound(err) != nil {
			return err
		}
	}
	if len(left.Items) > 0 || !controllerutil.RemoveFinalizer(leader, finalizer) {
		return nil
	}
	return client.IgnoreNotFound(o.Update(ctx, leader))
}

func followerPod(leader *v1.Pod, i int) *v1.Pod {
	f := &v1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: leader.Namespace, Name: fmt.Sprintf("%s-follower-%d", leader.Name, i)}}
	f.Spec.Containers = []v1.Container{{Name: "c", Image: "follower:1"}}
	f.Spec.TerminationGracePeriodSeconds = new(int64(1))
	return f
}

// newManager returns a manager that runs the operator.
func newManager(t *testing.T, config *rest.Config) manager.Manager {
	log.SetLogger(logr.Discard())
	m, err := manager.New(config, manager.Options{
		Metrics: server.Options{BindAddress: "0"}, HealthProbeBindAddress: "0",
		Controller: crconfig.Controller{SkipNameValidation: new(true)},
	})
	require.NoError(t, err)
	leads := predicate.NewPredicateFuncs(func(o client.Object) bool { return o.GetLabels()[leaderLabel] == "yes" })
	require.NoError(t, builder.ControllerManagedBy(m).Named("followers").For(&v1.Pod{}, builder.WithPredicates(leads)).
		Watches(&v1.Pod{}, handler.EnqueueRequestForOwner(m.GetScheme(), m.GetRESTMapper(), &v1.Pod{}, handler.OnlyControllerOwner())).
		Complete(operator{m.GetClient()}))
	return m
}

// TestLocalAPI_Operator: an operator of controller-runtime, which caches, creates, patches,
// updates and deletes pods, and holds them by a finalizer.
func TestLocalAPI_Operator(t *testing.T) {
	a := newAlone(t)
	flags := []string{"--api-write", "--api-listen", "127.0.0.1:" + freePort(t)}
	a.startAgent(flags...)
	m := newManager(t, a.restConfig())
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() { ended <- m.Start(ctx) }()
	defer func() {
		cancel()
		assert.NoError(t, <-ended)
	}()

	shows := func(want string) {
		t.Helper()
		for began := time.Now(); ; time.Sleep(50 * time.Millisecond) {
			got := a.runScript(`kubectl get pods -o jsonpath='{range .items[*]}{.metadata.name} {.status.phase} {.metadata.labels.example\.com/ready}{.metadata.finalizers[0]}{"\n"}{end}'`)
			if got == want {
				return
			}
			require.Less(t, time.Since(began), joinLimit, "want %s, got %s", want, got)
		}
	}
	const all = "web Running 2example.com/followers\nweb-follower-0 Running \nweb-follower-1 Running \n"
	a.runScript(`kubectl run web --image=web:1 --labels=example.com/leader=yes --overrides='{"spec":{"terminationGracePeriodSeconds":1}}'`)
	shows(all)
	assert.Equal(t, "web web Pod true", a.runScript(`kubectl get pod web-follower-1 -o jsonpath='{.metadata.labels.example\.com/leader-name} {.metadata.ownerReferences[0].name} {.metadata.ownerReferences[0].kind} {.metadata.ownerReferences[0].controller}'`))
	a.runScript(`kubectl delete pod web-follower-0`)
	shows(all)
	a.stopAgent()
	a.startAgent(flags...)
	shows(all)
	a.runScript(`kubectl delete pod web-follower-1`)
	shows(all)
	assert.Equal(t, "pod \"web\" deleted from default namespace\n", a.runScript(`kubectl delete pod web`), "it waits for the operator")
	shows("")
}
