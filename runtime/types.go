package runtime

import (
	"time"

	"k8s.io/apimachinery/pkg/types"
)

// State is the state of a container.
type State uint8

// The states of a container. Transitions go from created to running to exited, and never back.
const (
	// StateUnknown: the runtime cannot determine the state.
	StateUnknown State = iota
	// StateCreated: created and not started.
	StateCreated
	// StateRunning: running.
	StateRunning
	// StateExited: it ran, or its start failed. It will not run again.
	StateExited
)

// String returns the name that the kubelet uses.
func (s State) String() string {
	switch s {
	case StateCreated:
		return "created"
	case StateRunning:
		return "running"
	case StateExited:
		return "exited"
	}
	return "unknown"
}

// Pod is the shallow form of a pod's records, with enough data to detect a change. A field that
// "echoes" a field of a request always has the value of the request that created the record.
// Callers compare the echoed value with the desired one, and replace the record if they differ.
type Pod struct {
	UID        types.UID // echoes PodRef.UID
	Name       string    // echoes PodRef.Name of the newest sandbox
	Namespace  string    // echoes PodRef.Namespace of the newest sandbox
	Sandboxes  []Sandbox
	Containers []Container
}

// Sandbox is a sandbox record.
type Sandbox struct {
	ID          string
	Attempt     uint32 // echoes RunSandboxRequest.Attempt; 0 for a pod's first sandbox
	Incarnation uint64 // echoes PodRef.Incarnation
	Ready       bool
	CreatedAt   time.Time
	Annotations map[string]string // echoes RunSandboxRequest.Annotations, perhaps with more entries; shared, must not be modified
}

// Container is a container record.
type Container struct {
	ID          string
	Name        string // echoes CreateContainerRequest.Name
	SandboxID   string // echoes CreateContainerRequest.SandboxID
	Attempt     uint32 // echoes CreateContainerRequest.Attempt, the number of earlier starts
	Incarnation uint64 // echoes PodRef.Incarnation
	State       State
}

// PodStatus is the full set of records of one pod. After it was returned, neither the receiver nor
// the runtime may modify it: callers share it and compare it with the next one.
type PodStatus struct {
	UID        types.UID         // echoes PodRef.UID, and the argument of PodStatus
	Name       string            // echoes PodRef.Name
	Namespace  string            // echoes PodRef.Namespace
	Sandboxes  []SandboxStatus   // newest attempt first
	Containers []ContainerStatus // sorted by name, newest attempt first
}

// SandboxStatus is the full record of a sandbox.
type SandboxStatus struct {
	Sandbox
	// IPs are the addresses of the pod, the primary one first. They are empty for a pod on the host
	// network. A runtime without a pod network returns the addresses at which the pod's processes
	// listen, such as 127.0.0.1: probes and hooks connect to them.
	IPs         []string
	HostNetwork bool // echoes Namespaces.HostNetwork; a sandbox with another value is replaced
}

// ContainerStatus is the full record of a container.
type ContainerStatus struct {
	Container
	Image      string // echoes CreateContainerRequest.Image
	ImageRef   string // the reference that the runtime resolved
	CreatedAt  time.Time
	StartedAt  time.Time // zero: it never ran
	FinishedAt time.Time // zero: it has not exited
	ExitCode   int32
	Reason     string // one word such as "Completed", "Error" or "OOMKilled"; may be empty
	Message    string
	// StartCancelled is true for an exited container whose start the runtime cancelled because the
	// caller's context ended. The container may or may not have run.
	StartCancelled bool
	Annotations    map[string]string // echoes CreateContainerRequest.Annotations, perhaps with more entries
	// Resources are the CPU and memory settings that the container has now. A field that the runtime
	// does not report is zero. Nil: it reports none.
	Resources *Resources
	// MountedImages echoes the Image of each image mount of the request, in order.
	MountedImages []string
	// User is the user of the first process of the container. Nil: the runtime reports none.
	User *LinuxContainerUser
}

// PodRef identifies the pod of a request.
type PodRef struct {
	UID         types.UID
	Name        string
	Namespace   string
	Incarnation uint64 // how many pods with this UID were created on this node, from 1; records echo it
}

