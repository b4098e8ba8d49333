package apiservertest

import (
	"cmp"
	"maps"
	"net"
	"os"
	"slices"
	"strconv"
	"sync"
	"syscall"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/managedfields"
	"k8s.io/utils/clock"

	"github.com/podkeel/podkeel/internal/executor"
)

// Config configures a Server. The zero value is a server on the real clock.
type Config struct {
	// Clock is the clock of calls and streams. Nil means the real clock. With the clock of a simulation, the simulation
	// drives all waits.
	Clock clock.Clock
	// WatchTimeout is the duration of a stream whose caller requests no timeout. Zero means 40 minutes.
	WatchTimeout time.Duration
	// BookmarkInterval is how long a stream is silent before it shows a bookmark. Zero means one minute.
	BookmarkInterval time.Duration
	// Ahead is how far the server's clock is ahead of Clock, in timestamps of objects and tokens.
	Ahead time.Duration
	// Resources are further resources that the server stores for clients of RoundTripper: custom resources, and resources
	// of Kubernetes such as deployments. Each needs a Group, Version, Kind and Name, its plural. A resource with the verb
	// "status" in its Verbs has a subresource status. No controller acts on them: a Deployment makes no pods.
	Resources []metav1.APIResource
	// TypeConverter merges configurations of server-side apply into the objects of Kubernetes. It is NewTypeConverter of
	// k8s.io/client-go/applyconfigurations, which this package does not import because it is large. With nil, server-side
	// apply of these kinds is refused. Custom resources need no TypeConverter: their lists are atomic, as in a
	// CustomResourceDefinition without list types.
	TypeConverter managedfields.TypeConverter
}

// Server is an in-memory API server. Its state survives the crash of its clients, and its own: see Crash. All methods
// are safe for concurrent use.
type Server struct {
	config   Config
	executor executor.Executor
	served   []*servedResource // for RoundTripper

	mu struct {
		sync.Mutex
		version  uint64
		uids     int
		tokens   int
		names    int // generated
		objects  map[objectKey]Object
		history  []change
		lost     uint64 // changes up to this version are lost
		streams  []*watch
		calls    []*pendingCall
		faults   []*activeFault
		requests []*Request
		late     []func()
		cut      int // removals that stop after their first step
		down     bool
		frozen   executor.Latch // opens at the end of the freeze; nil: not frozen
	}
}

// New returns a server with the namespaces of a new cluster. It starts no goroutine.
func New(config Config) *Server {
	config.WatchTimeout = cmp.Or(config.WatchTimeout, 40*time.Minute)
	config.BookmarkInterval = cmp.Or(config.BookmarkInterval, time.Minute)
	s := &Server{config: config, executor: executor.Over(config.Clock), served: newServedResources(config.Resources)}
	s.mu.objects = map[objectKey]Object{}
	for _, name := range []string{metav1.NamespaceDefault, metav1.NamespaceSystem, metav1.NamespacePublic, leaseNamespace} {
		s.createLocked(newNamespace(name))
	}
	return s
}

// Client returns the API of a node. It has the rights that the node authorizer and the admission plugin NodeRestriction
// allow.
func (s *Server) Client(node string) *Client { return &Client{s: s, node: node} }

// Admin returns the API of an administrator with all rights.
func (s *Server) Admin() *Admin { return &Admin{s} }

// Down makes the server unreachable: streams break, running calls lose their responses, and every call fails with a
// refused connection until Up or Recover.
func (s *Server) Down() {
	s.mu.Lock()
	s.mu.down = true
	s.mu.Unlock()
	s.Break(errReset())
	s.cancelCalls()
}

// Up ends Down. Watches can continue from their last version.
func (s *Server) Up() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.mu.down = false
}

// Crash is Down for a killed server: requests that wait for the end of a fault are never executed.
func (s *Server) Crash() {
	s.mu.Lock()
	s.mu.late = nil
	s.mu.Unlock()
	s.Down()
}

// CutRemovals makes the next n removals of pods stop after their first step, as if the server was killed then. The pod
// stays with grace period zero, and the caller gets a connection error. Another deletion, or a write by the pod's node,
// removes the pod.
func (s *Server) CutRemovals(n int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.mu.cut = n
}

// Recover ends Down as a new server process does: the state is kept and the history is lost, so that a watch from an
// older version gets Expired.
func (s *Server) Recover() {
	s.Thaw()
	s.Compact()
	s.Up()
}

// Backup stores the state. The returned function restores it, as a restore of etcd does: the history is lost, and
// versions after the backup are used again. Streams end regularly.
func (s *Server) Backup() (restore func()) {
	s.mu.Lock()
	defer s.mu.Unlock()
	objects, version := maps.Clone(s.mu.objects), s.mu.version
	return func() {
		s.Break(nil)
		s.mu.Lock()
		defer s.mu.Unlock()
		s.mu.objects, s.mu.version = maps.Clone(objects), version
		s.mu.lost, s.mu.history = version, nil
	}
}

// Compact loses the history: a watch from a version before the newest gets Expired. Open streams continue.
func (s *Server) Compact() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.mu.lost, s.mu.history = s.mu.version, nil
}

// Break ends all streams with err; nil is the regular end, io.EOF.
func (s *Server) Break(err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, w := range s.mu.streams {
		w.endStream(err)
	}
	s.mu.streams = nil
}

// cancelCalls cancels all running calls with a connection reset.
func (s *Server) cancelCalls() {
	s.mu.Lock()
	calls := slices.Clone(s.mu.calls)
	s.mu.Unlock()
	for _, c := range calls {
		c.Cancel(errReset())
	}
}

// Freeze stops the server as a debugger does: calls get no response and streams are silent until Thaw.
func (s *Server) Freeze() {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.mu.frozen == nil {
		s.mu.frozen = s.executor.NewLatch()
	}
}

// Thaw ends Freeze.
func (s *Server) Thaw() {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.mu.frozen == nil {
		return
	}
	s.mu.frozen.Open()
	s.mu.frozen = nil
	for _, w := range s.mu.streams {
		w.event.Signal()
	}
}

// ResourceVersion returns the newest resource version.
func (s *Server) ResourceVersion() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.versionLocked()
}

func (s *Server) versionLocked() string { return strconv.FormatUint(s.mu.version, 10) }

// serverTime returns the time for timestamps of objects: the current time plus the configured offset of the
// server's clock, in whole seconds.
func (s *Server) serverTime() metav1.Time {
	return metav1.NewTime(s.executor.Now().Add(s.config.Ahead).UTC().Truncate(time.Second))
}

// nextUIDLocked returns a new UID, which contains a counter.
func (s *Server) nextUIDLocked() types.UID {
	s.mu.uids++
	n := strconv.Itoa(s.mu.uids)
	return types.UID("00000000-0000-4000-8000-000000000000"[:36-len(n)] + n)
}

func errRefused() error {
	return &net.OpError{Op: "dial", Net: "tcp", Err: os.NewSyscallError("connect", syscall.ECONNREFUSED)}
}

func errReset() error {
	return &net.OpError{Op: "read", Net: "tcp", Err: os.NewSyscallError("read", syscall.ECONNRESET)}
}
