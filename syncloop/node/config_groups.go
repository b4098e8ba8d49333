package node

// The groups of Config. Each is one struct, so that a program can fill in one concern alone.

import (
	"time"

	v1 "k8s.io/api/core/v1"

	"github.com/podkeel/podkeel/podmanager/source"
	"github.com/podkeel/podkeel/podmanager/status"
	"github.com/podkeel/podkeel/podworkers/backoff"
	"github.com/podkeel/podkeel/podworkers/podsync"
	"github.com/podkeel/podkeel/podworkers/podsync/images"
	"github.com/podkeel/podkeel/podworkers/prober"
	"github.com/podkeel/podkeel/syncloop"
	"github.com/podkeel/podkeel/syncloop/gc/policy"
)

// PodsConfig says where the pods of a node come from, and what of them a restarted node remembers. Zero fields have the
// defaults that they name.
type PodsConfig struct {
	// Sources deliver pods in addition to those of Apply. The key is the name of the source. A
	// source named "api" delivers the pods of an API server, mirror pods included, and takes the
	// place of Apply, Replace and Delete; package cluster has one. Pods of every other source are
	// static pods.
	Sources map[string]source.Source
	// AwaitHost: until SetComplete is called, the node concludes nothing from the absence of a pod
	// that was not applied. Without AwaitHost the host program must apply all pods that are to keep
	// running over a restart before it calls Run.
	AwaitHost bool
	// FromAPIServer says that the pods of Apply come from an API server, whose controllers replace
	// a rejected pod on another node. A pod that needs what terminating pods still hold then waits
	// for their grace period and 30 s more, and is rejected after that; the kubelet rejects it at
	// once. Without FromAPIServer such a pod waits without a limit, as a static pod does.
	FromAPIServer bool
	// OrphanGrace is how long a pod goes on that the node finds running at its start and that no
	// source names. It begins when the source of the pod is complete for the first time, as
	// manifests may come late. Until it is over, the node removes nothing that pods of an earlier
	// process have left. A new pod that needs the name or a host port of such a pod ends it at
	// once. Zero is 30 s, negative is none.
	OrphanGrace time.Duration
	// TerminalStatuses keeps the terminal statuses of pods, so that a restarted node does not run
	// those pods again; package checkpoint keeps them in a directory. Nil: a restarted node knows
	// only of ends that the runtime has records of, or that a source reports.
	TerminalStatuses TerminalStatuses
	// ContainerStates keeps, for a restarted node, the last probe results of running containers and
	// which containers this node has stopped; package checkpoint keeps them in a directory. Nil:
	// after a restart probes begin in their initial state.
	ContainerStates ContainerStates
}

// StatusesConfig says where the statuses of pods are sent. Zero fields have the
// defaults that they name.
type StatusesConfig struct {
	// Sink gets the status of every pod as it changes: an API server, another machine, a file. A
	// terminal status is sent when nothing of the pod runs any more. After Run's context has ended
	// the node goes on sending for up to ten seconds. Nil: nothing is sent; see also Watch.
	Sink status.Sink
	// MaxSends bounds how many statuses are sent at once, each of another pod; zero is 16.
	MaxSends int
}

// VolumesConfig says what prepares the volumes of pods, and where their contents come from. Zero fields have the
// defaults that they name.
type VolumesConfig struct {
	// Manager prepares the volumes of pods on the machine; package volumes does so in a directory.
	// Nil: pods that mount volumes are rejected.
	Manager podsync.Volumes
	// Files keeps the hosts file and the termination messages of pods; package volumes has an
	// implementation. Nil: the runtime keeps them.
	Files podsync.Files
	// Objects finds the ConfigMaps and Secrets of environment variables and of the volumes in memory; package
	// objects reads them from a directory. Nil: there are none.
	Objects podsync.Objects
	// Tokens gets tokens of service accounts, for the volumes that the node has in memory
	// if Manager is nil; volumes.Config.Tokens is for those on a directory. Nil: pods that
	// project some are rejected.
	Tokens podsync.Tokens
	// Claims finds the volumes of persistent volume claims, in the same way. Nil: pods that
	// have some are rejected.
	Claims podsync.Claims
}

