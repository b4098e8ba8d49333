//go:build peer

package main

import (
	"context"
	"slices"
	"time"

	v1 "k8s.io/api/core/v1"
	"k8s.io/client-go/tools/cache"
	"k8s.io/client-go/tools/record"
	"k8s.io/klog/v2"
	"k8s.io/kubernetes/pkg/kubelet/config"
	kubetypes "k8s.io/kubernetes/pkg/kubelet/types"
)

// noLatencies ignores the observations of startup latencies.
type noLatencies struct{}

func (noLatencies) ObservedPodOnWatch(klog.Logger, *v1.Pod, time.Time) {}

// kubeletMux is the kubelet's merge of one source.
type kubeletMux struct {
	*config.PodConfig
	store *cache.UndeltaStore
}

func newKubeletMux() *config.PodConfig {
	return config.NewPodConfig(&record.FakeRecorder{}, noLatencies{})
}

func (kubeletDriver) newMerge() merge {
	m := kubeletMux{PodConfig: newKubeletMux()}
	m.store = cache.NewUndeltaStore(podSender(m.Channel(context.Background(), kubetypes.ApiserverSource)), cache.MetaNamespaceKeyFunc)
	m.replacePods(nil) // The source delivers that it has no pods.
	return m
}

// podSender returns the function with which the kubelet's source of the API server sends all its pods after each change.
// The type of the channel's elements is unexported.
func podSender[U ~struct{ Pods []*v1.Pod }](updates chan<- U) func([]any) {
	return func(objects []any) {
		var pods []*v1.Pod
		for _, o := range objects {
			pods = append(pods, o.(*v1.Pod))
		}
		updates <- U{Pods: pods}
	}
}

func (m kubeletMux) replacePods(pods []*v1.Pod) []change {
	objects := make([]any, len(pods))
	for i, pod := range pods {
		objects[i] = pod
	}
	exitOnError(m.store.Replace(objects, ""))
	return m.awaitChanges()
}

func (m kubeletMux) addPod(pod *v1.Pod) []change {
	exitOnError(m.store.Add(pod))
	return m.awaitChanges()
}

// awaitChanges waits for changes and returns them.
func (m kubeletMux) awaitChanges() []change {
	u := <-m.Updates()
	return []change{{operationName(u.Op), len(u.Pods)}}
}

// operationName returns the name of an operation. The kubelet's type has no names.
func operationName(op kubetypes.PodOperation) string {
	return map[kubetypes.PodOperation]string{
		kubetypes.ADD: "ADD", kubetypes.DELETE: "DELETE", kubetypes.REMOVE: "REMOVE", kubetypes.UPDATE: "UPDATE", kubetypes.RECONCILE: "RECONCILE",
	}[op]
}

func (kubeletDriver) newFiles(dir string) files {
	m := kubeletMux{PodConfig: newKubeletMux()}
	config.NewSourceFile(klog.Background(), dir, "node", time.Hour, m.Channel(context.Background(), kubetypes.FileSource))
	return m
}

func (m kubeletMux) awaitAddedPods() []change { return collectUntilAdded(m.awaitChanges) }

// collectUntilAdded collects changes until a change adds pods.
func collectUntilAdded(await func() []change) (all []change) {
	for {
		next := await()
		all = append(all, next...)
		if slices.ContainsFunc(next, func(c change) bool { return c.op == "ADD" && c.pods > 0 }) {
			return all
		}
	}
}
