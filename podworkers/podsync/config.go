package podsync

import (
	"cmp"
	"context"
	"fmt"
	"log/slog"
	"net/netip"
	"path"
	"time"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/clock"

	"github.com/podkeel/podkeel/internal/contain"
	"github.com/podkeel/podkeel/internal/podspec"
	"github.com/podkeel/podkeel/podworkers/backoff"
	"github.com/podkeel/podkeel/podworkers/podsync/images"
	"github.com/podkeel/podkeel/runtime"
)

// Config has the parts and the settings of a Syncer. Runtime and Status are required. The zero value of
// every other field is its default.
type Config struct {
	// Runtime drives the containers. If its Features have a StatusReporter, the Syncer checks that the
	// runtime and its network are ready before it starts anything.
	Runtime runtime.Runtime
	// Status stores the published statuses: a status.Store, or another StatusStore. If it is also a
	// StatusReader, statuses are copied less often, and pods can be stable (IsStable).
	Status StatusStore
	// Recorder receives the events of pods. Nil discards them.
	Recorder runtime.EventRecorder
	// Clock is the clock of all times and deadlines. Nil is the real clock.
	Clock clock.Clock
	// Log receives a line for each action and each failure. Nil discards them.
	Log *slog.Logger
	// Hooks are called for the actions of the Syncer.
	Hooks Hooks

	// Probes runs the probes of pods: a prober.Prober, or another Prober. Nil: pods with probes are
	// unsupported.
	Probes Prober
	// Volumes sets up the volumes of pods on the node. Nil: pods that mount volumes are unsupported.
	Volumes Volumes
	// Files writes the hosts files and the termination message files of pods. Nil: a pod with
	// hostAliases is unsupported, and termination messages come from the runtime only.
	Files Files
	// Objects finds the ConfigMaps and Secrets of environment variables, and the Secrets with
	// credentials for image pulls. Nil: no object exists.
	Objects Objects
	// Services finds the services whose addresses become environment variables of containers. Nil:
	// there are no services.
	Services Services
	// TerminalStatuses stores the terminal statuses of pods. Nil: they are lost with the process.
	TerminalStatuses TerminalStatuses
	// ContainerStates stores the probe results of containers, and which containers this node has
	// stopped. Nil: they are lost with the process. Then, after a restart of the agent, the status of a
	// running container with a startup probe has Started false until the probe succeeds again. If this
	// node was stopping a container for its next attempt when the process ended, and the container
	// exits with code 0, it counts as succeeded and does not run again.
	ContainerStates ContainerStates
	// DNS is the resolver configuration of pods.
	DNS Resolver
	// Allocatable has the resources that the node has for pods. A variable that refers to a limit that
	// is not set gets this value.
	Allocatable v1.ResourceList
	// Cgroups creates and removes the cgroups of pods. Nil: the runtime chooses where a pod runs, and a
	// pod has only the limits of its containers.
	Cgroups Cgroups
	// Images pulls images and protects them from garbage collection. Nil: the Syncer makes its own
	// images.Manager. That is enough if no other component removes images.
	Images *images.Manager
	// Keyring finds the credentials for image pulls. Nil: images.PullSecrets.
	Keyring images.Keyring
	// HTTP sends the requests of HTTP hooks. Nil: pods with such hooks are unsupported, unless the
	// runtime is a runtime.HandlerRunner.
	HTTP HTTPGetter

	// Handlers are the runtime handlers by the name of their RuntimeClass. A pod of another class is
	// unsupported.
	Handlers map[string]string

	// RuntimeClass finds the handler of a class that Handlers does not have. It is called at each
	// admission and before the creation of a sandbox, by any goroutine, and must not block. Nil:
	// Handlers has all classes.
	RuntimeClass func(class string) (handler string, known bool)

	// Augment returns the devices, mounts, variables and annotations that a container gets beside its spec.
	// It is called before the container is created for the first time, concurrently for different pods, and
	// may block for CallTimeout. The result is stored in memory and in an annotation of the container in the
	// runtime, so that a later attempt of the container, also after a restart of the agent, gets the same. If
	// the process ends before the container is created, or the runtime has lost the container, Augment is called
	// again for the same pod and container, and should return the same. After an error, also for a conflict
	// with the spec, the container is not created, and the next sync tries again. Nil: no additions.
	Augment func(ctx context.Context, pod *v1.Pod, container *v1.Container) (Additions, error)

	// Desired returns the newest spec of a pod. The volume refresher renders downward API files from
	// it. It must not block. Nil: the refresher uses the pod of the last sync.
	Desired func(types.UID) (*v1.Pod, bool)

	// Changed is called at the end of each call that may have changed the pod, so that the pod is
	// synced soon. Nil: no call.
	Changed func(types.UID)

	// HostIPs are the addresses of the node, the primary address first. If it is empty, statuses and
	// pods in the host network have no addresses.
	HostIPs []string

	// NodeIPs returns the current addresses of the node, the primary address first. If it returns none,
	// HostIPs are used. It is called in each sync, by any goroutine, and must not block. Nil: HostIPs
	// are used.
	NodeIPs func() []string
	// RuntimeName is the scheme of container IDs in statuses. Default "podkeel".
	RuntimeName string
	// LogRoot is the directory that has one directory for the container logs of each pod. Empty:
	// requests to the runtime have no log paths.
	LogRoot string
	// SeccompRoot is the directory of the seccomp profiles that pods refer to by a relative path. It is
	// an absolute path. Default DefaultSeccompRoot.
	SeccompRoot string
	// Logs creates the log directory of a pod, and finds the newest attempt of a container that has
	// neither a record nor a status. Nil: such a container starts with attempt zero.
	Logs AttemptLogs
	// MemoryBytes is the memory of the node. From it the OOM scores of Burstable containers are
	// computed. Zero: all Burstable containers have the same score.
	MemoryBytes uint64

	// CallTimeout bounds every call of the runtime that does not wait for something. Calls that create,
	// start or remove something run until then even if the sync is cancelled. Default two minutes.
	CallTimeout time.Duration
	// PullTimeout bounds one pull of an image, so that a pull that hangs is retried later. Default one
	// hour. It has no effect if Images is set.
	PullTimeout time.Duration
	// HookTimeout bounds a PostStart hook. While the hook runs, the next containers do not start. A
	// PreStop hook is bounded by the grace period instead. Default ten minutes.
	HookTimeout time.Duration
	// CrashLoop is the delay between restarts of a container. The zero value has the kubelet's numbers.
	CrashLoop backoff.CrashLoop
	// ImagePull is the delay after failed pulls. The zero value has the kubelet's numbers.
	ImagePull backoff.ImagePull
}

