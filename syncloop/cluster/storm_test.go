package cluster_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	v1 "k8s.io/api/core/v1"
	nodev1 "k8s.io/api/node/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"

	"github.com/podkeel/podkeel/syncloop/cluster/apiserver"
	"github.com/podkeel/podkeel/syncloop/cluster/apiservertest"
)

// mostRequests is how many requests of a node of one pod in a minute are no storm.
const mostRequests = 60

// storm runs a node of one pod through a fault for ten minutes, and returns how many
// requests it has sent in the last five, per minute. Every request takes 5 ms, so that a
// loop without a pause is one that ends.
func (h *harness) storm(fault apiservertest.Fault) float64 {
	h.bind("web", mount("conf", ""))
	h.configMap("conf", "1")
	h.start()
	h.after(10 * time.Second)
	require.Equal(h, v1.PodRunning, h.phase("web"))
	h.server.Inject(fault)
	h.server.Inject(apiservertest.Fault{Latency: 5 * time.Millisecond})
	h.server.Break(nil)
	h.after(5 * time.Minute)
	h.server.TakeRequests()
	h.after(5 * time.Minute)
	return float64(len(h.server.TakeRequests())) / 5
}

// TestCluster_NoStorm: whatever a server answers to some or all requests for ever, at once or
// after a while, a node asks seldom, and stops nothing.
func TestCluster_NoStorm(t *testing.T) {
	answers := map[string]error{
		"400": apierrors.NewBadRequest(""), "401": apierrors.NewUnauthorized(""), "403": apierrors.NewForbidden(pods, "", nil),
		"404": apierrors.NewNotFound(pods, ""), "409": apierrors.NewConflict(pods, "", errors.New("x")), "410": apierrors.NewResourceExpired(""),
		"429": apierrors.NewTooManyRequests("", 0), "429 for ever": apierrors.NewTooManyRequests("", 1<<31-1), "429 negative": apierrors.NewTooManyRequests("", -5),
		"500": apierrors.NewInternalError(errors.New("x")), "503": apierrors.NewServiceUnavailable(""), "504": apierrors.NewTimeoutError("", 0),
		"closed": io.EOF, "refused": errors.New("refused"),
	}
	for answer, err := range answers {
		for _, resource := range []string{"", "pods", "nodes", "leases", "configmaps", "services", "runtimeclasses", "pods/status", "nodes/status", "events"} {
			t.Run(answer+" "+resource, func(t *testing.T) {
				h := simulate(t, 1)
				h.disk()
				perMinute := h.storm(apiservertest.Fault{Resource: resource, Err: err, Latency: 5 * time.Millisecond})
				assert.Less(t, perMinute, float64(mostRequests))
				assert.Equal(t, "web/c attempt 0", h.running())
			})
		}
	}
}

// cut is a server whose streams end after so many events.
type cut struct {
	apiserver.Server
	after int
	err   error
}

func (c cut) PodFeed() apiserver.Feed[*v1.Pod]   { return cutFeed[*v1.Pod]{c.Server.PodFeed(), c} }
func (c cut) NodeFeed() apiserver.Feed[*v1.Node] { return cutFeed[*v1.Node]{c.Server.NodeFeed(), c} }
func (c cut) Objects() apiserver.Objects         { return cutObjects{c.Server.Objects(), c} }

type cutObjects struct {
	apiserver.Objects
	cut cut
}

func (o cutObjects) ConfigMap(namespace, name string) apiserver.Feed[*v1.ConfigMap] {
	return cutFeed[*v1.ConfigMap]{o.Objects.ConfigMap(namespace, name), o.cut}
}

func (o cutObjects) Services() apiserver.Feed[*v1.Service] {
	return cutFeed[*v1.Service]{o.Objects.Services(), o.cut}
}

func (o cutObjects) RuntimeClasses() apiserver.Feed[*nodev1.RuntimeClass] {
	return cutFeed[*nodev1.RuntimeClass]{o.Objects.RuntimeClasses(), o.cut}
}

type cutFeed[T any] struct {
	apiserver.Feed[T]
	cut cut
}

func (f cutFeed[T]) Watch(ctx context.Context, opts apiserver.WatchOptions) (apiserver.Stream[T], error) {
	s, err := f.Feed.Watch(ctx, opts)
	if err != nil {
		return nil, err
	}
	return &cutStream[T]{s, f.cut, 0, opts.ResourceVersion}, nil
}

type cutStream[T any] struct {
	apiserver.Stream[T]
	cut     cut
	shown   int
	version string
}

// Next shows bookmarks where there is nothing else, and then ends.
func (s *cutStream[T]) Next(ctx context.Context) (apiserver.Event[T], error) {
	if s.version == "" { // The state is shown.
		e, err := s.Stream.Next(ctx)
		if e.InitialEventsEnd {
			s.version = e.ResourceVersion
		}
		return e, err
	}
	if s.shown++; s.shown > s.cut.after {
		return apiserver.Event[T]{}, s.cut.err
	}
	return apiserver.Event[T]{Type: apiserver.Bookmark, ResourceVersion: s.version}, nil
}

// TestCluster_NoStormOfStreams: streams that end at once, or after an event, in order or by an
// error, are opened again seldom.
func TestCluster_NoStormOfStreams(t *testing.T) {
	for name, err := range map[string]error{"in order": io.EOF, "broken": io.ErrUnexpectedEOF, "expired": apierrors.NewResourceExpired(""), "internal": apierrors.NewInternalError(io.EOF)} {
		for after := range 3 {
			t.Run(fmt.Sprint(name, " after ", after), func(t *testing.T) {
				h := simulate(t, 1)
				h.disk()
				h.client = func(s apiserver.Server) apiserver.Server { return cut{s, after, err} }
				perMinute := h.storm(apiservertest.Fault{Latency: 5 * time.Millisecond})
				assert.Less(t, perMinute, float64(2*mostRequests))
				assert.Equal(t, "web/c attempt 0", h.running())
			})
		}
	}
}

// everyPod is a server that selects no pods by their node.
type everyPod struct {
	apiserver.Server
	of *apiservertest.Server
}

func (e everyPod) PodFeed() apiserver.Feed[*v1.Pod] {
	return bothFeeds{e.Server.PodFeed(), e.of.Client("n2").PodFeed()}
}

// bothFeeds shows the pods of one feed, and then the pods of another feed.
type bothFeeds struct{ own, foreign apiserver.Feed[*v1.Pod] }

func (b bothFeeds) List(ctx context.Context, version string) (apiserver.List[*v1.Pod], error) {
	list, err := b.own.List(ctx, version)
	if err != nil {
		return list, err
	}
	others, err := b.foreign.List(ctx, version)
	list.Items = append(list.Items, others.Items...)
	return list, err
}

func (b bothFeeds) Watch(ctx context.Context, opts apiserver.WatchOptions) (apiserver.Stream[*v1.Pod], error) {
	if opts.SendInitialEvents {
		return nil, apierrors.NewBadRequest("sendInitialEvents")
	}
	return b.own.Watch(ctx, opts)
}

// TestCluster_PodsOfAnotherNode: a pod of another node is not run, whatever the server shows.
func TestCluster_PodsOfAnotherNode(t *testing.T) {
	h := simulate(t, 1)
	h.client = func(s apiserver.Server) apiserver.Server { return everyPod{s, h.server} }
	h.bind("ours")
	h.bind("theirs", func(pod *v1.Pod) { pod.Spec.NodeName = "n2" })
	h.start()
	h.after(time.Minute)
	assert.Equal(t, "ours/c attempt 0", h.running())
	assert.Equal(t, v1.PodPending, h.phase("theirs"))
}