// ContainersConfig says what every container of a node gets, and when it is restarted and removed. Zero fields have the
// defaults that they name.
type ContainersConfig struct {
	// HostIPs are the node's addresses, primary first; empty is 127.0.0.1.
	HostIPs []string
	// Services finds the services whose addresses the environment of each container has. Nil: there
	// are none.
	Services podsync.Services
	// HTTP sends the requests of HTTP hooks, unless the runtime is a runtime.HandlerRunner, which
	// answers them itself; package hookhttp has an implementation. Nil: pods with such hooks are
	// rejected.
	HTTP podsync.HTTPGetter
	// DNS is the resolver configuration of pods; the zero value is a
	// node without a cluster.
	DNS podsync.Resolver
	// Handlers are the runtime handlers by the name of their RuntimeClass. Pods of
	// other classes are rejected.
	Handlers map[string]string
	// RuntimeClass finds the handler of a RuntimeClass that Handlers does not have; call
	// Scheduling.Recheck when its answers change. It is called by any goroutine and must not block. Nil:
	// there are no others.
	RuntimeClass func(class string) (handler string, known bool)
	// RuntimeName is the scheme of container IDs in statuses; empty is "podkeel".
	RuntimeName string
	// SeccompRoot is the directory of the seccomp profiles that pods name by a path
	// below it; empty is podsync.DefaultSeccompRoot.
	SeccompRoot string
	// CrashLoop is the delay between restarts of a container; zero fields have the kubelet's numbers.
	// It does not affect Images.Backoff: with CrashLoop{Max: time.Minute} a container restarts at least
	// once a minute, and failed pulls are as rare as before.
	CrashLoop backoff.CrashLoop
	// GC says how long dead containers of existing pods are kept; the zero value keeps one of each
	// name, as the kubelet does.
	GC policy.Containers
}

// LogsConfig says where the logs of containers are written, and when they are rotated. Zero fields have the
// defaults that they name.
type LogsConfig struct {
	// Root is the directory for the logs of containers, an absolute path, with one directory for
	// each pod. The node removes the directories of pods that are gone. Two nodes share it only
	// if both have Records. Log collectors look in logfiles.DefaultRoot, /var/log/pods, and a
	// program with a CRI runtime gives that. Empty: the runtime is given no paths.
	Root string
	// Records is a directory of this node alone, an absolute path, in which the node records the
	// directories that it makes in Root. The node then rotates and removes no logs of others
	// there. A kubelet records nothing: it removes the directories of pods that it does not know
	// from /var/log/pods. Empty: all in Root is the node's.
	Records string
	// OldRoots are directories in which this node, and no other one, had its logs before: their
	// logs are still rotated, and removed with their pods.
	OldRoots []string
	// Links is the directory for a link to each of these logs, an absolute path. The links are
	// called NAME_NAMESPACE_CONTAINER-ID.log, as those of kubelets in /var/log/containers, which
	// log collectors read. Empty: there are none. It has no effect without a Root.
	Links string
	// OldLinks are directories in which the node had such links before. They are removed with
	// their logs.
	OldLinks []string
	// MaxBytes is the size at which the log of a running container is rotated; zero is 10 MiB,
	// negative is no limit. MaxFiles is how many files are kept of a log, the current one
	// included, at least two; zero is 5, negative keeps all in one file. The node rotates no logs
	// without a Root, nor if the runtime is no runtime.LogReopener.
	MaxBytes int64
	MaxFiles int
}

// ProbesConfig says who runs the checks of probes. Zero fields have the
// defaults that they name.
type ProbesConfig struct {
	// Check runs the checks of probes. Nil: a runtime.HandlerRunner runs all of them, as the
	// runtime in memory does. With any other runtime, a runtime.Execer runs those of exec probes,
	// and this process makes the connections of the others.
	Check prober.Checker
	// GRPC runs the checks of gRPC probes if Check is nil; package grpccheck has an
	// implementation, which links gRPC. Nil: pods with such probes are rejected.
	GRPC prober.Checker
}

