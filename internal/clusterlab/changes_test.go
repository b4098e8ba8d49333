package clusterlab_test

import (
	"context"
	"encoding/json"
	"encoding/pem"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/rest"

	"github.com/podkeel/podkeel/podmanager/status"
	joined "github.com/podkeel/podkeel/syncloop/cluster"
	"github.com/podkeel/podkeel/syncloop/cluster/client"
	"github.com/podkeel/podkeel/syncloop/cluster/statussink"
)

// patched is a server that accepts every status, and counts them.
type patched struct {
	mu       sync.Mutex
	requests []string
	done     chan struct{} // closed by the last one
	want     int
}

func (p *patched) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	var pod v1.Pod
	if err := json.NewDecoder(r.Body).Decode(&pod); err != nil {
		http.Error(w, err.Error(), http.StatusBadRequest)
		return
	}
	pod.APIVersion, pod.Kind, pod.Namespace, pod.ResourceVersion = "v1", "Pod", "default", "7"
	w.Header().Set("Content-Type", "application/json")
	_ = json.NewEncoder(w).Encode(&pod) // The client says what it has got.
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.requests = append(p.requests, r.Method+" "+r.URL.Path); len(p.requests) == p.want {
		close(p.done)
	}
}

func (p *patched) expectPatches(n int) <-chan struct{} {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.requests, p.want, p.done = nil, n, make(chan struct{})
	return p.done
}

// TestChanges: 100 pods that change their status at once are 100 patches, by TLS to a server
// that is a round trip of 20 ms away. With -figures it takes the median of several rounds.
func TestChanges(t *testing.T) {
	handler := &patched{}
	server := httptest.NewUnstartedServer(handler)
	server.EnableHTTP2 = true
	server.StartTLS()
	t.Cleanup(server.Close)
	network := startLink(t, server.Listener.Addr().String(), 20*time.Millisecond)
	ca := pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: server.Certificate().Raw})
	c, err := client.New(&rest.Config{Host: "https://" + network.listener.Addr().String(), TLSClientConfig: rest.TLSClientConfig{CAData: ca, ServerName: "example.com"}}, "n1")
	require.NoError(t, err)
	t.Cleanup(c.Reconnect)
	store := status.New(status.Config{})
	sink, err := statussink.New(statussink.Config{Pods: c.Pods()})
	require.NoError(t, err)
	sender, err := status.NewSender(status.SenderConfig{Store: store, Sink: sink, Workers: joined.DefaultMaxSends})
	require.NoError(t, err)
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() { ended <- sender.Run(ctx) }()

	const pods = 100
	rounds := 1
	if *figures {
		rounds = 11
	}
	var all []time.Duration
	for round := range rounds + 1 { // The first one opens the connection.
		done, began := handler.expectPatches(pods), time.Now()
		for i := range pods {
			pod := &v1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: fmt.Sprint("pod-", i), UID: types.UID(fmt.Sprint(i))}}
			store.SetPodStatus(pod, v1.PodStatus{Phase: v1.PodRunning, Message: fmt.Sprint("round ", round)})
		}
		select {
		case <-done:
		case <-time.After(joinLimit):
			require.Fail(t, "the server has not got all")
		}
		all = append(all, time.Since(began).Round(time.Millisecond))
	}
	t.Log("100 changes to 100 patches at the server:", formatMedian(all[1:]))
	cancel()
	require.NoError(t, <-ended)
	for _, request := range handler.requests {
		assert.True(t, strings.HasPrefix(request, "PATCH ") && strings.HasSuffix(request, "/status"), request)
	}
	assert.Len(t, handler.requests, pods)
}
