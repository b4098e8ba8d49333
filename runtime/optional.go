package runtime

import (
	"context"
	"io"
	"time"

	"k8s.io/apimachinery/pkg/types"
)

// The interfaces of this file are optional roles. A runtime returns the roles that it implements from
// its method Features.

// EventSource is a runtime that streams pod changes.
type EventSource interface {
	// Events calls sink for each change. It returns an error when ctx ends or the stream breaks,
	// and the caller then calls it again. One caller calls it at a time. Events are hints: a lost,
	// duplicate or reordered event delays the caller but does no other harm. sink never blocks and
	// needs no lock of the caller.
	Events(ctx context.Context, sink func(Event)) error
}

// StatusReporter is a runtime that reports whether it and its network are ready. A runtime without
// this role counts as ready while its lists succeed: if the lists of a remote API fail for 30 s, a
// cluster node becomes NotReady, although its pods run. With this role RuntimeStatus decides, and may
// report that the runtime is ready while only its API is down. Lists that fail for about three
// minutes make the node NotReady all the same.
type StatusReporter interface {
	// RuntimeStatus is called before each start of a sandbox or container, for several pods at
	// once. An error counts as a runtime that is not ready.
	RuntimeStatus(ctx context.Context) (RuntimeStatus, error)
}

// Execer is a runtime that runs commands inside containers, for exec probes and hooks.
type Execer interface {
	// Exec runs a command until it exits. It returns an error if ctx ends first. A command that
	// exits with a non-zero code is a result and no error. A command that prints more than
	// OutputLimit runs on. It returns ErrNotFound, or ErrWrongState if the container does not run.
	// It is called concurrently, also for one container.
	Exec(ctx context.Context, req ExecRequest) (ExecResult, error)
}

// ExecStreamer is a runtime that runs commands inside containers with streamed input and output.
type ExecStreamer interface {
	// ExecStream runs a command until it exits, and returns its exit code. A non-zero exit code is
	// no error. ExecStream returns after all output of the command has been written. It returns
	// ErrNotFound, or ErrWrongState if the container does not run. It also returns at an error of a
	// writer and when ctx ends; the command may then run on. It is called concurrently, also for
	// one container.
	ExecStream(ctx context.Context, req ExecStreamRequest, streams Streams) (exitCode int32, err error)
}

// Attacher is a runtime that connects a client with the main process of a container.
type Attacher interface {
	// Attach connects the streams until the container exits, and then returns nil. It returns the
	// same errors as ExecStream. When ctx ends, only the connection ends. Output from before the
	// call is in the log. It is called concurrently, also for one container.
	Attach(ctx context.Context, req AttachRequest, streams Streams) error
}

// PortForwarder is a runtime that connects to ports inside pods.
type PortForwarder interface {
	// PortForward opens one connection to a port on the loopback interface of a sandbox. It copies
	// both ways until both directions have ended or one has failed. When reading from conn returns
	// EOF, it closes the write side of the connection and still copies the reply. It closes conn at
	// the end. That must unblock a pending Read of conn. It returns ErrNotFound, or ErrWrongState
	// if the sandbox is not ready. A port without a listening process is an error. It is called
	// concurrently, also for one sandbox.
	PortForward(ctx context.Context, req PortForwardRequest, conn io.ReadWriteCloser) error
}

// HandlerRunner is a runtime that runs probes and hooks of every kind itself. An in-memory runtime
// is one: its containers run no commands and listen on no port. If a runtime has this role, Exec
// and network requests are not used for probes and hooks. A request has no command, path or port of
// the probe or hook. A runtime that needs them is an Execer instead, or the program sets
// node.Config.Probes.Check, which gets the whole handler of a probe.
type HandlerRunner interface {
	// RunHandler runs a probe or a hook of a running container. It is called concurrently, also for
	// one container. It returns when ctx ends at the latest. A failed probe or hook is a result
	// with OK false, and no error. An error means that there is no result: ErrNotFound,
	// ErrWrongState if the container does not run, or the error of ctx.
	RunHandler(ctx context.Context, req RunHandlerRequest) (RunHandlerResult, error)
}

