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
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/rest"

	"github.com/podkeel/podkeel/internal/clusterlab"
)

var (
	fleetNodes = flag.Int("fleet-nodes", 5, "the nodes of the fleet")
	fleetPods  = flag.Int("fleet-pods", 4, "the pods of each of them")
	fleetIdle  = flag.Duration("fleet-idle", 12*time.Second, "for how long the fleet is watched at rest")
)

const (
	// fleetLimit bounds each wait. What is measured are counts and bytes: on a busy machine all
	// lasts longer.
	fleetLimit = 20 * time.Minute
	// fleetMemory is the most that a fleet of 200 nodes with 10 pods each may have.
	fleetMemory = 400e6
)

// awaitRequests waits until the server has counted n requests of one kind, and returns all counts.
func awaitRequests(t *testing.T, c *clusterlab.Cluster, call string, n int) (made map[string]int) {
	t.Helper()
	require.Eventually(t, func() bool {
		made = readRequestCounts(t, c)
		return made[call] >= n
	}, fleetLimit, time.Second, call)
	return made
}

// readRequestCounts returns the number of successful requests that the server has counted, by a name like "PATCH
// pods/status". The server counts a watch when it ends.
func readRequestCounts(t *testing.T, c *clusterlab.Cluster) map[string]int {
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

// TestFleet: many nodes in one process join a real server and run the pods that are bound to them,
// with few requests. With -fleet-nodes=200 -fleet-pods=10 -fleet-idle=1m it has the figures
// of the program's README.
func TestFleet(t *testing.T) {
	c := startLab(t, clusterlab.Config{})
	server, err := url.Parse(c.URL())
	require.NoError(t, err)
	network := startLink(t, server.Host, 0)
	kubeconfig, err := c.Kubeconfig("admin")
	require.NoError(t, err)
	text, err := os.ReadFile(kubeconfig)
	require.NoError(t, err)
	through := filepath.Join(t.TempDir(), "kubeconfig")
	require.NoError(t, os.WriteFile(through, []byte(strings.Replace(string(text), server.Host, network.listener.Addr().String(), 1)), 0o600))

	nodes, pods := *fleetNodes, *fleetNodes**fleetPods
	alone := readRequestCounts(t, c)
	began := time.Now()
	f := runExample(t, "fleet", "--kubeconfig", through, "--nodes", fmt.Sprint(nodes), "--every", "500ms")
	f.waitForLineWithin(fleetLimit, fmt.Sprintf("nodes: %d of %d Ready", nodes, nodes))
	empty, _ := f.readUsage()
	t.Logf("started to all nodes Ready: %v, RSS %.0f MB", time.Since(began).Round(100*time.Millisecond), float64(empty)/1e6)
	joined := awaitRequests(t, c, "POST leases", nodes+alone["POST leases"]) // A node's lease follows its object.
	assert.Equal(t, nodes, joined["POST nodes"])
	assert.Equal(t, nodes, joined["POST leases"]-alone["POST leases"])

	began = time.Now()
	bindAll(t, c, pods)
	t.Logf("all pods bound: %v", time.Since(began).Round(100*time.Millisecond))
	f.waitForLineWithin(fleetLimit, fmt.Sprintf("pods: %d Running, %d ready  ", pods, pods))
	t.Logf("first pod bound to all Running: %v", time.Since(began).Round(100*time.Millisecond))
	settled := readRequestCounts(t, c)
	require.Eventually(t, func() bool {
		before := settled
		settled = readRequestCounts(t, c)
		return before["PATCH pods/status"] == settled["PATCH pods/status"] && before["POST events"] == settled["POST events"]
	}, fleetLimit, 3*time.Second)
	assert.Equal(t, pods, settled["POST serviceaccounts/token"])
	assert.LessOrEqual(t, settled["PATCH pods/status"], 2*pods, "a pod starts with two statuses at most")
	assert.Zero(t, settled["GET pods"], "no read before a write")

	bytes, rss, cpu := network.bytes.Load(), int64(0), time.Duration(0)
	_, cpu = f.readUsage()
	time.Sleep(*fleetIdle)
	rss, now := f.readUsage()
	perNode := 1 / float64(nodes)
	assert.Less(t, rss, int64(fleetMemory))
	t.Logf("at rest: RSS %.0f MB, CPU %.2f %%, each node %.0f bytes/s on the network", float64(rss)/1e6,
		100*(now-cpu).Seconds()/fleetIdle.Seconds(), perNode*float64(network.bytes.Load()-bytes)/fleetIdle.Seconds())
	rested := readRequestCounts(t, c)
	for call, n := range rested {
		if n > settled[call] {
			t.Logf("%s: %.2f per node and minute", call, perNode*float64(n-settled[call])/fleetIdle.Minutes())
		}
	}
	assert.Equal(t, settled["PATCH pods/status"], rested["PATCH pods/status"])
	assert.Equal(t, 0, f.terminate())
	f.waitForLine("^ending after")
}

// isBusyError reports whether the server may accept the same request later, because the server or the machine was busy.
func isBusyError(err error) bool {
	return apierrors.IsTimeout(err) || apierrors.IsServerTimeout(err) || apierrors.IsTooManyRequests(err) || apierrors.IsInternalError(err) ||
		err != nil && apierrors.ReasonForError(err) == ""
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
				for t.Context().Err() == nil && isBusyError(err) {
					_, err = admin.Create(t.Context(), pod)
				}
				assert.True(t, err == nil || apierrors.IsAlreadyExists(err), "%v", err)
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
