package runtime

import (
	"time"

	"k8s.io/apimachinery/pkg/types"
)

// State is the state of a container record.
type State uint8

// The states of a container. There is no way back: created, running, exited.
const (
	// StateUnknown is a record whose state the runtime cannot tell.
	StateUnknown State = iota
	// StateCreated has been created and not started.
	StateCreated
	// StateRunning runs.
	StateRunning
	// StateExited ran, or failed to start, and will not run again.
	StateExited
)

// String is the state's name as the kubelet prints it.
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

// Pod is the shallow view of a pod's records: enough to see that something
// changed. A field that "echoes" a field of a request has the value of the
// request that made the record, for as long as the record exists; callers
// compare the two, and replace what differs.
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
	Incarnation uint64 // echoes PodRef.Incarnation: which life of the UID it was made for
	Ready       bool
	CreatedAt   time.Time
	Annotations map[string]string // echoes RunSandboxRequest.Annotations, perhaps with others; shared, read only
}

// Container is a container record.
type Container struct {
	ID          string
	Name        string // echoes CreateContainerRequest.Name
	SandboxID   string // echoes CreateContainerRequest.SandboxID
	Attempt     uint32 // echoes CreateContainerRequest.Attempt: how often the container was started before
	Incarnation uint64 // echoes PodRef.Incarnation
	State       State
}

// PodStatus is all that the runtime knows of one pod. Once it was returned neither the receiver
// nor the runtime may change it: it may be shared, and is compared with the next one.
type PodStatus struct {
	UID        types.UID         // echoes PodRef.UID, and the argument of PodStatus
	Name       string            // echoes PodRef.Name
	Namespace  string            // echoes PodRef.Namespace
	Sandboxes  []SandboxStatus   // newest attempt first
	Containers []ContainerStatus // newest attempt first, of each name
}

// SandboxStatus is a sandbox in full.
type SandboxStatus struct {
	Sandbox
	// IPs are the pod's addresses, primary first; empty for a host-network pod. A runtime without a
	// network of its own says those under which the pod's processes are reached, such as 127.0.0.1:
	// probes and hooks ask there.
	IPs         []string
	HostNetwork bool // echoes Namespaces.HostNetwork; a sandbox with another value is replaced
}

// ContainerStatus is the full record of a container.
type ContainerStatus struct {
	Container
	Image      string // echoes CreateContainerRequest.Image
	ImageRef   string // as resolved by the runtime
	CreatedAt  time.Time
	StartedAt  time.Time // zero: it never ran
	FinishedAt time.Time // zero: it has not ended
	ExitCode   int32
	Reason     string // a word, as "Completed", "Error", "OOMKilled"; may be empty
	Message    string
	// StartCancelled says that the runtime gave up the start of an exited container because its
	// caller had gone. The container may or may not have run.
	StartCancelled bool
	Annotations    map[string]string // echoes CreateContainerRequest.Annotations, perhaps with others
	// MountedImages are the Images of the Mounts of the request that made it, in their order.
	MountedImages []string
}

// PodRef identifies the pod of a request.
type PodRef struct {
	UID         types.UID
	Name        string
	Namespace   string
	Incarnation uint64 // counts how often the UID was created on this node, from 1; records echo it
}

// RunSandboxRequest asks for a sandbox.
type RunSandboxRequest struct {
	Pod         PodRef
	Attempt     uint32            // counts the sandboxes of the pod, from 0
	Labels      map[string]string // for tools of the runtime: Podkeel does not read them
	Annotations map[string]string // kept with the record, which echoes them
	Hostname    string            // of the pod; empty: the runtime sets none
	Namespaces  Namespaces
	DNS         DNS
	Ports       []PortMapping // those with a HostPort; empty with Namespaces.HostNetwork
	Sysctls     map[string]string
	Security    Security
	Resources   Resources // of the pod as a whole; zero says nothing
	Handler     string    // runtime handler; empty is the default
	LogDir      string    // the directory of the pod's logs, which the runtime makes; empty: no log files
	CgroupDir   string    // the parent cgroup; empty is the runtime's default
}

// StopSandboxRequest asks for a sandbox to be stopped.
type StopSandboxRequest struct{ SandboxID string }

// RemoveSandboxRequest asks for a sandbox to be removed.
type RemoveSandboxRequest struct{ SandboxID string }

// CreateContainerRequest asks for a container. All values are resolved: the
// implementer expands, looks up and defaults nothing.
type CreateContainerRequest struct {
	Pod         PodRef
	SandboxID   string
	Name        string
	Attempt     uint32
	Image       string // as the spec has it, perhaps without a tag: for the record only
	ImageRef    string // as PullImage or ImageStatus returned it: what is to run
	Command     []string
	Args        []string
	WorkingDir  string
	Env         []EnvVar
	Mounts      []Mount
	Devices     []Device
	Resources   Resources
	Security    Security
	Labels      map[string]string
	Annotations map[string]string
	Stdin       bool
	StdinOnce   bool
	TTY         bool
	// StopSignal is the name of the signal, such as SIGUSR1, by which StopContainer asks the
	// container to end; empty is the image's, or TERM. A runtime that cannot send it returns
	// ErrUnsupported.
	StopSignal string
	// LogPath is the path of the log file below the sandbox's LogDir; empty: there is none. A
	// runtime that writes log files, a LogReopener, adds one line to it for each line that the
	// container prints:
	//
	//	2026-01-02T03:04:05.000000006Z stdout F the text
	//
	// The fields are the time in RFC 3339 with nanoseconds, the stream, F for a whole line or its
	// last part and P for a part of a longer line, and the text. It is the format of CRI, which log
	// collectors read.
	LogPath string
	// PIDTarget is the ID of a container of the sandbox whose processes it sees; empty: what the
	// Namespaces of the sandbox say. A runtime that cannot do so returns ErrUnsupported.
	PIDTarget string
}

