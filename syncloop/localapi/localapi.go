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
	// Node reads the pods: a node.Node.
	Node Node
	// NodeName is the name of the node.
	NodeName string
	// Labels and Taints become the labels and taints of the Node object.
	Labels map[string]string
	Taints []v1.Taint
	// Facts returns the facts for the status of the Node object. The API sets their Now. If the facts have neither
	// RuntimeSeen nor Problems, the node is ready as long as Node.Health has no Err. One goroutine calls Facts every 10
	// s. Nil: the Node object has default facts.
	Facts func(ctx context.Context) nodestatus.Facts
	// Stats measures pods for metrics.k8s.io: a node.Containers. Each request for metrics calls it. Nil: the API does
	// not serve that group.
	Stats node.StatsReader
	// Events are the events of the node. Nil: the list of events is empty.
	Events *Events
	// Authenticator returns the user of a request. Each user may do everything. [Token] returns an Authenticator.
	Authenticator server.Authenticator
	// Finder, Logs, Exec, Attach and PortForward serve the subresources of pods as in server.Config. A node.Containers
	// implements all of them. A request whose field is nil is answered with 501.
	Finder      server.Finder
	Logs        runtime.LogReader
	Exec        runtime.ExecStreamer
	Attach      runtime.Attacher
	PortForward runtime.PortForwarder
	// Writer and Saved let clients create, change and delete pods. Writer runs the pods: a node.Node. Saved stores them
	// across restarts: a checkpoint.Pods, or [Unsaved]. Both nil: the API is read only. If some saved pods cannot be
	// read or applied, a node with node.Config.Pods.AwaitHost does not remove containers and volumes of unknown pods;
	// see [Completer] and [ReadErrorReporter].
	Writer Writer
	Saved  Saved
	// Log receives log messages; nil discards them.
	Log *slog.Logger
}

// Node reads the pods of a node: a node.Node. Its methods are safe for concurrent use.
type Node interface {
	// Watch yields the state of every pod, and then each change, until ctx is done. Run calls it once.
	Watch(ctx context.Context) iter.Seq[node.PodState]
	// Pods returns copies of all pods with their newest status. It must not block.
	Pods() []*v1.Pod
	// Pod returns a copy of a pod. It returns false if the node has no such pod, or has forgotten it. It must not
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

// backend has the fields that all handlers of an API share: the configuration and the served objects. After New only
// the objects change.
type backend struct {
	config  Config
	log     *slog.Logger
	now     func() time.Time
	started time.Time
	served  map[string]*resource // key: GroupResource
	codec   *codec
	panics  *contain.Guard
	// ready is closed when the node has reported every desired pod.
	ready chan struct{}
	ended chan struct{} // closed when Run returns
}

// New returns an API. It starts no goroutine. New applies the pods of Saved to Writer, so call it before node.Node.Run.
// The error names the missing field of the Config.
func New(config Config) (*API, error) {
	if config.Node == nil || config.NodeName == "" || config.Authenticator == nil || config.Finder == nil {
		return nil, errors.New("localapi: Config.Node, NodeName, Authenticator and Finder are all needed")
	}
	b := &backend{config: config, log: cmp.Or(config.Log, slog.New(slog.DiscardHandler)), now: time.Now, ready: make(chan struct{}), ended: make(chan struct{}), panics: contain.New(contain.Config{Package: "localapi", Log: config.Log})}
	b.started = b.now().Truncate(time.Second)
	// Versions grow across restarts as long as there are fewer than a million changes per second.
	b.served = b.newResources(uint64(max(b.started.UnixMicro(), 1)))
	var err error
	if b.codec, err = newCodec(); err != nil {
		return nil, err
	}
	streamer, err := newInProcessStreamer(b)
	if err != nil {
		return nil, err
	}
	pods := newPodStore(b)
	router := &router{
		backend: b, writer: &podWriter{b, pods}, watches: &watchServer{ended: b.ended}, streamer: streamer, metrics: &metricsServer{b}, reviewer: &reviewer{b},
	}
	return &API{backend: b, router: router, node: &nodeObjects{b}, pods: pods}, pods.restoreReadableAndAcceptedPods()
}

// Ready is closed when the node has reported every desired pod to Run. Until then requests for objects are answered with
// 503. Discovery, OpenAPI and reviews work before.
func (a *API) Ready() <-chan struct{} { return a.ready }
