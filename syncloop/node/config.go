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
	// NewSyncer makes the PodSyncer, which does what is to be done about one pod. It is
	// called once, by New, with the parts that it may use; its error is that of New. A
	// panic of the PodSyncer is the error of that call. Nil: a podsync.Syncer.
	NewSyncer func(parts SyncerParts) (podworkers.PodSyncer, error)
	// Sources bring pods beside those of Apply. The keys name them. The one named "api"
	// replaces Apply, Replace and Delete, and its pods are those of an API server, mirror
	// pods among them; package cluster has one. Pods of all others are static pods.
	Sources map[string]source.Source
	// AwaitHost keeps the node from concluding anything about pods that were not
	// applied until SetComplete is called. Without it all pods that are to be kept
	// running over a restart must be applied before Run.
	AwaitHost bool
	// FromAPIServer says that the pods of Apply are an API server's: if one is refused,
	// its controller creates another one elsewhere. Such a pod waits for others to end
	// for their grace and 30 s more, and is then refused, as the kubelet refuses it at
	// once. Without it the pods of Apply wait, like static ones, for as long as it takes.
	FromAPIServer bool
	// OrphanGrace is how long a pod goes on that runs when the node starts and that no
	// source names, from the moment when its source has said everything for the first
	// time: manifests may come late. So long nothing is removed of what pods before
	// this node have left. A pod that needs its name or a host port ends it at once.
	// Zero is 30 s, negative is none.
	OrphanGrace time.Duration
	// Sink gets the status of every pod as it changes: an API server, another machine, a
	// file. A terminal status is sent when nothing of the pod runs any more. After the
	// end of Run's context what is left is sent for ten seconds more. Nil: nothing is
	// sent; see also Watch.
	Sink status.Sink
	// MaxSends bounds how many statuses are sent at once, each of another pod; zero is 16.
	MaxSends int
	// HostIPs are the node's addresses, primary first; empty is 127.0.0.1.
	HostIPs []string
	// Volumes brings the volumes of pods to the machine; package volumes has one on
	// a directory. Nil: pods that mount some are rejected.
	Volumes podsync.Volumes
	// Files keeps the hosts file and the termination messages of pods; the one of
	// package volumes does. Nil: the runtime's own.
	Files podsync.Files
	// Objects finds the ConfigMaps and Secrets that variables refer to; package
	// objects has one on a directory. Nil: there are none.
	Objects podsync.Objects
	// Services finds the services that variables tell of. Nil: there are none.
	Services podsync.Services
	// Tokens gets tokens of service accounts, for the volumes that the node has in memory
	// if Volumes is nil; volumes.Config.Tokens is for those on a directory. Nil: pods that
	// project some are rejected.
	Tokens podsync.Tokens
	// Claims finds the volumes of persistent volume claims, in the same way. Nil: pods that
	// have some are rejected.
	Claims podsync.Claims
	// TerminalStatuses keep how pods have ended, so that they do not run again when a
	// node is restarted; package checkpoint has them on a directory. Nil: only what the
	// runtime has records of, and sources say, is known then.
	TerminalStatuses TerminalStatuses
	// ContainerStates keep what probes have said of running containers, and which of
	// them this node has stopped, for a node that is restarted; package checkpoint has
	// them on a directory. Nil: then their probes start from their initial state.
	ContainerStates ContainerStates
	// HTTP makes the requests of http hooks where the runtime does not answer for
	// its containers; package hookhttp has one. Nil: such pods are rejected.
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
	// LogRoot is the directory for the logs of containers, an absolute path, below
	// which each pod gets one. What is there of pods that are gone is removed: no two
	// nodes may share it. Empty: the runtime is given no paths.
	LogRoot string
	// LogLinks is the directory for a link to each of these logs, an absolute path:
	// NAME_NAMESPACE_CONTAINER-ID.log, as kubelets have them in /var/log/containers for those
	// who collect logs. Empty: there are none. It has no effect without a LogRoot.
	LogLinks string
	// LogMaxBytes is how large the log of a running container may get before another
	// file takes its place; zero is 10 MiB, negative is any size. LogMaxFiles is how
	// many files there are of it, that one included, at least two; zero is 5, negative
	// keeps all in one. Without a LogRoot, or a runtime that is a
	// runtime.LogReopener, logs are the runtime's business.
	LogMaxBytes int64
	LogMaxFiles int
	// SeccompRoot is the directory of the seccomp profiles that pods name by a path
	// below it; empty is podsync.DefaultSeccompRoot.
	SeccompRoot string
	// Check makes the checks of probes. Nil: those by exec through the runtime if
	// it is a runtime.Execer, the others by connections from this process; or all
	// of them by the runtime if it is a runtime.HandlerRunner, as the one in memory.
	Check prober.Checker
	// GRPCProbes makes the checks of grpc probes where Check is nil; package
	// grpccheck has one, apart because it brings gRPC along. Nil: pods with such
	// probes are rejected.
	GRPCProbes prober.Checker
	// View is how an API server sees the node: its labels, taints and resources at each
	// admission. Pods that run stay when those change; only admission looks at them. Nil:
	// they are those below, for good.
	View View
	// Labels are the node's, by which pods select it. The operating system, the
	// architecture and the node's name, under the kubelet's keys, are added
	// unless they are given.
	Labels map[string]string
	// Taints of the node: with the effect NoExecute they keep out what does not
	// tolerate them, static pods excepted. Of those with NoSchedule only Fits tells.
	Taints []v1.Taint
	// Capacity is what the node has, by resource: cpu, memory, pods, anything.
	// Pods that ask for more than is left are refused. What is not declared is
	// not checked.
	Capacity v1.ResourceList
	// Reserved is how much of Capacity pods do not get.
	Reserved v1.ResourceList
	// Admit is asked after the built-in handlers: draining, validity, names, scheduling
	// gates, operating system, pod count, resources, node affinity, node name, host
	// ports, taints, fields that the syncer can not honour.
	Admit []syncloop.PodAdmitHandler
	// WhenFull says what becomes of a pod that does not fit beside the pods that the node
	// has. Zero is syncloop.Reject: it is rejected. With syncloop.Wait a pod that is not an
	// API server's waits until it fits, and pods that wait are admitted in the order of their
	// priority.
	WhenFull syncloop.WhenFull
	// Evictable is asked by Evict whether a pod may be; nil spares static pods
	// and those of a system-critical priority. It is called by any goroutine. A
	// panic counts as no.
	Evictable func(pod *v1.Pod) bool
	// MaxPods bounds how many pods are active at once; zero is 110.
	MaxPods int
	// MaxSyncs bounds how many pods are synced at once; zero is no bound.
	MaxSyncs int
	// Resync is the periodic resync interval of a pod; zero is 1 min. A pod without volumes,
	// probes and activeDeadlineSeconds of which nothing has changed is looked at after ten
	// times that (podworkers.StabilityReporter), unless NewSyncer makes the PodSyncer and does
	// not call SyncerParts.SetStability.
	Resync time.Duration
	// CrashLoop is the delay between restarts of a container, and ImagePull that between
	// pulls of an image that fail; zero fields have the kubelet's numbers. Either is
	// independent of the other: with CrashLoop: backoff.CrashLoop{Max: time.Minute} a
	// container restarts at least once in a minute, and no pull is tried more often.
	CrashLoop backoff.CrashLoop
	ImagePull backoff.ImagePull
	// Relist is how often the runtime is listed without an event stream; zero
	// is 1 s.
	Relist time.Duration
	// Housekeeping is the least time between two cleanups; zero is 2 s.
	Housekeeping time.Duration
	// GC says how long dead containers are kept of pods that are still there;
	// the zero value keeps one of each name, as the kubelet does.
	GC policy.Containers
	// ImageGC says when unused images are removed; the zero value has
	// the kubelet's numbers. Without a runtime.ImageFilesystem only an age
	// removes any.
	ImageGC policy.Images
	// MaxPulls bounds how many images are pulled at once, MaxPullsPerRegistry how
	// many of them from one registry; zero is 10 and 5, negative is no bound.
	MaxPulls, MaxPullsPerRegistry int
	// Keyring finds the credentials to pull images with; nil knows those of
	// imagePullSecrets.
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
	// Recorder receives events, whose messages have 1024 bytes at most; nil drops
	// them. client-go's recorder fits.
	Recorder runtime.EventRecorder
	// Timeline is handed each thing that happens to a pod, for a drawing of its life:
	// recorder.Recorder.Record. It is called by any goroutine, concurrently, and must not
	// block. Nil: nothing is recorded.
	Timeline func(uid types.UID, r timeline.Record)
	// Hooks are those of the workers; each is called after the node has seen
	// to the same thing itself. Panicked is called for each contained panic of
	// whatever is in this Config: see the package comment.
	Hooks podworkers.Hooks
	// PartHooks are those of the other parts, called likewise: package metrics has some.
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
