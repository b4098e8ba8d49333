package localapi

import (
	"cmp"
	"context"
	"errors"
	"iter"
	"log/slog"
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
	// Facts returns what the status of the node object is made of; the API sets its Now. If it has
	// neither a RuntimeSeen nor Problems, the node is ready as long as Node.Health has no Err. It
	// is called every 10 s, by one goroutine. Nil: nothing else is known of the node.
	Facts func(ctx context.Context) nodestatus.Facts
	// Stats measures pods for metrics.k8s.io: a node.Containers. It is asked for each request of
	// metrics. Nil: that group is not served.
	Stats node.StatsReader
	// Events has the events of the node; nil: there are none.
	Events *Events
	// Authenticator finds out which user sends a request. Every user whom it knows may do
	// everything. [Token] makes one.
	Authenticator server.Authenticator
	// Finder, Logs, Exec, Attach and PortForward serve the subresources of pods as in
	// server.Config: a node.Containers is all of them. Requests for which the field is nil are answered
	// with 501.
	Finder      server.Finder
	Logs        runtime.LogReader
	Exec        runtime.ExecStreamer
	Attach      runtime.Attacher
	PortForward runtime.PortForwarder
	// Writer and Saved let clients create, change and delete pods. Writer runs the pods: a
	// node.Node, whose Apply they go to. Saved keeps them over restarts: a checkpoint.Pods, or
	// [Unsaved]. Both nil: the API is read only. If some of the saved pods cannot be read or run, a
	// node with node.Config.Pods.AwaitHost removes nothing that others have left; see [Completer] and
	// [Unreader].
	Writer Writer
	Saved  Saved
	// Log receives log messages; nil discards them.
	Log *slog.Logger
}

// Node is where an API reads pods: a node.Node, whose methods these are. They are safe for
// concurrent use.
type Node interface {
	// Watch yields the state of every pod, and then of every pod that changes, until ctx
	// ends. It is called once, by Run.
	Watch(ctx context.Context) iter.Seq[node.PodState]
	// Pods returns copies of all pods with their newest status. It must not block.
	Pods() []*v1.Pod
	// Pod returns a copy of a pod, and false if the node does not know it any more. It must not
	// block.
	Pod(uid types.UID) (*v1.Pod, bool)
	// Health returns the state of the node. It must not block.
	Health() node.Health
}

// API serves the pods of one node. It is an http.Handler that is safe for concurrent use.
type API struct {
	*backend
	router *router
	node   *nodeObjects
	pods   *podStore
	ran    atomic.Bool
}

// backend is what the handlers of an API share: its configuration and the objects that it serves. It does
// not change after New, but for the objects.
type backend struct {
	config  Config
	log     *slog.Logger
	now     func() time.Time
	started time.Time
	served  map[string]*resource // by GroupResource
	codec   *codec
	panics  *contain.Guard
	// complete is closed when the list of pods is complete.
	complete chan struct{}
	ended    chan struct{} // Run has ended
}

// New makes an API. It starts nothing. It gives the pods that Saved has kept to Writer, so call it
// before node.Node.Run. The error names what is missing in the Config.
func New(config Config) (*API, error) {
	if config.Node == nil || config.NodeName == "" || config.Authenticator == nil || config.Finder == nil {
		return nil, errors.New("localapi: Config.Node, NodeName, Authenticator and Finder are all needed")
	}
	b := &backend{config: config, log: cmp.Or(config.Log, slog.New(slog.DiscardHandler)), now: time.Now, complete: make(chan struct{}), ended: make(chan struct{}), panics: contain.New(contain.Config{Package: "localapi", Log: config.Log})}
	b.started = b.now().Truncate(time.Second)
	// Versions grow over restarts as long as there are fewer than a million changes a second.
	b.served = b.resources(uint64(max(b.started.UnixMicro(), 1)))
	var err error
	if b.codec, err = newCodec(); err != nil {
		return nil, err
	}
	streamer, err := newStreamer(b)
	if err != nil {
		return nil, err
	}
	pods := newPodStore(b)
	router := &router{
		backend: b, writer: &podWriter{b, pods}, watches: &watchServer{ended: b.ended}, streamer: streamer, metrics: &metricsServer{b}, reviewer: &reviewer{b},
	}
	return &API{backend: b, router: router, node: &nodeObjects{b}, pods: pods}, pods.restore()
}

// Ready is closed when Run has heard of all pods of the node. Until then requests are answered with
// 503.
func (a *API) Ready() <-chan struct{} { return a.complete }
