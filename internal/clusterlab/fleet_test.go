package clusterlab_test

import (
	"flag"
	"fmt"
	"io"
	"net/url"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/rest"

	"github.com/podkeel/podkeel/internal/clusterlab"
)

var (
	fleetNodes = flag.Int("fleet-nodes", 5, "the nodes of the fleet")
	fleetPods  = flag.Int("fleet-pods", 4, "the pods of each of them")
	fleetIdle  = flag.Duration("fleet-idle", 12*time.Second, "for how long the fleet is watched at rest")
)

// requests are those that the server has counted, as "PATCH pods/status", if they have
// succeeded. Watches are counted at their end.
func requests(t *testing.T, c *clusterlab.Cluster) map[string]int {
	t.Helper()
	cfg := c.Rest("admin")
	client, err := rest.HTTPClientFor(cfg)
	require.NoError(t, err)
	defer client.CloseIdleConnections()
	answer, err := client.Get(cfg.Host + "/metrics")
	require.NoError(t, err)
	defer answer.Body.Close()
	text, err := io.ReadAll(answer.Body)
	require.NoError(t, err)
	counts := map[string]int{}
	for line := range strings.Lines(string(text)) {
		labels, ok := strings.CutPrefix(line, "apiserver_request_total{")
		if !ok || !strings.Contains(labels, `code="2`) {
			continue
		}
		value := func(key string) string {
			_, after, _ := strings.Cut(labels, ","+key+`="`)
			of, _, _ := strings.Cut(after, `"`)
			return of
		}
		_, number, _ := strings.Cut(labels, "} ")
		n, err := strconv.ParseFloat(strings.TrimSpace(number), 64)
		require.NoError(t, err)
		counts[strings.TrimSuffix(value("verb")+" "+value("resource")+"/"+value("subresource"), "/")] += int(n)
	}
	return counts
}

// TestFleet: many nodes in one process join a real server and run what is bound to them,
// with few requests. With -fleet-nodes=200 -fleet-pods=10 -fleet-idle=1m it has the figures
// of the program's README.
func TestFleet(t *testing.T) {
	c := lab(t, clusterlab.Config{})
	server, err := url.Parse(c.URL())
	require.NoError(t, err)
	network := between(t, server.Host, 0)
	kubeconfig, err := c.Kubeconfig("admin")
	require.NoError(t, err)
	text, err := os.ReadFile(kubeconfig)
	require.NoError(t, err)
	through := filepath.Join(t.TempDir(), "kubeconfig")
	require.NoError(t, os.WriteFile(through, []byte(strings.Replace(string(text), server.Host, network.listener.Addr().String(), 1)), 0o600))

	nodes, pods := *fleetNodes, *fleetNodes**fleetPods
	alone := requests(t, c)
	began := time.Now()
	f := example(t, "fleet", "--kubeconfig", through, "--nodes", fmt.Sprint(nodes), "--every", "500ms")
	f.prints(fmt.Sprintf("nodes: %d of %d Ready", nodes, nodes))
	empty, _ := f.usage()
	t.Logf("started to all nodes Ready: %v, RSS %.0f MB", time.Since(began).Round(100*time.Millisecond), float64(empty)/1e6)
	joined := requests(t, c)
	assert.Equal(t, nodes, joined["POST nodes"])
	assert.Equal(t, nodes, joined["POST leases"]-alone["POST leases"])

	began = time.Now()
	bindAll(t, c, pods)
	t.Logf("all pods bound: %v", time.Since(began).Round(100*time.Millisecond))
	f.prints(fmt.Sprintf("pods: %d Running, %d ready  ", pods, pods))
	t.Logf("first pod bound to all Running: %v", time.Since(began).Round(100*time.Millisecond))
	var settled map[string]int
	require.Eventually(t, func() bool {
		before := settled
		settled = requests(t, c)
		return before["PATCH pods/status"] == settled["PATCH pods/status"]
	}, joinLimit, time.Second)
	assert.Equal(t, pods, settled["POST serviceaccounts/token"])
	assert.LessOrEqual(t, settled["PATCH pods/status"], 2*pods, "a pod starts with two statuses at most")
	assert.Zero(t, settled["GET pods"], "no read before a write")

	bytes, rss, cpu := network.bytes.Load(), int64(0), time.Duration(0)
	_, cpu = f.usage()
	time.Sleep(*fleetIdle)
	rss, now := f.usage()
	perNode := 1 / float64(nodes)
	t.Logf("at rest: RSS %.0f MB, CPU %.2f %%, each node %.0f bytes/s on the network", float64(rss)/1e6,
		100*(now-cpu).Seconds()/fleetIdle.Seconds(), perNode*float64(network.bytes.Load()-bytes)/fleetIdle.Seconds())
	rested := requests(t, c)
	for call, n := range rested {
		if n > settled[call] {
			t.Logf("%s: %.2f per node and minute", call, perNode*float64(n-settled[call])/fleetIdle.Minutes())
		}
	}
	assert.Equal(t, settled["PATCH pods/status"], rested["PATCH pods/status"])
	assert.Equal(t, 0, f.terminate())
	f.prints("^ending after")
}

// bindAll makes pods that are bound to the nodes in turn.
func bindAll(t *testing.T, c *clusterlab.Cluster, pods int) {
	admin, err := c.Admin()
	require.NoError(t, err)
	all := make(chan *v1.Pod)
	var group sync.WaitGroup
	for range 8 {
		group.Go(func() {
			for pod := range all {
				_, err := admin.Create(t.Context(), pod)
				assert.NoError(t, err)
			}
		})
	}
	for i := range pods {
		all <- &v1.Pod{
			ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: fmt.Sprint("pod-", i)},
			Spec:       v1.PodSpec{NodeName: fmt.Sprint("fleet-", i%*fleetNodes), Containers: []v1.Container{{Name: "c", Image: "web:1"}}},
		}
	}
	close(all)
	group.Wait()
}
