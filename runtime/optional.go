package runtime

import (
	"context"
	"io"
	"time"

	"k8s.io/apimachinery/pkg/types"
)

// The interfaces of this file are optional roles. A runtime returns the roles that it plays from
// its method Features.

// EventSource is a runtime with a stream of pod changes.
type EventSource interface {
	// Events calls sink for each change until ctx ends or the stream breaks, and returns
	// why; the caller opens it again. It is called by one caller at a time. An event is
	// a hint: lost, doubled and reordered ones cost time, never correctness. sink never
	// blocks and holds no lock of the caller.
	Events(ctx context.Context, sink func(Event)) error
}

// StatusReporter is a runtime that can say whether it and its network are
// ready. One without it counts as ready as long as its lists succeed.
type StatusReporter interface {
	// RuntimeStatus is called before anything of a pod is started, for several
	// pods at once. An error is as bad as a runtime that is not ready.
	RuntimeStatus(ctx context.Context) (RuntimeStatus, error)
}

// Execer is a runtime that runs commands inside containers, as exec probes and
// hooks need.
type Execer interface {
	// Exec runs a command to its end, or to the end of ctx, which is an error.
	// A command that ran and failed is a result with its exit code, not an
	// error; one that printed more than is kept runs on. ErrNotFound, or
	// ErrWrongState if the container does not run. Called concurrently, for
	// one container too.
	Exec(ctx context.Context, req ExecRequest) (ExecResult, error)
}

// ExecStreamer is a runtime that runs commands inside containers with streamed input and
// output.
type ExecStreamer interface {
	// ExecStream runs a command until it ends, and returns the code with which it
	// did: a command that failed is no error. It returns when all that the command
	// printed has been written. ErrNotFound, or ErrWrongState if the container
	// does not run; an error of a writer ends it too, and so does the end of ctx:
	// whether the command runs on then is up to the runtime. Called concurrently,
	// for one container too.
	ExecStream(ctx context.Context, req ExecStreamRequest, streams Streams) (exitCode int32, err error)
}

// Attacher is a runtime that connects a client with the main process of a container.
type Attacher interface {
	// Attach returns nil when the container has ended. Its errors are those of
	// ExecStream, and the end of ctx ends the connection and nothing else. What
	// the container printed before is in its log. Called concurrently, for one
	// container too.
	Attach(ctx context.Context, req AttachRequest, streams Streams) error
}

// PortForwarder is a runtime that connects to ports inside pods.
type PortForwarder interface {
	// PortForward makes one connection to a port of a sandbox's loopback, and copies
	// both ways until both have ended or one has failed. The end of what conn gives to
	// read is passed on, and the answer still awaited. It closes conn, which has to end
	// a Read of it that has begun. ErrNotFound, or ErrWrongState if the sandbox is not
	// ready; a port on which no process listens is an error too. Called concurrently,
	// for one sandbox too.
	PortForward(ctx context.Context, req PortForwardRequest, conn io.ReadWriteCloser) error
}

// HandlerRunner is a runtime that answers probes and hooks itself, of whatever kind
// they are: one in memory, whose containers run no commands and listen on no
// network. Where a runtime is one, neither Exec nor a connection is used for
// probes and hooks.
type HandlerRunner interface {
	// RunHandler runs a probe or a hook of a running container. It is called concurrently, also for
	// one container, and returns at the end of ctx at the latest. An error means that there is no
	// result: ErrNotFound, ErrWrongState if the container does not run, or the error of ctx. A
	// container that refuses is a result with OK false, and no error.
	RunHandler(ctx context.Context, req RunHandlerRequest) (RunHandlerResult, error)
}

// LogReader is a runtime that keeps what containers print.
type LogReader interface {
	// ReadLog writes a container's log to w and returns, or, if the request
	// says so, goes on with what comes until the container or ctx ends. The
	// end of the container is no error. Each line is written when it comes.
	// An unknown container is ErrNotFound; one that has exited keeps its log
	// as long as its record. Called concurrently. An error of w ends it too.
	ReadLog(ctx context.Context, req ReadLogRequest, w io.Writer) error
}

// LogReopener is a runtime that writes what containers print into files, which a log
// rotator may rename: below the directories of RunSandboxRequest.LogDir.
type LogReopener interface {
	// ReopenContainerLog has what a running container prints from now on written to a
	// file at its log's path, which is made if there is none and added to otherwise. It
	// is called after the former file has got another name; when it returns nil no line
	// begins in that any more, though the last ones may still be on their way there. An
	// unknown container is ErrNotFound, one that does not run ErrWrongState. After any
	// other error it is not known which file is written to. Called concurrently, but by
	// one caller for each container.
	ReopenContainerLog(ctx context.Context, containerID string) error
}

// ImageFilesystem is a runtime that reports the usage of the disk of its images.
type ImageFilesystem interface {
	// ImageFilesystem is called by one caller, every few minutes at most. A capacity of
	// zero means unknown.
	ImageFilesystem(ctx context.Context) (FilesystemUsage, error)
}

