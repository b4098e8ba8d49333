package podsync

import (
	"cmp"
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

// Config is what a Syncer is made of. Runtime and Status are required; the
// zero value of everything else is its default.
type Config struct {
	// Runtime drives the containers. If its Features have a StatusReporter, the Syncer asks whether it
	// and its network are ready before it starts anything.
	Runtime runtime.Runtime
	// Status stores the statuses that are published: a status.Store, or another StatusStore. If it
	// is a StatusReader too, statuses are copied less often, and pods can be stable (IsStable).
	Status StatusStore
	// Recorder gets events for people. Nil discards them.
	Recorder runtime.EventRecorder
	// Clock is the time; nil is the real one.
	Clock clock.Clock
	// Log gets a line for each action and each failure. Nil discards.
	Log *slog.Logger
	// Hooks are called for what the Syncer does.
	Hooks Hooks

	// Probes runs the probes of pods: a prober.Prober, or another Prober. Nil: pods with
	// probes are unsupported.
	Probes Prober
	// Volumes prepares the volumes of pods on the machine. Nil: pods that mount volumes are
	// unsupported.
	Volumes Volumes
	// Files keeps the hosts file and the termination messages of pods. Nil: a pod with hostAliases
	// is unsupported, and termination messages are those that the runtime reports.
	Files Files
	// Objects finds the ConfigMaps and Secrets of environment variables, and the Secrets with
	// credentials for image pulls. Nil: there are none.
	Objects Objects
	// Services finds the services whose addresses are in the environment of containers. Nil: there
	// are none.
	Services Services
	// TerminalStatuses keeps the terminal statuses of pods. Nil: they are lost with the process.
	TerminalStatuses TerminalStatuses
	// ContainerStates keeps the probe results of containers, and which containers this node has
	// stopped. Nil: they are lost with the process. Then a container with a startup probe counts as
	// not started again, and a container that this node was stopping when the process ended, and
	// that exits with 0, as succeeded.
	ContainerStates ContainerStates
	// DNS is the resolver configuration of pods.
	DNS Resolver
	// Allocatable is what the node has for pods: a variable that refers to a limit that is not set
	// gets this value.
	Allocatable v1.ResourceList
	// Images brings images, and protects them from garbage collection. Nil: an
	// images.Manager of the Syncer's own, which is enough if no other component removes images.
	Images *images.Manager
	// Keyring finds the credentials to pull with. Nil: images.PullSecrets.
	Keyring images.Keyring
	// HTTP makes the requests of http hooks. Nil: pods with such hooks are
	// unsupported, unless the runtime is a runtime.HandlerRunner.
	HTTP HTTPGetter

	// Handlers are the runtime handlers by the name of their RuntimeClass. A pod
	// of another class is unsupported.
	Handlers map[string]string

	// RuntimeClass finds the handler of a class that Handlers does not have. It is called at
	// each admission and before a sandbox is created, by any goroutine, and must not block.
	// Nil: there are no others.
	RuntimeClass func(class string) (handler string, known bool)

	// Desired returns the newest desired state of a pod. The volume refresher renders downward API
	// files from it. It must not block. Nil: the refresher uses the pod as it was synced last.
	Desired func(types.UID) (*v1.Pod, bool)

	// Changed is called for every pod that the call has changed, once at its end, so
	// that it is synced soon. Nil: no call.
	Changed func(types.UID)

	// HostIPs are the addresses of the node, primary first. Empty: statuses
	// have none, nor have host-network pods.
	HostIPs []string

	// NodeIPs returns the addresses of the node at the moment, primary first; none: HostIPs. It
	// is called in each sync, by any goroutine, and must not block. Nil: they are HostIPs.
	NodeIPs func() []string
	// RuntimeName is the scheme of container IDs in statuses. Default
	// "podkeel".
	RuntimeName string
	// LogRoot is the directory below which each pod gets one for the logs of
	// its containers. Empty: the runtime is given no paths.
	LogRoot string
	// SeccompRoot is the directory of the seccomp profiles that pods name by a
	// path below it, an absolute path. Default DefaultSeccompRoot.
	SeccompRoot string
	// Logs makes the directory for the logs of a pod, and tells the numbers of attempts
	// of which there are no records any more and no status. Nil: containers without
	// either begin with zero.
	Logs AttemptLogs
	// MemoryBytes is the memory of the node: Burstable containers are killed in
	// order of the share of it that they ask for. Zero: all the same.
	MemoryBytes uint64

	// CallTimeout bounds every call of the runtime that is not itself a wait.
	// Creating, starting and removing run until it ends even when the sync is
	// cancelled. Default two minutes.
	CallTimeout time.Duration
	// PullTimeout bounds one pull of an image, so that one which hangs is tried
	// again one day. Default one hour. It is for the Syncer's own Images.
	PullTimeout time.Duration
	// HookTimeout bounds a PostStart hook: as long as it runs the containers
	// after it are not started. A PreStop hook is bounded by the grace. Default
	// ten minutes.
	HookTimeout time.Duration
	// CrashLoop is the delay between restarts of a container. The zero value
	// has the kubelet's numbers.
	CrashLoop backoff.CrashLoop
	// ImagePull is the delay between failing pulls. The zero value has the
	// kubelet's numbers.
	ImagePull backoff.ImagePull
}

// What Config has where it has zero.
const (
	// DefaultCallTimeout is Config.CallTimeout if that is zero.
	DefaultCallTimeout = 2 * time.Minute
	// DefaultPullTimeout is Config.PullTimeout if that is zero.
	DefaultPullTimeout = time.Hour
	// DefaultHookTimeout is Config.HookTimeout if that is zero.
	DefaultHookTimeout = 10 * time.Minute
	// DefaultSeccompRoot is Config.SeccompRoot if that is empty: where the kubelet
	// looks for profiles.
	DefaultSeccompRoot = "/var/lib/kubelet/seccomp"
)

// Hooks report what happens. They are called by the goroutine of the sync,
// or by those of parallel kills, with no lock held. Each may be nil.
type Hooks struct {
	// ActionDone is called after each action on a container or a sandbox, even if the action has failed.
	ActionDone func(Result)
	// RestartDelayed is called for each container whose crash-loop delay is not over.
	RestartDelayed func(RestartDelay)
	// ImagePulled is called after each pull of an image for a container, or for an image volume, that
	// has succeeded.
	ImagePulled func(ImagePull)
	// Panicked is called after each panic that was contained: of the runtime, a hook,
	// or whatever else in Config others have written. call names the call.
	Panicked func(call string, err error)
}

// ImagePull is an image that was pulled for a container.
type ImagePull struct {
	UID       types.UID
	Container string // empty: the image is of an image volume
	Image     string
	SizeBytes uint64        // zero: not known
	Took      time.Duration // of the pull itself
	Waited    time.Duration // from the wish for it to its end, with the time for others to end
}

// RestartDelay is the crash-loop delay of one container.
type RestartDelay struct {
	UID       types.UID
	Container string
	Until     time.Time
}

// complete fills in defaults and names everything that is wrong.
func (c *Config) complete() error {
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