// StartContainerRequest asks for a created container to be started.
type StartContainerRequest struct{ ContainerID string }

// StopContainerRequest asks for a container to be stopped.
type StopContainerRequest struct {
	ContainerID string
	Grace       time.Duration // between the stop signal and the kill
}

// RemoveContainerRequest asks for a container's records to be dropped.
type RemoveContainerRequest struct {
	ContainerID string
	NeverRan    bool // only if it is still created; otherwise its record is news
}

// PullImageRequest asks for an image.
type PullImageRequest struct {
	Image     string
	Pod       PodRef // on whose behalf; empty if on no pod's
	Container string // of that pod, if it is one's
	Volume    string // of that pod, if it is one's
	Auth      *Auth  // nil: anonymous
}

// ImageStatusRequest names an image to look up.
type ImageStatusRequest struct {
	Image     string
	Pod       PodRef // on whose behalf; empty if on no pod's
	Container string // of that pod, if it is one's
	Volume    string // of that pod, if it is one's
}

// RemoveImageRequest asks for an image to be dropped.
type RemoveImageRequest struct{ Image string }

// Image is an image that is present.
type Image struct {
	ID        string
	Tags      []string
	Digests   []string
	SizeBytes uint64
	User      string // user the image wants to run as; empty is none
	Pinned    bool   // never to be collected
}

// Auth is a credential for one registry.
type Auth struct{ Username, Password, Token string }

// EnvVar is one resolved environment variable.
type EnvVar struct{ Name, Value string }

// Mount brings a path of the host, or an image, into a container.
type Mount struct {
	ContainerPath string
	HostPath      string // empty if there is an Image
	// Image is the image whose files are mounted, as PullImage or ImageStatus returned it; ReadOnly
	// is true then. A runtime that cannot mount it returns ErrUnsupported; see Features.ImageMounts.
	Image string
	// ImageSubPath is the directory of the Image that is mounted, relative and without "..";
	// empty is all of it. One that the image does not have is an error of CreateContainer.
	ImageSubPath string
	ReadOnly     bool
	Propagation  Propagation
	// RecursiveReadOnly is about what is mounted below a read-only Mount.
	RecursiveReadOnly RecursiveReadOnly
}

// RecursiveReadOnly is whether what is mounted below a read-only Mount can be
// written to.
type RecursiveReadOnly uint8

// The ways to read only.
const (
	// RecursiveReadOnlyDisabled leaves what is mounted below as it is.
	RecursiveReadOnlyDisabled RecursiveReadOnly = iota
	// RecursiveReadOnlyIfPossible makes it read-only where the kernel can.
	RecursiveReadOnlyIfPossible
	// RecursiveReadOnlyEnabled makes it read-only, or is an error that wraps
	// ErrUnsupported.
	RecursiveReadOnlyEnabled
)

// Propagation is how mounts made below a Mount spread.
type Propagation uint8

// The ways mounts spread.
const (
	// PropagationPrivate spreads nothing.
	PropagationPrivate Propagation = iota
	// PropagationHostToContainer shows the host's later mounts inside.
	PropagationHostToContainer
	// PropagationBidirectional spreads both ways.
	PropagationBidirectional
)

// Device brings a device of the host into a container.
type Device struct{ HostPath, ContainerPath, Permissions string }

// PortMapping publishes a port of the pod on the host.
type PortMapping struct {
	ContainerPort int32
	HostPort      int32
	HostIP        string
	Protocol      string // TCP, UDP or SCTP
}

// DNS is a resolved resolver configuration; the zero value is the host's own.
type DNS struct{ Servers, Searches, Options []string }

// Namespaces says which kernel namespaces a pod shares with the host.
type Namespaces struct {
	HostNetwork bool
	HostPID     bool
	HostIPC     bool
	SharePID    bool // one PID namespace for the containers of the pod
	// Users is the pod's own user namespace; nil is the host's.
	Users *UserNamespace
}

// UserNamespace says who of the host the users and groups of a pod are.
type UserNamespace struct{ UIDs, GIDs []IDMapping }

// IDMapping maps a range of container IDs to IDs of the host.
type IDMapping struct{ ContainerID, HostID, Length uint32 }

// Unlimited, or any other negative number, removes a limit of Resources.
const Unlimited = -1

// Resources are a container's shares in the units of the kernel. A zero field asks for
// nothing: a new container gets the runtime's default, and an update leaves unchanged
// what is there. In the fields that say so a negative value means no limit.
type Resources struct {
	CPUShares   uint64
	CPUPeriod   time.Duration
	CPUQuota    time.Duration // per CPUPeriod; negative: no limit
	MemoryBytes int64         // negative: no limit
	SwapBytes   int64         // beyond MemoryBytes; negative: no limit
	CPUSet      string
	MemorySet   string
	OOMScoreAdj int
	HugePages   map[string]uint64 // bytes by page size; zero bytes: none at all
	PIDs        int64             // processes and threads; negative: no limit
}

// Security is a resolved security context.
type Security struct {
	User               *int64
	Group              *int64
	Username           string
	SupplementalGroups []int64
	// StrictGroups: the processes have no groups but Group and SupplementalGroups, also where the image
	// puts the user into others. A runtime that cannot do so returns ErrUnsupported; see
	// Features.StrictGroups.
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

// Profile is a security profile: of the runtime, of a file, or none.
type Profile struct {
	Type string // "", "RuntimeDefault", "Unconfined" or "Localhost"
	Path string // with "Localhost": of a seccomp profile the file, of AppArmor the name
}

// SELinux is a label.
type SELinux struct{ User, Role, Type, Level string }
