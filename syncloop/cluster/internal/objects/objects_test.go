package objects_test

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"
	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/podkeel/podkeel/internal/executor"
	"github.com/podkeel/podkeel/podworkers/podsync"
	"github.com/podkeel/podkeel/runtime"
	"github.com/podkeel/podkeel/syncloop/cluster/apiservertest"
	"github.com/podkeel/podkeel/syncloop/cluster/internal/objects"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

var (
	start                 = time.Date(2030, 1, 1, 0, 0, 0, 0, time.UTC)
	_     podsync.Objects = (*objects.Objects)(nil)
)

type node struct {
	*executor.Scheduler
	t       *testing.T
	server  *apiservertest.Server
	process *executor.Process
	objects *objects.Objects
	changed []types.UID
	cancel  func()
}

func newNode(t *testing.T) *node {
	n := &node{Scheduler: executor.NewScheduler(1, start), t: t}
	n.server = apiservertest.New(apiservertest.Config{Clock: n.NewProcess().Clock()})
	n.process = n.NewProcess()
	o, err := objects.New(objects.Config{
		Objects: n.server.Client("n1").Objects(), Clock: n.process.Clock(),
		Changed: func(uid types.UID) { n.changed = append(n.changed, uid) },
	})
	require.NoError(t, err)
	n.objects = o
	ctx, cancel := executor.WithCancel(context.Background())
	n.process.Go(func() { _ = o.Run(ctx) })
	n.cancel = cancel
	return n
}

func (n *node) pod(name string, spec v1.PodSpec) *v1.Pod {
	spec.NodeName, spec.ServiceAccountName = "n1", "default"
	if spec.Containers == nil {
		spec.Containers = []v1.Container{{Name: "c", Image: "i:1"}}
	}
	pod, err := n.server.Admin().CreatePod(&v1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: name}, Spec: spec})
	require.NoError(n.t, err)
	return pod
}

func (n *node) put(value string) {
	cm := &v1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "conf"}, Data: map[string]string{"k": value}}
	_, err := n.server.Admin().Update(context.Background(), cm)
	if err != nil {
		_, err = n.server.Admin().Create(context.Background(), cm)
	}
	require.NoError(n.t, err)
	n.RunUntil(n.Now().Add(time.Second))
}

// get reads the ConfigMap within a time.
func (n *node) get(within time.Duration) string {
	answer := ""
	n.process.Go(func() {
		clk := executor.Over(n.process.Clock())
		ctx, cancel := clk.WithDeadline(context.Background(), clk.Now().Add(within))
		defer cancel()
		cm, err := n.objects.ConfigMap(ctx, "default", "conf")
		switch {
		case err == nil:
			answer = cm.Data["k"]
		default:
			answer = err.Error()
		}
	})
	n.RunUntil(n.Now().Add(within + time.Second))
	return answer
}

func (n *node) watches() (w []string) {
	for _, r := range n.server.TakeRequests() {
		w = append(w, r.String())
	}
	return w
}

func mounts(name string) v1.PodSpec {
	return v1.PodSpec{Volumes: []v1.Volume{{Name: "v", VolumeSource: v1.VolumeSource{ConfigMap: &v1.ConfigMapVolumeSource{LocalObjectReference: v1.LocalObjectReference{Name: name}}}}}}
}

// VC-2, VC-3, VC-8: one watch serves all pods that refer to an object, from the first to the last. Each of them is
// notified of a change.
func TestObjects_VC2_VC3_VC8_OneWatch(t *testing.T) {
	n := newNode(t)
	a, b := n.pod("a", mounts("conf")), n.pod("b", mounts("conf"))
	n.put("1")
	n.objects.FollowReferences(a)
	n.objects.FollowReferences(b)
	n.objects.FollowReferences(a)
	require.Equal(t, "1", n.get(time.Second))
	require.Equal(t, []string{"watch configmaps default/conf"}, n.watches())
	require.Empty(t, n.changed, "reads wait for the first state")
	n.put("2")
	require.Equal(t, "2", n.get(time.Second))
	require.Equal(t, []types.UID{a.UID, b.UID}, n.changed)
	n.server.Crash()
	require.Equal(t, "2", n.get(time.Minute), "the server is away")
	n.server.Recover()
	n.objects.Release(a.UID)
	n.RunUntil(n.Now().Add(time.Minute))
	n.put("3")
	require.Equal(t, "3", n.get(time.Second))
	n.watches()
	n.objects.Release(b.UID)
	n.objects.Release(b.UID)
	require.Equal(t, "3", n.get(time.Second))
	require.Equal(t, []string{"list configmaps default/conf"}, n.watches(), "it is not followed")
	n.cancel()
	n.RunUntil(n.Now().Add(time.Second))
	require.Zero(t, n.process.Running())
}

