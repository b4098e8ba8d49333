package podsync

import (
	"context"
	"net/http"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/podkeel/podkeel/runtime"
)

// Objects finds the ConfigMaps and Secrets that pods refer to. Its methods are
// called concurrently, in each sync that needs them. An object that does not
// exist is runtime.ErrNotFound; any other error means that nothing is known of
// it. What is returned is only read.
type Objects interface {
	// ConfigMap finds one of a namespace.
	ConfigMap(ctx context.Context, namespace, name string) (*v1.ConfigMap, error)
	// Secret finds one of a namespace.
	Secret(ctx context.Context, namespace, name string) (*v1.Secret, error)
}

// Volumes brings the volumes of pods to the machine. Package volumes has one
// on a directory of the host.
type Volumes interface {
	// Problems names the volumes of a pod, and the mounts, that cannot be had
	// here. It is pure, and called when a pod is admitted; a pod with problems
	// is rejected.
	Problems(pod *v1.Pod) []Problem
	// SetUp makes everything that the pod mounts, or brings it up to date. It
	// is called in each sync of a pod that has volumes, also while it runs, by
	// one caller at a time for a pod; what is there is left as it is. Its error
	// keeps containers from being started.
	SetUp(ctx context.Context, pod *v1.Pod) error
	// Mounts are the mounts of one container, after SetUp. Expand replaces
	// $(NAME) in a subPathExpr; its error names what cannot be expanded.
	Mounts(ctx context.Context, pod *v1.Pod, c *v1.Container, expand func(string) (string, error)) ([]runtime.Mount, error)
	// TearDown removes what SetUp has made, once nothing of the pod runs any
	// more. It may be repeated; nothing to remove is no error.
	TearDown(ctx context.Context, uid types.UID) error
}

// Files are the single files that a node keeps for the containers of pods. They
// go with Volumes.TearDown. Their methods may be called for different pods at
// once.
type Files interface {
	// Hosts writes the hosts file of a pod, in which its addresses have the names,
	// and returns its path on the host.
	Hosts(pod *v1.Pod, ips, names []string) (path string, err error)
	// TerminationLog makes the file into which an attempt at a container may
	// write its last words, and returns its path on the host.
	TerminationLog(pod *v1.Pod, container string, attempt uint32) (path string, err error)
	// ReadTerminationLog returns at most the last limit bytes of such a file. A
	// file that is not there is empty; one that is no regular file any more is an
	// error.
	ReadTerminationLog(uid types.UID, container string, attempt uint32, limit int) ([]byte, error)
}

// Endings keep how pods have ended, for an agent that comes after this one.
// Package checkpoint has them on a disk. Calls for one pod come one after the other.
type Endings interface {
	// Save is called with the status of a pod that is over: as soon as that is
	// published, so before the pod is stopped if it was evicted or was active for
	// too long, and once more when nothing of it runs. The status is only read. nil
	// says that it outlives the process. An error does not keep the pod from ending,
	// and Save is called no more often for it: who wants to try again later does so
	// himself, as package node does.
	Save(pod *v1.Pod, status *v1.PodStatus) error
	// Drop is called when a pod is seen that is not over, before anything of it is
	// started: what was saved of a former life of its UID must not count for it.
	// Mostly there is nothing to drop, which is no error.
	Drop(uid types.UID) error
}

// attemptLogs knows the logs of containers: a logfiles.Dir of package gc's.
type attemptLogs interface {
	// SetUp makes the directory for the logs of a pod, before anything of the pod is
	// started: a removal of what a former pod of this UID has left has no part in it.
	SetUp(pod runtime.PodRef) error
	// NextAttempt is the number after the highest of which a container has a log;
	// zero if it has none. It is called before a container is made of which nothing
	// else tells how often it was.
	NextAttempt(pod runtime.PodRef, container string) (uint32, error)
}

// HTTPGetter makes the requests of http hooks. Package hookhttp has the usual
// one.
type HTTPGetter interface {
	// Get makes a request to an address of the pod. Any answer is a success; an
	// error says that there was none. It ends with ctx.
	Get(ctx context.Context, url string, header http.Header) error
}

// prober is the slice of package prober that is used here. Container IDs are as
// in statuses.
type prober interface {
	// AddPod begins to probe a pod, and does nothing for one that is probed.
	AddPod(pod *v1.Pod)
	// UpdatePodStatus sets Started and Ready in a status that is being made.
	UpdatePodStatus(pod *v1.Pod, status *v1.PodStatus)
	// ObserveStatus tells what has been stored of a pod. It is only read.
	ObserveStatus(uid types.UID, status *v1.PodStatus)
	// Failed reports whether a container has failed its liveness or its startup
	// probe.
	Failed(uid types.UID, containerID string) (liveness, startup bool)
	// Started reports whether a container's startup probe has succeeded.
	Started(uid types.UID, containerID string) bool
	// StopLivenessAndStartup ends these probes of a pod that terminates.
	StopLivenessAndStartup(uid types.UID)
	// RemovePod ends all probes of a pod.
	RemovePod(uid types.UID)
}

// noProbes is the prober of those who have none.
type noProbes struct{}

func (noProbes) AddPod(*v1.Pod)                         {}
func (noProbes) UpdatePodStatus(*v1.Pod, *v1.PodStatus) {}
func (noProbes) ObserveStatus(types.UID, *v1.PodStatus) {}
func (noProbes) Failed(types.UID, string) (_, _ bool)   { return false, false }
func (noProbes) Started(types.UID, string) bool         { return false }
func (noProbes) StopLivenessAndStartup(types.UID)       {}
func (noProbes) RemovePod(types.UID)                    {}