// RunSandboxRequest asks for a new sandbox.
type RunSandboxRequest struct {
	Pod         PodRef
	Attempt     uint32            // the number of earlier sandboxes of the pod
	Labels      map[string]string // for tools of the runtime; Podkeel does not read them
	Annotations map[string]string // stored with the record, which echoes them
	Hostname    string            // of the pod; empty: the runtime sets none
	Namespaces  Namespaces
	DNS         DNS
	Ports       []PortMapping // only ports with a HostPort; empty with Namespaces.HostNetwork
	Sysctls     map[string]string
	Security    Security
	Resources   Resources // of all containers together; zero: unspecified
	Overhead    Resources // of the sandbox itself, beside Resources; zero: none
	Handler     string    // runtime handler; empty is the default
	LogDir      string    // directory of the pod's logs, which the runtime creates; empty: no log files
	CgroupDir   string    // the parent cgroup; empty is the runtime's default
}

// StopSandboxRequest names the sandbox to stop.
type StopSandboxRequest struct{ SandboxID string }

// RemoveSandboxRequest names the sandbox to remove.
type RemoveSandboxRequest struct{ SandboxID string }

// CreateContainerRequest asks for a new container. All values are resolved: the implementation does
// not expand variables, read Secrets or apply defaults.
type CreateContainerRequest struct {
	Pod        PodRef
	SandboxID  string
	Name       string
	Attempt    uint32
	Image      string // the name in the pod spec, perhaps without a tag; only stored
	ImageRef   string // the image to run, as PullImage or ImageStatus returned it
	Command    []string
	Args       []string
	WorkingDir string
	Env        []EnvVar
	Mounts     []Mount
	Devices    []Device
	// CDIDevices are the names of devices of the Container Device Interface, as "vendor.com/gpu=0". A
	// runtime without that interface ignores them.
	CDIDevices  []string
	Resources   Resources
	Security    Security
	Labels      map[string]string
	Annotations map[string]string
	Stdin       bool
	StdinOnce   bool
	TTY         bool
	// StopSignal is the name of the signal, such as SIGUSR1, that StopContainer sends. Empty means
	// the stop signal of the image, or TERM. A runtime that cannot send it returns ErrUnsupported.
	StopSignal string
	// LogPath is the path of the log file below the sandbox's LogDir; empty: no log file. A runtime
	// with the role LogReopener appends one line to it for each line that the container prints:
	//
	//	2026-01-02T03:04:05.000000006Z stdout F the text
	//
	// The fields are the time in RFC 3339 with nanoseconds, the stream, a tag, and the text. The
	// tag is F for a full line or the last part of a line, and P for any other part of a long line.
	// This is the log format of CRI, which log collectors read.
	LogPath string
	// PIDTarget is the ID of a container of the sandbox whose PID namespace the container joins.
	// Empty: the Namespaces of the sandbox decide. A runtime that cannot join it returns
	// ErrUnsupported.
	PIDTarget string
}

// StartContainerRequest names the created container to start.
type StartContainerRequest struct{ ContainerID string }

// StopContainerRequest names the container to stop.
type StopContainerRequest struct {
	ContainerID string
	Grace       time.Duration // time between the stop signal and the kill
}

// RemoveContainerRequest names the container whose record to remove.
type RemoveContainerRequest struct {
	ContainerID string
	NeverRan    bool // remove it only in StateCreated
}

// PullImageRequest names an image to pull.
type PullImageRequest struct {
	Image     string
	Pod       PodRef // the pod that needs it; empty if none does
	Container string // the container of the pod that needs it, if any
	Volume    string // the volume of the pod that needs it, if any
	Auth      *Auth  // nil: anonymous
}

// ImageStatusRequest names an image to find.
type ImageStatusRequest struct {
	Image     string
	Pod       PodRef // the pod that needs it; empty if none does
	Container string // the container of the pod that needs it, if any
	Volume    string // the volume of the pod that needs it, if any
}

// RemoveImageRequest names the image to remove.
type RemoveImageRequest struct{ Image string }

// Image is an image that is present.
type Image struct {
	ID        string
	Tags      []string
	Digests   []string
	SizeBytes uint64
	User      string // the user that the image runs as; empty if unspecified
	Pinned    bool   // never garbage-collected
}

// Auth is a credential for one registry.
type Auth struct{ Username, Password, Token string }

// EnvVar is one resolved environment variable.
type EnvVar struct{ Name, Value string }

