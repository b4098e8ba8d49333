//go:build peer

package main

import (
	"context"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	"k8s.io/klog/v2"
	kubepod "k8s.io/kubernetes/pkg/kubelet/pod"
	kubestatus "k8s.io/kubernetes/pkg/kubelet/status"
)

// startupState ignores the reports of the status manager.
type startupState struct{}

func (startupState) RecordStatusUpdated(klog.Logger, *v1.Pod) {}
func (startupState) DeletePodStartupState(types.UID)          {}

// deletionSafety reports that each pod may have running containers, so that no pod is deleted.
type deletionSafety struct{}

func (deletionSafety) PodCouldHaveRunningContainers(*v1.Pod) bool { return true }

// kubeletStatuses is the status manager of the kubelet.
type kubeletStatuses struct{ kubestatus.Manager }

func (kubeletDriver) newStatuses() statuses {
	return kubeletStatuses{kubestatus.NewManager(nil, kubepod.NewBasicPodManager(), deletionSafety{}, startupState{})}
}

func (kubeletDriver) newSender(url string, pods []*v1.Pod) statuses {
	c, err := kubernetes.NewForConfig(&rest.Config{Host: url, QPS: -1}) // Without the client's limit of requests.
	exitOnError(err)
	manager := kubepod.NewBasicPodManager()
	manager.SetPods(pods)
	m := kubestatus.NewManager(c, manager, deletionSafety{}, startupState{})
	m.Start(context.Background())
	return kubeletStatuses{m}
}

func (s kubeletStatuses) setStatus(pod *v1.Pod, status v1.PodStatus) {
	s.SetPodStatus(klog.Background(), pod, status)
}

// stopSending does nothing, because a status manager cannot be stopped.
func (kubeletStatuses) stopSending() {}