// UsedImageLister is a runtime that shares its images with others: with a second agent, a
// kubelet, or people who start containers by hand. ListPods shows the containers of its
// caller alone. A runtime without this role has no containers that ListPods does not show.
type UsedImageLister interface {
	// ListUsedImages returns the images of all containers of the runtime, running or not,
	// of all owners: names, digests or IDs, as the runtime has recorded them, in any
	// order, perhaps repeatedly. Images that containers mount are among them. One caller
	// calls it, right before it removes images. After an error no image is removed, unless
	// the error wraps ErrUnsupported.
	ListUsedImages(ctx context.Context) ([]string, error)
}

// StatsReader is a runtime that measures what its pods use.
type StatsReader interface {
	// PodStats returns what a pod uses now: of its containers those that run, in any
	// order. A pod without any is no error, and has none of the other figures either.
	// What could not be measured is nil. The figures become the caller's, which adds rates
	// and sums to them. Called concurrently, for one pod or for many.
	PodStats(ctx context.Context, uid types.UID) (PodStats, error)
}

// Updater is a runtime that changes the resources of a running container.
type Updater interface {
	// UpdateContainer applies the resources of the request, all of them: a
	// zero field asks for nothing. The container runs on. An unknown one is
	// ErrNotFound.
	UpdateContainer(ctx context.Context, req UpdateContainerRequest) error
}

// Versioner is a runtime that names itself.
type Versioner interface {
	// Version returns the runtime's name and version for people to read.
	Version(ctx context.Context) (name, version string, err error)
}

// PodCIDRUpdater is a runtime that takes the ranges of pod addresses from its caller.
type PodCIDRUpdater interface {
	// UpdatePodCIDR sets the ranges of pod addresses that the cluster has given to the node, joined
	// by commas: "10.1.0.0/24,2001:db8::/64". One caller calls it, when the ranges have changed,
	// and again every 10 s after an error. Running pods keep their addresses.
	UpdatePodCIDR(ctx context.Context, cidr string) error
}

// Event says that something about a pod has changed.
type Event struct {
	UID         types.UID
	ContainerID string // empty: the sandbox, or the pod as a whole
	At          time.Time
}

// RuntimeStatus is what a runtime says of itself.
type RuntimeStatus struct {
	RuntimeReady   bool
	NetworkReady   bool
	RuntimeMessage string // why the runtime is not ready, for people
	NetworkMessage string // why the network is not ready
}

// ExecRequest is a command to run in a container.
type ExecRequest struct {
	ContainerID string
	Command     []string
	OutputLimit int // bytes of output kept; 0 is 16 KiB
}

// ExecResult is how a command ended.
type ExecResult struct {
	ExitCode int32
	// Output is both streams, cut to the limit: in order, or what went to
	// stdout first where the runtime keeps them apart.
	Output []byte
}

// ExecStreamRequest is a command to run in a container with its streams connected.
type ExecStreamRequest struct {
	ContainerID string
	Command     []string
	TTY         bool // it gets a terminal, and prints all on one stream
}

// AttachRequest asks for the streams of a container's own process.
type AttachRequest struct {
	ContainerID string
	TTY         bool // the container has a terminal
}

// PortForwardRequest asks for a connection.
type PortForwardRequest struct {
	SandboxID string
	Port      uint16
}

// Streams are what a process is connected with. Each is used by one goroutine at
// a time, but several of them at once.
type Streams struct {
	// Stdin is what the process reads; nil is empty. The runtime does not wait for a Read
	// that is under way when the process ends: a caller that needs it to return closes
	// the source.
	Stdin io.Reader
	// Stdout and Stderr get what it prints; nil drops that. With a terminal all
	// comes on Stdout.
	Stdout, Stderr io.Writer
	// Resized waits for the next size of the terminal, the first of which comes at
	// once. It is false at the end of ctx, or when no more will come. Nil: the
	// size is the runtime's.
	Resized func(ctx context.Context) (TerminalSize, bool)
}

// TerminalSize is a terminal's, in characters.
type TerminalSize struct{ Columns, Rows uint16 }

// RunHandlerRequest is a probe or a hook of a container.
type RunHandlerRequest struct {
	ContainerID string
	Purpose     Purpose
}

// Purpose says which probe or hook of a container is run.
type Purpose string

// The purposes.
const (
	// LivenessProbe asks whether it should be restarted.
	LivenessProbe Purpose = "liveness"
	// ReadinessProbe asks whether it may get traffic.
	ReadinessProbe Purpose = "readiness"
	// StartupProbe asks whether it has finished starting.
	StartupProbe Purpose = "startup"
	// PostStartHook tells it that it has been started.
	PostStartHook Purpose = "post-start"
	// PreStopHook tells it that it is about to be stopped.
	PreStopHook Purpose = "pre-stop"
)

// RunHandlerResult is how the container has answered.
type RunHandlerResult struct {
	OK      bool
	Message string // a few words for people
}

// ReadLogRequest asks for a container's log.
type ReadLogRequest struct {
	ContainerID string
	Tail        int // last lines only; 0 is all
	Follow      bool
	Since       time.Time
	// Timestamps has each line begin with the time at which it was printed, in the format
	// LogTimestamp.
	Timestamps bool
}

// LogTimestamp is the format of the time before a line of a log.
const LogTimestamp = "2006-01-02T15:04:05.000000000Z07:00 "

// FilesystemUsage is the capacity and the usage of a file system.
type FilesystemUsage struct{ CapacityBytes, UsedBytes uint64 }

// UpdateContainerRequest changes a container's resources.
type UpdateContainerRequest struct {
	ContainerID string
	Resources   Resources
}
