package node

import (
	"cmp"
	"log/slog"
	"strings"
	"time"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/clock"

	"github.com/podkeel/podkeel/internal/contain"
	"github.com/podkeel/podkeel/podmanager"
	"github.com/podkeel/podkeel/podmanager/source"
	"github.com/podkeel/podkeel/podmanager/status"
	"github.com/podkeel/podkeel/podworkers"
	"github.com/podkeel/podkeel/podworkers/backoff"
	"github.com/podkeel/podkeel/podworkers/podsync"
	"github.com/podkeel/podkeel/podworkers/podsync/images"
	"github.com/podkeel/podkeel/podworkers/prober"
	"github.com/podkeel/podkeel/runtime"
	"github.com/podkeel/podkeel/syncloop"
	"github.com/podkeel/podkeel/syncloop/gc/policy"
	"github.com/podkeel/podkeel/syncloop/timeline"
)

// Config says what a node is made of. The zero value is a complete node: an
// in-memory runtime, pods handed over with Apply, the kubelet's numbers.
type Config struct {
	// Name is the node's name in lower case. Apply fills it in as the spec.nodeName of
	// pods without one; empty is "localhost". A pod with the spec.nodeName of
	// another node is refused with reason NodeName.
	Name string
	// Runtime runs the containers; nil is a new runtime in memory, with in-memory
	// volumes if none are given.
	Runtime runtime.Runtime
	// NewSyncer makes the PodSyncer of the node. New calls it once, with the parts of the node that
	// the PodSyncer may use, and returns its error. A panic of the PodSyncer fails only the call in
	// which it occurs. Nil: a podsync.Syncer.
	NewSyncer func(parts SyncerParts) (podworkers.PodSyncer, error)
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
	// Sink gets the status of every pod as it changes: an API server, another machine, a file. A
	// terminal status is sent when nothing of the pod runs any more. After Run's context has ended
	// the node goes on sending for up to ten seconds. Nil: nothing is sent; see also Watch.
	Sink status.Sink
	// MaxSends bounds how many statuses are sent at once, each of another pod; zero is 16.
	MaxSends int
	// HostIPs are the node's addresses, primary first; empty is 127.0.0.1.
	HostIPs []string
	// Volumes prepares the volumes of pods on the machine; package volumes does so in a directory.
	// Nil: pods that mount volumes are rejected.
	Volumes podsync.Volumes
	// Files keeps the hosts file and the termination messages of pods; package volumes has an
	// implementation. Nil: the runtime keeps them.
	Files podsync.Files
	// Objects finds the ConfigMaps and Secrets to which environment variables refer; package
	// objects reads them from a directory. Nil: there are none.
	Objects podsync.Objects
	// Services finds the services whose addresses the environment of each container has. Nil: there
	// are none.
	Services podsync.Services
	// Tokens gets tokens of service accounts, for the volumes that the node has in memory
	// if Volumes is nil; volumes.Config.Tokens is for those on a directory. Nil: pods that
	// project some are rejected.
	Tokens podsync.Tokens
	// Claims finds the volumes of persistent volume claims, in the same way. Nil: pods that
	// have some are rejected.
	Claims podsync.Claims
	// TerminalStatuses keeps the terminal statuses of pods, so that a restarted node does not run
	// those pods again; package checkpoint keeps them in a directory. Nil: a restarted node knows
	// only of ends that the runtime has records of, or that a source reports.
	TerminalStatuses TerminalStatuses
	// ContainerStates keeps, for a restarted node, the last probe results of running containers and
	// which containers this node has stopped; package checkpoint keeps them in a directory. Nil:
	// after a restart probes begin in their initial state.
	ContainerStates ContainerStates
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
	// Recheck when its answers change. It is called by any goroutine and must not block. Nil:
	// there are no others.
	RuntimeClass func(class string) (handler string, known bool)
	// RuntimeName is the scheme of container IDs in statuses; empty is "podkeel".
	RuntimeName string
	// LogRoot is the directory for the logs of containers, an absolute path, with one directory for
	// each pod. The node removes the directories of pods that are gone. Two nodes share it only
	// if both have LogRecords. Log collectors look in logfiles.DefaultRoot, /var/log/pods, and a
	// program with a CRI runtime gives that. Empty: the runtime is given no paths.
	LogRoot string
	// LogRecords is a directory of this node alone, an absolute path, in which the node records the
	// directories that it makes in LogRoot. The node then rotates and removes no logs of others
	// there. A kubelet records nothing: it removes the directories of pods that it does not know
	// from /var/log/pods. Empty: all in LogRoot is the node's.
	LogRecords string
	// OldLogRoots are directories in which this node, and no other one, had its logs before: their
	// logs are still rotated, and removed with their pods.
	OldLogRoots []string
	// LogLinks is the directory for a link to each of these logs, an absolute path. The links are
	// called NAME_NAMESPACE_CONTAINER-ID.log, as those of kubelets in /var/log/containers, which
	// log collectors read. Empty: there are none. It has no effect without a LogRoot.
	LogLinks string
	// OldLogLinks are directories in which the node had such links before. They are removed with
	// their logs.
	OldLogLinks []string
	// LogMaxBytes is the size at which the log of a running container is rotated; zero is 10 MiB,
	// negative is no limit. LogMaxFiles is how many files are kept of a log, the current one
	// included, at least two; zero is 5, negative keeps all in one file. The node rotates no logs
	// without a LogRoot, nor if the runtime is no runtime.LogReopener.
	LogMaxBytes int64
	LogMaxFiles int
	// SeccompRoot is the directory of the seccomp profiles that pods name by a path
	// below it; empty is podsync.DefaultSeccompRoot.
	SeccompRoot string
	// Check runs the checks of probes. Nil: a runtime.HandlerRunner runs all of them, as the
	// runtime in memory does. With any other runtime, a runtime.Execer runs those of exec probes,
	// and this process makes the connections of the others.
	Check prober.Checker
	// GRPCProbes runs the checks of gRPC probes if Check is nil; package grpccheck has an
	// implementation, which links gRPC. Nil: pods with such probes are rejected.
	GRPCProbes prober.Checker
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
	// Machine is what the machine has, by resource, for what Capacity does not declare: a
	// container without a limit is told it by a resourceFieldRef, and OOM scores and volumes in
	// memory go by its memory. Nothing is checked against it. Nil: nothing is known of it.
	Machine v1.ResourceList
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
	// MaxSyncs bounds how many pods are synced at once; zero is no bound.
	MaxSyncs int
	// Resync is the interval after which a pod is synced although nothing has changed; zero is 1
	// min. A pod without volumes, probes and activeDeadlineSeconds that is stable is only checked,
	// after ten times that; see podworkers.StabilityReporter. With NewSyncer that holds only after
	// a call of SyncerParts.SetStability.
	Resync time.Duration
	// CrashLoop is the delay between restarts of a container, and ImagePull the delay between
	// failed pulls of an image; zero fields have the kubelet's numbers. They are independent of
	// each other: with CrashLoop: backoff.CrashLoop{Max: time.Minute} a container restarts at least
	// once a minute, and pulls are as rare as before.
	CrashLoop backoff.CrashLoop
	ImagePull backoff.ImagePull
	// Relist is how often the node lists the pods of a runtime without an event stream; zero is 1
	// s.
	Relist time.Duration
	// Housekeeping is the least time between two cleanups; zero is 2 s.
	Housekeeping time.Duration
	// GC says how long dead containers of existing pods are kept; the zero value keeps one of each
	// name, as the kubelet does.
	GC policy.Containers
	// ImageGC says when unused images are removed; the zero value has the kubelet's numbers. If the
	// runtime is no runtime.ImageFilesystem, images are removed by their age only.
	ImageGC policy.Images
	// MaxPulls bounds how many images are pulled at once, MaxPullsPerRegistry how
	// many of them from one registry; zero is 10 and 5, negative is no bound.
	MaxPulls, MaxPullsPerRegistry int
	// Keyring finds the credentials for image pulls; nil uses those of imagePullSecrets.
	Keyring images.Keyring
	// DrainTimeout is how long Run waits at its end for syncs and checks that
	// ignore their context; zero is 30 s, negative is for ever.
	DrainTimeout time.Duration
	// Clock is the time; nil is the real one.
	Clock clock.Clock
	// Jitter gives numbers in [0,1) that spread retries; nil is random.
	Jitter func() float64
	// Log receives log messages; nil discards them.
	Log *slog.Logger
	// Recorder receives events, with messages of at most 1024 bytes; nil drops them. An
	// EventRecorder of client-go can be used.
	Recorder runtime.EventRecorder
	// Timeline is called for each thing that happens to a pod, as recorder.Recorder.Record, from
	// which the life of the pod can be drawn. It is called by any goroutine, concurrently, and must
	// not block. Nil: nothing is recorded.
	Timeline func(uid types.UID, r timeline.Record)
	// Hooks are those of the workers. Each is called after the node has handled the same event
	// itself. Panicked is called for each contained panic of anything in this Config; see the
	// package comment.
	Hooks podworkers.Hooks
	// PartHooks are those of the other parts, called in the same way; package metrics has some.
	PartHooks PartHooks
}