// The defaults of Config.
const (
	// DefaultCallTimeout is the default of Config.CallTimeout.
	DefaultCallTimeout = 2 * time.Minute
	// DefaultPullTimeout is the default of Config.PullTimeout.
	DefaultPullTimeout = time.Hour
	// DefaultHookTimeout is the default of Config.HookTimeout.
	DefaultHookTimeout = 10 * time.Minute
	// DefaultSeccompRoot is the default of Config.SeccompRoot. It is the kubelet's directory.
	DefaultSeccompRoot = "/var/lib/kubelet/seccomp"
)

// Hooks report the actions of a Syncer. The goroutines of syncs and parallel stops call them with no
// lock held. Each may be nil.
type Hooks struct {
	// ActionDone is called after each action on a container or sandbox, even if the action has failed.
	ActionDone func(Result)
	// RestartDelayed is called in each sync for each container whose crash-loop delay is not over.
	RestartDelayed func(RestartDelay)
	// OOMKilled is called once for each container that the kernel has killed processes of because memory
	// ran out, when a sync notices that the container has exited or has the reason OOMKilled. It needs a
	// Config.Cgroups that is an OOMReader. After a restart of the agent the kills of a running container may
	// be reported again.
	OOMKilled func(OOMReport)
	// ImagePulled is called after each successful pull of an image for a container or an image volume.
	ImagePulled func(ImagePull)
	// Panicked is called after each contained panic of the runtime, a hook, or another part of Config.
	// call is the name of the call.
	Panicked func(call string, err error)
}

// ImagePull is one successful pull of an image.
type ImagePull struct {
	UID       types.UID
	Container string // empty for an image volume
	Image     string
	SizeBytes uint64        // zero: unknown
	Took      time.Duration // the time of the pull itself
	Waited    time.Duration // the time of the pull and of the wait for other pulls
}

// RestartDelay is the crash-loop delay of one container.
type RestartDelay struct {
	UID       types.UID
	Container string
	Until     time.Time
}

// setDefaultsAndValidate replaces missing values by defaults and limits the timeouts to the longest allowed
// duration. It returns an error that lists every missing field and every invalid value.
func (c *Config) setDefaultsAndValidate() error {
	done := contain.CheckConfig("podsync: Config")
	done.MissingIf(c.Runtime == nil, "Runtime")
	done.MissingIf(c.Status == nil, "Status")
	for _, ip := range c.HostIPs {
		_, err := netip.ParseAddr(ip)
		done.FaultIf(err != nil, fmt.Sprintf("HostIPs: %v", err))
	}
	for _, ip := range c.DNS.ClusterDNS {
		_, err := netip.ParseAddr(ip)
		done.FaultIf(err != nil, fmt.Sprintf("DNS.ClusterDNS: %v", err))
	}
	done.FaultIf(c.SeccompRoot != "" && !path.IsAbs(c.SeccompRoot), fmt.Sprintf("SeccompRoot is no absolute path: %q", c.SeccompRoot))
	contain.DefaultNumber(done, "CallTimeout", &c.CallTimeout, DefaultCallTimeout)
	contain.DefaultNumber(done, "PullTimeout", &c.PullTimeout, DefaultPullTimeout)
	contain.DefaultNumber(done, "HookTimeout", &c.HookTimeout, DefaultHookTimeout)
	for _, limit := range []*time.Duration{&c.CallTimeout, &c.PullTimeout, &c.HookTimeout} {
		*limit = min(*limit, podspec.MaxDuration)
	}
	c.RuntimeName = cmp.Or(c.RuntimeName, "podkeel")
	c.SeccompRoot = cmp.Or(c.SeccompRoot, DefaultSeccompRoot)
	contain.SetDefault(&c.Desired, func(types.UID) (*v1.Pod, bool) { return nil, false })
	contain.SetDefault[Prober](&c.Probes, noProbes{})
	contain.SetDefault[images.Keyring](&c.Keyring, images.PullSecrets{})
	c.Log = cmp.Or(c.Log, slog.New(slog.DiscardHandler))
	return done.Err()
}