// Mount is a path of the host, or an image, mounted into a container.
type Mount struct {
	ContainerPath string
	HostPath      string // empty for an image mount
	// Image is the image to mount, as PullImage or ImageStatus returned it. ReadOnly is then true.
	// A runtime that cannot mount it returns ErrUnsupported; see Features.ImageMounts.
	Image string
	// ImageSubPath is the directory of the Image to mount, relative and without "..". Empty mounts
	// the whole image. CreateContainer returns an error if the image has no such directory.
	ImageSubPath string
	ReadOnly     bool
	Propagation  Propagation
	// RecursiveReadOnly applies to the mounts below a read-only Mount.
	RecursiveReadOnly RecursiveReadOnly
}

// RecursiveReadOnly defines whether the mounts below a read-only Mount are read-only too.
type RecursiveReadOnly uint8

// The values of RecursiveReadOnly.
const (
	// RecursiveReadOnlyDisabled leaves the mounts below unchanged.
	RecursiveReadOnlyDisabled RecursiveReadOnly = iota
	// RecursiveReadOnlyIfPossible makes them read-only if the kernel supports that.
	RecursiveReadOnlyIfPossible
	// RecursiveReadOnlyEnabled makes them read-only. If that is not possible, CreateContainer
	// returns an error that wraps ErrUnsupported.
	RecursiveReadOnlyEnabled
)

// Propagation defines how mounts below a Mount propagate between the host and the container.
type Propagation uint8

// The values of Propagation.
const (
	// PropagationPrivate propagates no mounts.
	PropagationPrivate Propagation = iota
	// PropagationHostToContainer propagates later mounts of the host to the container.
	PropagationHostToContainer
	// PropagationBidirectional propagates later mounts in both directions.
	PropagationBidirectional
)

// Device is a device of the host for a container.
type Device struct{ HostPath, ContainerPath, Permissions string }

// PortMapping maps a port of the host to a port of the pod.
type PortMapping struct {
	ContainerPort int32
	HostPort      int32
	HostIP        string
	Protocol      string // TCP, UDP or SCTP
}

// DNS is the content of resolv.conf. The zero value is the configuration of the host.
type DNS struct{ Servers, Searches, Options []string }

// Namespaces defines which kernel namespaces a pod shares with the host.
type Namespaces struct {
	HostNetwork bool
	HostPID     bool
	HostIPC     bool
	SharePID    bool // the containers of the pod share one PID namespace
	// Users is the pod's own user namespace; nil is the host's.
	Users *UserNamespace
}

// UserNamespace maps the users and groups of a pod to users and groups of the host.
type UserNamespace struct{ UIDs, GIDs []IDMapping }

// IDMapping maps a range of IDs in the container to IDs of the host.
type IDMapping struct{ ContainerID, HostID, Length uint32 }

// Unlimited, or any other negative number, removes a limit of Resources.
const Unlimited = -1

// Resources are the resources of a container in the units of the kernel. A zero field is
// unspecified: a new container gets the runtime's default, and an update leaves the value
// unchanged. In the fields marked so, a negative value means no limit.
type Resources struct {
	CPUShares   uint64
	CPUPeriod   time.Duration
	CPUQuota    time.Duration // per CPUPeriod; negative: no limit
	MemoryBytes int64         // negative: no limit
	SwapBytes   int64         // in addition to MemoryBytes; negative: no limit
	CPUSet      string
	MemorySet   string
	OOMScoreAdj int
	HugePages   map[string]uint64 // bytes by page size; zero bytes: none allowed
	PIDs        int64             // processes and threads; negative: no limit
}

// Security is a resolved security context.
type Security struct {
	User               *int64
	Group              *int64
	Username           string
	SupplementalGroups []int64
	// StrictGroups restricts the groups of the processes to Group and SupplementalGroups. Groups of
	// the user in the image's /etc/group are ignored. A runtime that cannot do that returns
	// ErrUnsupported; see Features.StrictGroups.
	StrictGroups     bool
	Privileged       bool
	ReadOnlyRoot     bool
	NoNewPrivileges  bool
	AddCapabilities  []string
	DropCapabilities []string
	Seccomp          Profile
	AppArmor         Profile
	SELinux          *SELinux
	MaskedPaths      []string
	ReadOnlyPaths    []string
}

// Profile is a seccomp or AppArmor profile.
type Profile struct {
	Type string // "", "RuntimeDefault", "Unconfined" or "Localhost"
	Path string // with "Localhost": the file of a seccomp profile, or the name of an AppArmor profile
}

// SELinux is an SELinux label.
type SELinux struct{ User, Role, Type, Level string }
