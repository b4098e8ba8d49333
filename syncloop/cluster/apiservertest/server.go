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
	"k8s.io/utils/clock"

	"github.com/podkeel/podkeel/internal/executor"
)

// Config is what a Server can be told. The zero value is a server on the real clock.
type Config struct {
	// Clock is what calls and streams wait on. Nil is the real clock; the clock of a
	// simulation has the simulation drive them.
	Clock clock.Clock
	// WatchTimeout is after how long the server ends a stream whose caller asks for no
	// timeout. Zero is 40 minutes.
	WatchTimeout time.Duration
	// BookmarkInterval is how long a stream is silent before it shows a bookmark. Zero is
	// one minute.
	BookmarkInterval time.Duration
	// Ahead is how far the time of objects and tokens is ahead of the Clock: a server whose
	// clock is wrong.
	Ahead time.Duration
}

// Server is an API server in memory. Its state survives the crash of those who use it,
// and its own: see Crash. All methods are safe for concurrent use.
type Server struct {
	config   Config
	executor executor.Executor

	mu struct {
		sync.Mutex
		version  uint64
		uids     int
		tokens   int
		objects  map[objectKey]Object
		history  []change
		lost     uint64 // the history up to this version is lost
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

// New makes a server that has the namespaces of a new cluster and nothing else. It runs
// nothing.
func New(config Config) *Server {
	config.WatchTimeout = cmp.Or(config.WatchTimeout, 40*time.Minute)
	config.BookmarkInterval = cmp.Or(config.BookmarkInterval, time.Minute)
	s := &Server{config: config, executor: executor.Over(config.Clock)}
	s.mu.objects = map[objectKey]Object{}
	for _, name := range []string{metav1.NamespaceDefault, metav1.NamespaceSystem, metav1.NamespacePublic, leaseNamespace} {
		s.createLocked(newNamespace(name))
	}
	return s
}

// Client is what the node of this name has of the server. The node's rights are those of
// the node authorizer and of the admission plugin NodeRestriction.
func (s *Server) Client(node string) *Client { return &Client{s: s, node: node} }

// Admin is the handle of an administrator, who may do everything.
func (s *Server) Admin() *Admin { return &Admin{s} }

// Down makes the server unreachable: streams break, calls under way lose their answers,
// and every call fails with a refused connection until Up or Recover.
func (s *Server) Down() {
	s.mu.Lock()
	s.mu.down = true
	s.mu.Unlock()
	s.Break(errReset())
	s.cancelCalls()
}

// Up ends Down. Watches may go on from what they have seen last.
func (s *Server) Up() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.mu.down = false
}

// Crash is Down for a server that has been killed: it forgets what it would have carried
// out later.
func (s *Server) Crash() {
	s.mu.Lock()
	s.mu.late = nil
	s.mu.Unlock()
	s.Down()
}

// CutRemovals has the next n removals of pods stop after their first step, as in a server that is
// killed there: the pod stays, with a grace of zero, and the caller sees a broken connection. A
// further deletion, or a write by the pod's node, removes it.
func (s *Server) CutRemovals(n int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.mu.cut = n
}

// Recover ends Down as the start of a new process does: the state is kept and the history
// is lost, so that a watch from an older version is refused as expired.
func (s *Server) Recover() {
	s.Thaw()
	s.Compact()
	s.Up()
}

// Backup remembers the state. What it returns restores it, as an administrator does from a
// backup of etcd: the history is lost, all versions go back, and later ones are given again.
// Streams end in order.
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

// Compact loses the history: a watch from a version before the newest is refused as
// expired. Streams under way go on.
func (s *Server) Compact() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.mu.lost, s.mu.history = s.mu.version, nil
}

// Break ends all streams with err; nil is the regular end.
func (s *Server) Break(err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, w := range s.mu.streams {
		w.endStream(err)
	}
	s.mu.streams = nil
}

// cancelCalls breaks the connections of all calls under way.
func (s *Server) cancelCalls() {
	s.mu.Lock()
	calls := slices.Clone(s.mu.calls)
	s.mu.Unlock()
	for _, c := range calls {
		c.Cancel(errReset())
	}
}

// Freeze stops the server as a debugger does: calls are not answered and streams are
// silent until Thaw.
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

// ResourceVersion is the newest one.
func (s *Server) ResourceVersion() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.versionLocked()
}

func (s *Server) versionLocked() string { return strconv.FormatUint(s.mu.version, 10) }

// now is the time as objects have it.
func (s *Server) now() metav1.Time {
	return metav1.NewTime(s.executor.Now().Add(s.config.Ahead).UTC().Truncate(time.Second))
}

// nextUIDLocked is one that no object of this server has had.
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