// TerminalStatuses keep how pods have ended, and know it when a node is restarted.
type TerminalStatuses interface {
	podsync.TerminalStatuses
	// Consume returns how a pod had ended before, and is asked when a source begins
	// to want the pod. Each ending is for one asking: a pod that comes later under
	// the same UID has not ended. It must not block.
	Consume(pod *v1.Pod) (v1.PodStatus, bool)
	// Pods lists pods whose ending is kept and for which of answers true, at most
	// limit of them. It is called when pods may have gone; what is kept of those is
	// dropped.
	Pods(of func(types.UID) bool, limit int) ([]types.UID, error)
}

// ContainerStates are podsync.ContainerStates that tell of which pods they are.
type ContainerStates interface {
	podsync.ContainerStates
	// Pods lists pods of whose containers something is kept and for which of answers
	// true, at most limit of them. It is called when pods may have gone; what is kept
	// of those is dropped, by Remove(ctx, uid, gone) if there is such a method, as
	// checkpoint.Containers has: it asks gone while nothing is being saved of the pod.
	Pods(of func(types.UID) bool, limit int) ([]types.UID, error)
}

// hostSource is the name of the source behind Apply, unless an API server's takes its
// place: their pods are ordinary pods and not static ones.
const hostSource = podmanager.ApiserverSource

func (c *Config) complete() error {
	done := contain.Complete("node: Config")
	c.FromAPIServer = c.FromAPIServer || c.joined()
	contain.Number(done, "MaxPods", &c.MaxPods, 0) // The default is the part's, here and below.
	contain.Number(done, "MaxSyncs", &c.MaxSyncs, 0)
	contain.Number(done, "MaxSends", &c.MaxSends, 0)
	contain.Number(done, "Resync", &c.Resync, 0)
	contain.Number(done, "Relist", &c.Relist, 0)
	contain.Number(done, "Housekeeping", &c.Housekeeping, 0)
	done.Fault(c.LogMaxFiles == 1, "LogMaxFiles is less than two: the log, and the one before it")
	c.checkResources(done)
	c.checkNames(done)
	c.Name = strings.ToLower(cmp.Or(c.Name, "localhost"))
	c.completeLabels()
	c.completeView()
	contain.Unset(&c.Evictable, evictable)
	if len(c.HostIPs) == 0 {
		c.HostIPs = []string{"127.0.0.1"}
	}
	c.Clock = cmp.Or[clock.Clock](c.Clock, clock.RealClock{})
	c.Log = cmp.Or(c.Log, slog.New(slog.DiscardHandler))
	return done.Err()
}
