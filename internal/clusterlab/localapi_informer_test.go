package clusterlab_test

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"net"
	"net/http"
	"path/filepath"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/cache"
	"k8s.io/client-go/tools/clientcmd"
)

// restConfig returns the configuration of clients of the agent.
func (a *alone) restConfig() *rest.Config {
	a.Helper()
	config, err := clientcmd.BuildConfigFromFlags("", filepath.Join(a.dir, "config"))
	require.NoError(a, err)
	config.QPS = -1
	return config
}

// cable is a network that can be cut.
type cable struct {
	mu    sync.Mutex
	cut   bool
	conns []net.Conn
	lists int // how often all pods were asked for
}

func (c *cable) dialServer(ctx context.Context, network, address string) (net.Conn, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.cut {
		return nil, errors.New("the cable is cut")
	}
	conn, err := (&net.Dialer{}).DialContext(ctx, network, address)
	c.conns = append(c.conns, conn)
	return conn, err
}

func (c *cable) setCut(cut bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.cut = cut; cut {
		for _, conn := range c.conns {
			if conn != nil {
				_ = conn.Close()
			}
		}
		c.conns = nil
	}
}

// countLists returns a round tripper that counts the requests that list all pods.
func (c *cable) countLists(next http.RoundTripper) http.RoundTripper {
	return roundTripper(func(r *http.Request) (*http.Response, error) {
		if q := r.URL.Query(); q.Get("watch") == "" || q.Get("sendInitialEvents") != "" {
			c.mu.Lock()
			c.lists++
			c.mu.Unlock()
		}
		return next.RoundTrip(r)
	})
}

func (c *cable) listCount() int {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.lists
}

type roundTripper func(*http.Request) (*http.Response, error)

func (f roundTripper) RoundTrip(r *http.Request) (*http.Response, error) { return f(r) }

// ledger records the events of an informer for each pod, and reports impossible ones.
type ledger struct {
	mu    sync.Mutex
	there map[types.UID]string
	said  map[string]string // by name: + for an addition, - for a deletion
	wrong []string
}

func (l *ledger) eventHandler() cache.ResourceEventHandlerFuncs {
	note := func(kind string, object any) {
		if last, ok := object.(cache.DeletedFinalStateUnknown); ok {
			object = last.Obj
		}
		pod := object.(*v1.Pod)
		l.mu.Lock()
		defer l.mu.Unlock()
		_, known := l.there[pod.UID]
		if known == (kind == "+") {
			l.wrong = append(l.wrong, fmt.Sprint(kind, pod.Name, " ", pod.UID))
		}
		if l.there[pod.UID] = pod.Name; kind == "-" {
			delete(l.there, pod.UID)
		}
		if kind != "=" {
			l.said[pod.Name] += kind
		}
	}
	return cache.ResourceEventHandlerFuncs{
		AddFunc: func(o any) { note("+", o) }, UpdateFunc: func(_, o any) { note("=", o) }, DeleteFunc: func(o any) { note("-", o) },
	}
}

// TestLocalAPI_Informer: an informer of client-go has every pod once, and has heard of each
// that came or went, over a time without network in which its version was forgotten, and over
// a restart of the agent.
func TestLocalAPI_Informer(t *testing.T) {
	a := newAlone(t)
	flags := []string{"--api-write", "--api-listen", "127.0.0.1:" + freePort(t)}
	a.startAgent(flags...)
	client := kubernetes.NewForConfigOrDie(a.restConfig())
	pods := client.CoreV1().Pods("default")
	wire, config := &cable{}, a.restConfig()
	config.Dial = wire.dialServer
	config.Wrap(wire.countLists)
	factory := informers.NewSharedInformerFactory(kubernetes.NewForConfigOrDie(config), 0)
	informer := factory.Core().V1().Pods().Informer()
	l := &ledger{there: map[types.UID]string{}, said: map[string]string{}}
	_, err := informer.AddEventHandler(l.eventHandler())
	require.NoError(t, err)
	ctx, cancel := context.WithCancel(t.Context())
	factory.Start(ctx.Done())
	defer func() {
		cancel()
		factory.Shutdown()
	}()
	create := func(name string) {
		spec := v1.PodSpec{TerminationGracePeriodSeconds: new(int64(1)), Containers: []v1.Container{{Name: "c", Image: "a"}}}
		_, err := pods.Create(t.Context(), &v1.Pod{ObjectMeta: metav1.ObjectMeta{Name: name}, Spec: spec}, metav1.CreateOptions{})
		require.NoError(t, err)
	}
	remove := func(name string) {
		require.NoError(t, pods.Delete(t.Context(), name, metav1.DeleteOptions{}))
	}
	// same waits until the informer has what there is: these pods, each Running, once.
	same := func(want ...string) {
		t.Helper()
		var have, there []string
		for began := time.Now(); ; time.Sleep(20 * time.Millisecond) {
			list, err := pods.List(t.Context(), metav1.ListOptions{})
			require.NoError(t, err)
			have, there = nil, nil
			for _, pod := range list.Items {
				there = append(there, fmt.Sprint(pod.Name, " ", pod.UID, " ", pod.ResourceVersion))
				if pod.Status.Phase == v1.PodRunning && pod.DeletionTimestamp == nil {
					have = append(have, pod.Name)
				}
			}
			var cached []string
			for _, o := range informer.GetStore().List() {
				pod := o.(*v1.Pod)
				cached = append(cached, fmt.Sprint(pod.Name, " ", pod.UID, " ", pod.ResourceVersion))
			}
			slices.Sort(cached)
			l.mu.Lock()
			known := slices.Sorted(maps.Values(l.there))
			l.mu.Unlock()
			if slices.Equal(have, want) && slices.Equal(there, cached) && slices.Equal(known, want) {
				return
			}
			require.Less(t, time.Since(began), joinLimit, "there is %v, the informer has %v, its handler %v", there, cached, known)
		}
	}
	for _, name := range []string{"a", "b", "c"} {
		create(name)
	}
	same("a", "b", "c")

	old, lists := informer.LastSyncResourceVersion(), wire.listCount()
	wire.setCut(true)
	remove("a")
	remove("b")
	create("d")
	for i := range 1100 {
		_, err := pods.Patch(t.Context(), "c", types.MergePatchType, fmt.Appendf(nil, `{"metadata":{"labels":{"n":"%d"}}}`, i), metav1.PatchOptions{})
		require.NoError(t, err)
	}
	stream, err := pods.Watch(t.Context(), metav1.ListOptions{ResourceVersion: old})
	require.NoError(t, err)
	event := <-stream.ResultChan()
	require.Equal(t, watch.Error, event.Type)
	assert.Equal(t, int32(http.StatusGone), event.Object.(*metav1.Status).Code, "the version is forgotten")
	stream.Stop()
	wire.setCut(false)
	same("c", "d")
	assert.Greater(t, wire.listCount(), lists, "it has listed again")
	create("b")
	same("b", "c", "d")

	a.stopAgent()
	a.startAgent(flags...)
	create("e")
	same("b", "c", "d", "e")
	remove("c")
	same("b", "d", "e")
	for _, name := range []string{"b", "d", "e"} {
		remove(name)
	}
	same()
	l.mu.Lock()
	defer l.mu.Unlock()
	assert.Empty(t, l.wrong, "what came twice, or went without having come")
	assert.Equal(t, map[string]string{"a": "+-", "b": "+-+-", "c": "+-", "d": "+-", "e": "+-"}, l.said)
}