// LogReader is a runtime that stores the output of containers.
type LogReader interface {
	// ReadLog writes the log of a container to w. With Follow it continues until the container
	// exits or ctx ends. The exit of the container is no error. It writes each line as soon as the
	// container prints it. An unknown container is ErrNotFound. An exited container keeps its log
	// until its record is removed. ReadLog also returns at an error of w. It is called
	// concurrently.
	ReadLog(ctx context.Context, req ReadLogRequest, w io.Writer) error
}

// LogReopener is a runtime that writes the output of containers to files below
// RunSandboxRequest.LogDir. A log rotator may rename these files.
type LogReopener interface {
	// ReopenContainerLog makes the runtime write the further output of a running container to the
	// file at its log path. The runtime creates the file, or appends if it exists. The caller has
	// renamed the former file before. After ReopenContainerLog has returned nil, no new line begins
	// in the former file. A line that was begun before may still be completed there. An unknown
	// container is ErrNotFound, and one that does not run ErrWrongState. After any other error the
	// runtime may write to either file. It is called concurrently, but by one caller for each
	// container.
	ReopenContainerLog(ctx context.Context, containerID string) error
}

// ImageFilesystem is a runtime that reports the usage of its image disk.
type ImageFilesystem interface {
	// ImageFilesystem returns capacity and usage of the disk. One caller calls it, every few
	// minutes at most. A capacity of zero means unknown.
	ImageFilesystem(ctx context.Context) (FilesystemUsage, error)
}

// UsedImageLister is a runtime whose images are also used by others: a second agent, a kubelet, or
// people who start containers by hand. ListPods returns only the containers of its caller. A
// runtime without this role has no containers that ListPods does not return.
type UsedImageLister interface {
	// ListUsedImages returns the images of all containers of the runtime, running or not, of all
	// owners. Each image is a name, digest or ID, as the runtime has recorded it. The order does
	// not matter, and duplicates are allowed. Images that containers mount are included. One caller
	// calls it, right before it removes images. After an error no image is removed, unless the
	// error wraps ErrUnsupported.
	ListUsedImages(ctx context.Context) ([]string, error)
}

// StatsReader is a runtime that measures the resource usage of pods.
type StatsReader interface {
	// PodStats returns the current usage of a pod and of its running containers, in any order. For
	// a pod without running containers it returns no figures and no error. An unknown figure is
	// nil. The caller owns the result and adds rates and sums to it. It is called concurrently, for
	// one pod or for many.
	PodStats(ctx context.Context, uid types.UID) (PodStats, error)
}

// Updater is a runtime that updates the resources of a running container.
type Updater interface {
	// UpdateContainer applies all resources of the request; a zero field changes nothing. The
	// container runs on. An unknown container is ErrNotFound.
	UpdateContainer(ctx context.Context, req UpdateContainerRequest) error
}

// Versioner is a runtime that has a name and a version.
type Versioner interface {
	// Version returns the name and the version of the runtime, for display.
	Version(ctx context.Context) (name, version string, err error)
}

// PodCIDRUpdater is a runtime that accepts the pod address ranges of its node.
type PodCIDRUpdater interface {
	// UpdatePodCIDR sets the pod address ranges that the cluster has assigned to the node,
	// separated by commas: "10.1.0.0/24,2001:db8::/64". One caller calls it when the ranges have
	// changed, and again every 10 s after an error. Running pods keep their addresses.
	UpdatePodCIDR(ctx context.Context, cidr string) error
}

// Event reports a change of a pod.
type Event struct {
	UID         types.UID
	ContainerID string // empty: the sandbox, or the whole pod
	At          time.Time
}