// SchedulingConfig says which pods fit on a node. Zero fields have the
// defaults that they name.
type SchedulingConfig struct {
	// View returns the labels, taints and resources that the API server has for the node. The node
	// reads them at each admission; a change does not affect pods that already run. Nil: they are
	// those of the fields below, which never change.
	View View
	// Labels are the node's, by which pods select it. The operating system, the
	// architecture and the node's name, under the kubelet's keys, are added
	// unless they are given.
	Labels map[string]string
	// Taints of the node. A pod that does not tolerate a taint with the effect NoExecute is
	// rejected, unless it is a static pod. Taints with the effect NoSchedule count for Fits only.
	Taints []v1.Taint
	// Capacity is what the node has, by resource: cpu, memory, pods, anything.
	// Pods that ask for more than is left are refused. What is not declared is
	// not checked.
	Capacity v1.ResourceList
	// Reserved is the part of Capacity that is not for pods.
	Reserved v1.ResourceList
	// MachineCapacity is what the machine has, by resource, for what Capacity does not declare: a
	// container without a limit is told it by a resourceFieldRef, and OOM scores and volumes in
	// memory go by its memory. Nothing is checked against it. Nil: nothing is known of it.
	MachineCapacity v1.ResourceList
	// Admit are admission handlers. They are called after the built-in ones: draining, validity,
	// names, scheduling gates, operating system, pod count, resources, node affinity, node name,
	// host ports, taints, and fields that the PodSyncer does not support. syncloop.AdmitRule makes one
	// of a rule that decides by sums.
	Admit []syncloop.PodAdmitHandler
	// WhenFull says what happens to a pod for which the node has no room. Zero is syncloop.Reject:
	// the pod is rejected. With syncloop.Wait a pod that does not come from an API server waits
	// until it fits, and waiting pods are admitted in the order of their priority.
	WhenFull syncloop.WhenFull
	// Evictable reports whether Evict may evict a pod. Nil: every pod but static pods and those
	// with a system-critical priority. It is called by any goroutine. A panic counts as false.
	Evictable func(pod *v1.Pod) bool
	// MaxPods bounds how many pods are active at once; zero is 110.
	MaxPods int
}

// ImagesConfig says how images are pulled, and when unused ones are removed. Zero fields have the
// defaults that they name.
type ImagesConfig struct {
	// Backoff is the delay between failed pulls of an image; zero fields have the kubelet's numbers.
	Backoff backoff.ImagePull
	// GC says when unused images are removed; the zero value has the kubelet's numbers. If the
	// runtime is no runtime.ImageFilesystem, images are removed by their age only.
	GC policy.Images
	// MaxPulls bounds how many images are pulled at once, MaxPullsPerRegistry how
	// many of them from one registry; zero is 10 and 5, negative is no bound.
	MaxPulls, MaxPullsPerRegistry int
	// Keyring finds the credentials for image pulls; nil uses those of imagePullSecrets.
	Keyring images.Keyring
}

// SyncConfig says how often, and how many pods at once, a node syncs. Zero fields have the
// defaults that they name.
type SyncConfig struct {
	// MaxSyncs bounds how many pods are synced at once; zero is no bound.
	MaxSyncs int
	// Resync is the interval after which a pod is synced although nothing has changed; zero is 1
	// min. A pod without volumes, probes and activeDeadlineSeconds that is stable is only checked,
	// after ten times that; see podworkers.StabilityReporter. With NewSyncer that holds only after
	// a call of SyncerParts.SetStability.
	Resync time.Duration
	// Relist is how often the node lists the pods of a runtime without an event stream; zero is 1
	// s.
	Relist time.Duration
	// Housekeeping is the least time between two cleanups; zero is 2 s.
	Housekeeping time.Duration
	// DrainTimeout is how long Run waits at its end for syncs and checks that
	// ignore their context; zero is 30 s, negative is for ever.
	DrainTimeout time.Duration
}
