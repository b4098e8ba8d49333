package node

// Each group of Config is one struct, so that a program can set one concern alone.

import (
	"context"
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

// PodsConfig configures the sources of pods and the state that survives a restart of the node. The
// comment of each field names its default. A pod reaches the node in one of three ways:
//
//	                      Apply           a source.Handle in Sources   files: source/manifest
//	static pod            no              yes                          yes
//	evicted by default    yes             no                           no
//	validated by          Apply, which    the node, which rejects      the source, which
//	                      returns faults  an invalid pod               reports faults
//	kept over a restart   by the program  by the program               by the files
//	choose it for         pods that may   pods that evictions          a fixed set of pods
//	                      move elsewhere  must spare
//
// A program keeps its pods in a checkpoint.Pods. It applies the kept pods before it calls SetComplete: see
// package statedir. Scheduling.Evictable decides about evictions of static pods, too.
type PodsConfig struct {
	// Sources deliver pods in addition to Apply. The key is the name of the source. A source named
	// "api" delivers the pods of an API server, mirror pods included, and replaces Apply, Replace and
	// Delete; package cluster has such a source. Pods of every other source are static pods.
	Sources map[string]source.Source
	// AwaitHost makes the node wait for SetComplete before it treats a pod that was not applied as
	// undesired. Without AwaitHost the host program must, before it calls Run, apply every pod that is
	// to keep running across a restart.
	AwaitHost bool
	// FromAPIServer says that the pods of Apply come from an API server, whose controllers replace a
	// rejected pod on another node. A pod that needs resources, a name or a port of terminating pods
	// then waits for their grace period plus 30 s, and is rejected after that; the kubelet rejects it
	// at once. Without FromAPIServer such a pod waits without a limit, as a static pod does.
	FromAPIServer bool
	// OrphanGrace is how long a pod of an earlier process keeps running although no source delivers it.
	// It begins when the source of the pod has delivered all its pods for the first time, because
	// manifests may arrive late. Until it is over, the node removes nothing that pods of an earlier
	// process left. The node terminates such a pod at once if a new pod needs its name or one of its
	// host ports. Zero is 30 s, negative is none.
	OrphanGrace time.Duration
	// TerminalStatuses stores the terminal statuses of pods, so that a restarted node does not run
	// those pods again. Package checkpoint stores them in a directory. Nil: a restarted node knows that
	// a pod has terminated only if the runtime has records of the pod, or if its source delivers a
	// terminal status.
	TerminalStatuses TerminalStatuses
	// ContainerStates stores, for a restarted node, the last probe results of running containers and
	// which containers this node has stopped. Package checkpoint stores them in a directory. Nil: after
	// a restart probes begin in their initial state.
	ContainerStates ContainerStates
	// AllocatedResources stores the allocated resources of pods, so that a restarted node does not give a pod
	// resources that were only requested. Package checkpoint stores them in a directory. Nil: in a restarted
	// node a running pod has the resources that its spec requests then, without a decision.
	AllocatedResources AllocatedResources
}

// StatusesConfig configures where the node sends the statuses of pods. The comment of each field names
// its default. A program gets statuses in one of two ways:
//
//	                      Sink                             Node.Watch
//	after an error        the node sends again, later      the program repeats, or the next state replaces it
//	several pods at once  yes, up to MaxSends              no, one loop
//	a removed pod         the duties of status.Sink        a last state with Gone
//	when ctx has ended    sends for up to ten seconds      yields the changes from before that
//	choose it for         a store that must get the last   a screen, metrics, or a bus on which only
//	                      status, such as an API server    the newest state counts
type StatusesConfig struct {
	// Sink receives the status of every pod when it changes: an API server, another machine, a file.
	// The node sends a terminal status when no container of the pod runs. After the context of Run has
	// ended, the node continues to send for up to ten seconds. Nil: the node sends nothing; see also
	// Watch.
	Sink status.Sink
	// MaxSends limits how many statuses the node sends at once, each of another pod. Zero is 16.
	MaxSends int
	// SendDelay is how long the node waits after a change of a pod before it sends the newest status of
	// the pod. It does not send the statuses in between: if a container exits and starts again within
	// SendDelay, readers see its exit only in LastTerminationState. A kubelet does not wait, but its
	// readers can miss statuses too. Watch and the store show every status. After a failed send the
	// pauses of retries apply instead. Zero: the node does not wait.
	SendDelay time.Duration
}

// VolumesConfig configures what prepares the volumes of pods, and where their contents come from. The
// comment of each field names its default.
type VolumesConfig struct {
	// Manager prepares the volumes of pods on the machine. Package volumes does so in a directory. Nil:
	// the node rejects pods that mount volumes.
	Manager podsync.Volumes
	// Files writes the hosts file and reads the termination messages of pods. Package volumes has an
	// implementation. Nil: the runtime does so.
	Files podsync.Files
	// Objects finds the ConfigMaps and Secrets of environment variables and of in-memory volumes.
	// Package objects reads them from a directory. Nil: there are no ConfigMaps and Secrets.
	Objects podsync.Objects
	// Tokens gets service account tokens for in-memory volumes, which the node uses if Manager is nil.
	// For volumes in a directory set volumes.Config.Tokens. Nil: the node rejects pods that project
	// tokens.
	Tokens podsync.Tokens
	// Claims finds the volumes of persistent volume claims, for in-memory volumes as well. Nil: the
	// node rejects pods that have claims.
	Claims podsync.Claims
}

// ContainersConfig configures how containers are created, restarted and removed. The comment of each
// field names its default.
type ContainersConfig struct {
	// HostIPs are the addresses of the node, primary first. Empty is 127.0.0.1.
	HostIPs []string
	// Services finds the services whose addresses each container has in its environment. Nil: there are
	// no services.
	Services podsync.Services
	// HTTP sends the requests of HTTP hooks, unless the runtime is a runtime.HandlerRunner, which runs
	// hooks itself. Package hookhttp has an implementation. Nil: the node rejects pods with HTTP hooks.
	HTTP podsync.HTTPGetter
	// DNS is the resolver configuration of pods. The zero value is for a node without a cluster.
	DNS podsync.Resolver
	// Handlers maps the names of RuntimeClasses to runtime handlers. The node rejects pods of other
	// classes.
	Handlers map[string]string
	// RuntimeClass finds the handler of a RuntimeClass that Handlers does not have. Call
	// Scheduling.Recheck when its results change. Any goroutine calls it, and it must not block. Nil:
	// there are no other classes.
	RuntimeClass func(class string) (handler string, known bool)
	// Augment returns the devices, mounts, variables and annotations that a container gets beside its spec:
	// see podsync.Config. Nil: no additions.
	Augment func(ctx context.Context, pod *v1.Pod, container *v1.Container) (podsync.Additions, error)
	// RuntimeName is the scheme of container IDs in statuses; empty is "podkeel".
	RuntimeName string
	// SeccompRoot is the directory below which pods name their seccomp profiles. Empty is
	// podsync.DefaultSeccompRoot.
	SeccompRoot string
	// CrashLoop is the delay between restarts of a container. Zero fields have the kubelet's defaults.
	// It does not affect Images.Backoff: CrashLoop{Max: time.Minute} makes a container restart at least
	// once a minute, and leaves the delay between failed pulls as it is.
	CrashLoop backoff.CrashLoop
	// GC says how many dead containers of existing pods are kept, and for how long. The zero value
	// keeps one of each name, as the kubelet does.
	GC policy.Containers
}

// CgroupsConfig configures the cgroups of pods.
type CgroupsConfig struct {
	// PodCgroups creates, sizes and removes the cgroups: a *cgroups.Manager. Its root must belong to this
	// node alone, because the node removes the cgroups of unknown pods in it. Nil: the runtime chooses where
	// pods run, and a pod has only the limits of its containers. A pod that a process without PodCgroups has
	// started stays where it runs until it gets another sandbox, because a runtime cannot move a sandbox. Its
	// containers keep their own limits and are resized; the limits of its new cgroup do not reach them.
	PodCgroups CgroupManager
	// Release: pods get no cgroups any longer. A pod that an earlier process has put into a cgroup keeps it
	// without limits, until the pod terminates, and the cgroups of unknown pods are removed.
	Release bool
	// MaxPIDs is how many processes and threads all containers of a pod may have together. Zero is no limit.
	MaxPIDs int64
	// EnforceAllocatable limits all pods together: their memory and CPU shares to the Capacity, or else
	// MachineCapacity, of Scheduling without its Reserved, and their processes to MaxTotalPIDs. If the limits
	// cannot be written, the node records an event and tries again each minute; pods start all the same. If
	// PodCgroups is a CgroupTotalReader, a hard threshold of memory.available also applies to that memory.
	EnforceAllocatable bool
	// MaxTotalPIDs is how many processes and threads all pods may have together. Zero is no limit.
	MaxTotalPIDs int64
}

// LogsConfig configures where container logs are written and when they are rotated. The comment of each
// field names its default.
type LogsConfig struct {
	// Root is the directory of container logs, an absolute path. It has one directory for each pod. The
	// node removes the directories of removed pods. Two nodes can share Root only if both set Records.
	// Log collectors read logfiles.DefaultRoot, /var/log/pods, so a program with a CRI runtime sets
	// that. Empty: the runtime gets no log paths.
	Root string
	// Records is a directory of this node alone, an absolute path. The node records in it the
	// directories that it makes in Root. It then rotates and removes no other logs in Root. A kubelet
	// records nothing, and removes directories of unknown pods from /var/log/pods. Empty: all
	// directories in Root belong to the node.
	Records string
	// OldRoots are former values of Root, which no other node uses. The node still rotates the logs
	// there, and removes them with their pods.
	OldRoots []string
	// Links is the directory for a link to each log, an absolute path. The links are called
	// NAME_NAMESPACE_CONTAINER-ID.log, like the links of kubelets in /var/log/containers, which log
	// collectors read. Empty: the node makes no links. It has no effect without a Root.
	Links string
	// OldLinks are former values of Links. The node removes the links there with their logs.
	OldLinks []string
	// MaxBytes is the size at which the log of a running container is rotated. Zero is 10 MiB, negative
	// is no limit. MaxFiles is the number of files of a log, including the current one, and at least
	// two. Zero is 5, negative means that the log is never rotated. The node rotates no logs without a
	// Root, nor while the runtime is no runtime.LogReopener.
	MaxBytes int64
	MaxFiles int
}

// ProbesConfig configures who runs the checks of probes. The comment of each field names its default.
type ProbesConfig struct {
	// Check runs the checks of probes. It gets each probe with its handler. The node still rejects exec
	// probes, unless the runtime is a runtime.Execer or runtime.HandlerRunner. Nil: if the runtime is a
	// runtime.HandlerRunner, as the in-memory runtime is, the runtime runs all checks. With any other
	// runtime, a runtime.Execer runs exec probes, and this process connects for the other kinds.
	Check prober.Checker
	// GRPC runs gRPC probes if Check is nil. Package grpccheck has an implementation, which links gRPC.
	// Nil: the node rejects pods with gRPC probes.
	GRPC prober.Checker
}

// SchedulingConfig configures which pods fit on a node. The comment of each field names its default.
type SchedulingConfig struct {
	// View returns the labels, taints and resources that the API server has for the node. The node
	// reads them at each admission. A change does not affect running pods. Nil: the node uses the
	// fields below.
	View View
	// Labels are the labels of the node, by which pods select it. The node adds the operating system,
	// the architecture and its name under the kubelet's keys, unless Labels has them.
	Labels map[string]string
	// Taints are the taints of the node. The node rejects a pod that does not tolerate a NoExecute
	// taint, unless the pod is static. NoSchedule taints matter only for Fits.
	Taints []v1.Taint
	// Capacity is the capacity of the node by resource name, for example cpu, memory and pods. The node
	// rejects a pod that requests more of a resource than is left. It does not check resources that
	// Capacity lacks.
	Capacity v1.ResourceList
	// Reserved is the part of Capacity that is for other programs than pods. Pods cannot request it.
	Reserved v1.ResourceList
	// MachineCapacity is the size of the machine by resource name. The node uses it for resources that
	// Capacity lacks, and checks no pod against it. For example, a container without a memory limit
	// that reads its limit with a resourceFieldRef gets MachineCapacity's memory. OOM scores and the
	// sizes of in-memory volumes are computed from that memory too. Nil: the size of the machine is
	// unknown.
	MachineCapacity v1.ResourceList
	// Admit are additional admission handlers. The node calls them after the built-in checks: draining,
	// validity, names, scheduling gates, operating system, pod count, resources, node affinity, node
	// name, host ports, taints, and fields that the PodSyncer does not support. syncloop.AdmitRule
	// makes a handler from a rule about sums of requests.
	Admit []syncloop.PodAdmitHandler
	// WhenFull says what the node does with a pod for which it has no room. Zero is syncloop.Reject: it
	// rejects the pod. With syncloop.Wait a pod that does not come from an API server waits until it
	// fits. Waiting pods are admitted in the order of their priorities.
	WhenFull syncloop.WhenFull
	// Evictable reports whether Evict may evict a pod. Nil: every pod except static pods and pods with
	// a system-critical priority. Any goroutine calls it. A panic counts as false.
	Evictable func(pod *v1.Pod) bool
	// MaxPods limits how many pods are active at once. Zero is 110.
	MaxPods int
}

// ImagesConfig configures how images are pulled and when unused images are removed. The comment of each
// field names its default.
type ImagesConfig struct {
	// Backoff is the delay between failed pulls of an image. Zero fields have the kubelet's defaults.
	Backoff backoff.ImagePull
	// GC says when unused images are removed. The zero value has the kubelet's defaults. If the runtime
	// is no runtime.ImageFilesystem, only the age of an image counts.
	GC policy.Images
	// MaxPulls limits how many images are pulled at once, and MaxPullsPerRegistry how many from one
	// registry. Zero is 10 and 5, negative is no limit.
	MaxPulls, MaxPullsPerRegistry int
	// Keyring finds the credentials for image pulls. Nil: the node uses the imagePullSecrets of pods.
	Keyring images.Keyring
}

// SyncConfig configures how often and how many pods at once a node syncs. The comment of each field
// names its default.
type SyncConfig struct {
	// MaxSyncs limits how many pods are synced at once. Zero is no limit.
	MaxSyncs int
	// Resync is the interval at which the node syncs a pod although nothing has changed. Zero is 1 min.
	// A stable pod without volumes, probes and activeDeadlineSeconds is only checked, at ten times that
	// interval; see podworkers.StabilityReporter. With NewSyncer that holds only if NewSyncer calls
	// SyncerParts.SetStability.
	Resync time.Duration
	// Relist is how often the node lists the pods of a runtime without an event stream. Zero is 1 s.
	Relist time.Duration
	// Housekeeping is the minimum interval between two runs of housekeeping. Zero is 2 s.
	Housekeeping time.Duration
	// DrainTimeout is how long Run waits, after its context has ended, for syncs and probes that ignore
	// their context. Zero is 30 s, negative waits without a limit.
	DrainTimeout time.Duration
}