// RuntimeStatus is the readiness of a runtime, and its runtime handlers.
type RuntimeStatus struct {
	RuntimeReady   bool
	NetworkReady   bool
	RuntimeMessage string // why the runtime is not ready, for display
	NetworkMessage string // why the network is not ready, for display
	// Handlers are the runtime handlers with their features, in any order. The one without a name is the
	// default handler. Empty: the runtime does not report them.
	Handlers []RuntimeHandler
}

// RuntimeHandler is a handler of a runtime, such as runc, and its features.
type RuntimeHandler struct {
	Name                    string
	RecursiveReadOnlyMounts bool // the handler supports recursive read-only mounts
	UserNamespaces          bool // the handler supports pods with a user namespace of their own
}

// ExecRequest is a command to run in a container.
type ExecRequest struct {
	ContainerID string
	Command     []string
	OutputLimit int // maximum bytes of stored output; 0 is 16 KiB
}

// ExecResult is the result of a command.
type ExecResult struct {
	ExitCode int32
	// Output is stdout and stderr, truncated to the limit. Both are in the order of writing, or
	// stdout comes first if the runtime cannot order them.
	Output []byte
}

// ExecStreamRequest is a command to run in a container with connected streams.
type ExecStreamRequest struct {
	ContainerID string
	Command     []string
	TTY         bool // the command gets a terminal and writes only to Stdout
}

// AttachRequest asks for the streams of a container's main process.
type AttachRequest struct {
	ContainerID string
	TTY         bool // the container has a terminal
}

// PortForwardRequest asks for a connection to a port of a sandbox.
type PortForwardRequest struct {
	SandboxID string
	Port      uint16
}

// Streams are the client's side of the streams of a process. Each is used by one goroutine at a
// time, but different ones concurrently.
type Streams struct {
	// Stdin is the input of the process; nil is empty. When the process exits, the runtime does not
	// wait for a pending Read. A caller that needs this Read to return closes the source.
	Stdin io.Reader
	// Stdout and Stderr receive the output; nil discards it. With a terminal all output goes to
	// Stdout.
	Stdout, Stderr io.Writer
	// Resized waits for the next size of the terminal. The first call returns the current size. It
	// returns false when ctx ends or no further size will follow. Nil: the runtime chooses the
	// size.
	Resized func(ctx context.Context) (TerminalSize, bool)
}

// TerminalSize is the size of a terminal, in characters.
type TerminalSize struct{ Columns, Rows uint16 }

// RunHandlerRequest is a probe or a hook of a container.
type RunHandlerRequest struct {
	ContainerID string
	Purpose     Purpose
}

// Purpose identifies a probe or hook of a container.
type Purpose string

// The probes and hooks of a container.
const (
	// LivenessProbe decides whether the container is restarted.
	LivenessProbe Purpose = "liveness"
	// ReadinessProbe decides whether the pod may receive traffic.
	ReadinessProbe Purpose = "readiness"
	// StartupProbe decides whether the container has started up.
	StartupProbe Purpose = "startup"
	// PostStartHook runs after the container has started.
	PostStartHook Purpose = "post-start"
	// PreStopHook runs before the container is stopped.
	PreStopHook Purpose = "pre-stop"
)

// RunHandlerResult is the result of a probe or hook.
type RunHandlerResult struct {
	OK      bool
	Message string // for display
}

// ReadLogRequest asks for a container's log.
type ReadLogRequest struct {
	ContainerID string
	Tail        int // only the last lines; 0 is all
	Follow      bool
	Since       time.Time
	// Timestamps starts each line with the time at which it was printed, in the format
	// LogTimestamp.
	Timestamps bool
}

// LogTimestamp is the format of the timestamp in front of a log line.
const LogTimestamp = "2006-01-02T15:04:05.000000000Z07:00 "

// FilesystemUsage is the capacity and the usage of a file system.
type FilesystemUsage struct {
	CapacityBytes, UsedBytes uint64
	// Directory is a directory on the disk. Empty: unknown, or not visible to this process.
	Directory string
}

// UpdateContainerRequest changes a container's resources.
type UpdateContainerRequest struct {
	ContainerID string
	Resources   Resources
}