// VC-4, VC-6, VC-9: a missing object is known as missing; one that is made again is seen, also if
// it was immutable; without any answer the caller's context decides.
func TestObjects_VC4_VC6_VC9_Missing(t *testing.T) {
	n := newNode(t)
	a := n.pod("a", mounts("conf"))
	n.server.Down()
	n.objects.FollowReferences(a)
	require.Equal(t, "objects: default/conf was not read yet: context deadline exceeded", n.get(3*time.Second))
	require.Equal(t, "objects: default/conf was not read yet: context deadline exceeded", n.get(time.Minute), "at most ten seconds")
	require.Empty(t, n.changed)
	n.server.Up()
	n.RunUntil(n.Now().Add(time.Minute))
	require.Equal(t, []types.UID{a.UID}, n.changed, "a read has failed")
	require.Equal(t, "objects: default/conf: not found", strings.ReplaceAll(n.get(time.Second), "runtime: ", ""))
	yes := true
	for _, value := range []string{"old", "new"} {
		cm := &v1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "conf"}, Data: map[string]string{"k": value}, Immutable: &yes}
		_, err := n.server.Admin().Create(context.Background(), cm)
		require.NoError(t, err)
		n.RunUntil(n.Now().Add(time.Second))
		require.Equal(t, value, n.get(time.Second))
		require.NoError(t, n.server.Admin().Delete(context.Background(), cm, nil))
	}
	_, err := n.objects.Secret(canceled(), "default", "s")
	require.Error(t, err)
	require.NotErrorIs(t, err, runtime.ErrNotFound)
	n.cancel()
	n.RunUntil(n.Now().Add(time.Second))
	require.Zero(t, n.process.Running())
}

func canceled() context.Context {
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	return ctx
}

// VC-2: what a pod names, each once.
func TestKeep_VC2_WhatAPodNames(t *testing.T) {
	n := newNode(t)
	named := func(name string) v1.LocalObjectReference { return v1.LocalObjectReference{Name: name} }
	container := func(k string) v1.Container {
		return v1.Container{
			Name: "c" + k, Image: "i:1",
			EnvFrom: []v1.EnvFromSource{{ConfigMapRef: &v1.ConfigMapEnvSource{LocalObjectReference: named("cf" + k)}}, {SecretRef: &v1.SecretEnvSource{LocalObjectReference: named("sf" + k)}}},
			Env: []v1.EnvVar{{Name: "PLAIN", Value: "x"},
				{Name: "A", ValueFrom: &v1.EnvVarSource{ConfigMapKeyRef: &v1.ConfigMapKeySelector{LocalObjectReference: named("ck" + k), Key: "k"}}},
				{Name: "B", ValueFrom: &v1.EnvVarSource{SecretKeyRef: &v1.SecretKeySelector{LocalObjectReference: named("sk" + k), Key: "k"}}}},
		}
	}
	spec := v1.PodSpec{
		ImagePullSecrets: []v1.LocalObjectReference{named("pull"), named("pull")},
		InitContainers:   []v1.Container{container("1")},
		Containers:       []v1.Container{container("2")},
		Volumes: []v1.Volume{
			{Name: "s", VolumeSource: v1.VolumeSource{Secret: &v1.SecretVolumeSource{SecretName: "vol"}}},
			{Name: "p", VolumeSource: v1.VolumeSource{Projected: &v1.ProjectedVolumeSource{Sources: []v1.VolumeProjection{
				{ConfigMap: &v1.ConfigMapProjection{LocalObjectReference: named("root-ca")}}, {Secret: &v1.SecretProjection{LocalObjectReference: named("proj")}},
			}}}},
		},
	}
	n.objects.FollowReferences(n.pod("a", spec))
	n.RunUntil(n.Now().Add(time.Second))
	require.ElementsMatch(t, strings.Fields("cf1 sf1 ck1 sk1 cf2 sf2 ck2 sk2 pull vol root-ca proj"), names(n.watches()))
	n.cancel()
	n.RunUntil(n.Now().Add(time.Second))
}

func names(requests []string) (out []string) {
	for _, r := range requests {
		var verb, resource, name string
		_, _ = fmt.Sscan(r, &verb, &resource, &name)
		out = append(out, strings.TrimPrefix(name, "default/"))
	}
	return out
}

func TestNew_Faults(t *testing.T) {
	_, err := objects.New(objects.Config{})
	require.EqualError(t, err, "objects: Config.Objects is nil")
}

func TestRun_Second(t *testing.T) {
	n := newNode(t)
	n.RunUntilIdle()
	require.ErrorIs(t, n.objects.Run(t.Context()), runtime.ErrSecondRun)
	n.cancel()
	n.RunUntilIdle()
	require.Zero(t, n.process.Running())
}
