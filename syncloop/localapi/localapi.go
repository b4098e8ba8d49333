package localapi

import (
	"cmp"
	"context"
	"errors"
	"iter"
	"log/slog"
	"net/http"
	"sync/atomic"
	"time"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/podkeel/podkeel/internal/contain"
	"github.com/podkeel/podkeel/runtime"
	"github.com/podkeel/podkeel/syncloop/node"
	"github.com/podkeel/podkeel/syncloop/nodestatus"
	"github.com/podkeel/podkeel/syncloop/server"
)

// Config is what an API serves. Node, NodeName, Authenticator and Finder are required.
type Config struct {
	// Node has the pods: a node.Node.
	Node Node
	// NodeName is the name of the node.
	NodeName string
	// Labels and Taints are the node's.
	Labels map[string]string
	Taints []v1.Taint
	// Facts returns what the node's status is made of. Its Now is filled in; without a
	// RuntimeSeen and Problems the node is ready if Node.Healthy says so. It is called every
	// 10 s by one goroutine. Nil: there are no others.
	Facts func(ctx context.Context) nodestatus.Facts
	// Stats measures pods for metrics.k8s.io: a node.Node. Nil: that group is not served.
	Stats Stats
	// Events has the events of the node; nil: there are none.
	Events *Events
	// Authenticator decides who may ask: everyone whom it knows may do everything. [Token]
	// makes one.
	Authenticator server.Authenticator
	// Finder, Logs, Exec, Attach and PortForward serve the subresources of pods as in
	// server.Config: a node.Node. What is nil is answered with 501.
	Finder      server.Finder
	Logs        runtime.LogReader
	Exec        runtime.ExecStreamer
	Attach      runtime.Attacher
	PortForward runtime.PortForwarder
	// Writer and Saved let clients create, change and delete pods, which are those of
	// Node.Apply: a node.Node, and a checkpoint.Pods or [Unsaved]. Nil: the API is read only.
	// With node.Config.AwaitHost a node whose saved pods cannot all be read, or run, removes
	// nothing of the others: see [Completer] and [Unreader].
	Writer Writer
	Saved  Saved
	// Log receives log messages; nil discards them.
	Log *slog.Logger
}

// Node has pods. Its methods are safe for concurrent use and those of a node.Node.
type Node interface {
	// Watch yields the state of every pod, and then of every pod that changes, until ctx
	// ends. It is called once, by Run.
	Watch(ctx context.Context) iter.Seq[node.PodState]
	// Pods returns copies of all pods with their newest status. It must not block.
	Pods() []*v1.Pod
	// Pod returns a copy of a pod, as long as the node knows it. It must not block.
	Pod(uid types.UID) (*v1.Pod, bool)
	// Waiting returns nil once all sources of pods have been heard, or what is waited for.
	Waiting() error
	// Healthy returns nil, or what is wrong.
	Healthy() error
}

// API serves the pods of one node. It is an http.Handler that is safe for concurrent use.
type API struct {
	config  Config
	log     *slog.Logger
	now     func() time.Time
	started time.Time
	served  map[string]*resource
	streams http.Handler
	codec   *codec
	panics  *contain.Guard
	watches atomic.Int32
	ran     atomic.Bool
	desired desired
	deleted chan struct{} // a pod is being deleted
	// complete is closed when the list of pods is complete.
	complete chan struct{}
	ended    chan struct{} // Run has ended
}

// New makes an API. It starts nothing; the error names what is missing. The pods that Saved
// has kept are given to Writer: call it before node.Node.Run.
func New(config Config) (*API, error) {
	if config.Node == nil || config.NodeName == "" || config.Authenticator == nil || config.Finder == nil {
		return nil, errors.New("localapi: Config.Node, NodeName, Authenticator and Finder are all needed")
	}
	a := &API{config: config, log: cmp.Or(config.Log, slog.New(slog.DiscardHandler)), now: time.Now, complete: make(chan struct{}), ended: make(chan struct{}), deleted: make(chan struct{}, 1), panics: contain.New(contain.Config{Package: "localapi", Log: config.Log})}
	a.started = a.now().Truncate(time.Second)
	// Versions grow over restarts as long as there are fewer than a million changes a second.
	a.served = a.resources(uint64(max(a.started.UnixMicro(), 1)))
	var err error
	if a.codec, err = newCodec(); err != nil {
		return nil, err
	}
	if a.streams, err = a.newStreams(); err != nil {
		return nil, err
	}
	return a, a.restore()
}

// Ready is closed when the API has all pods of the node: until then Run has not heard of all,
// and requests are answered with 503.
func (a *API) Ready() <-chan struct{} { return a.complete }
