package clusterlab_test

import (
	"bytes"
	"context"
	"encoding/json"
	"flag"
	"fmt"
	"maps"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"sort"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/podkeel/podkeel/internal/clusterlab"
	"github.com/podkeel/podkeel/runtime"
	"github.com/podkeel/podkeel/runtime/memory"
	joined "github.com/podkeel/podkeel/syncloop/cluster"
	"github.com/podkeel/podkeel/syncloop/cluster/apiserver"
	"github.com/podkeel/podkeel/syncloop/cluster/client"
	"github.com/podkeel/podkeel/syncloop/node"
)

var figures = flag.Bool("figures", false, "take the figures of the cluster side, which takes 15 minutes")

// skipUnlessMeasuring skips a test that measures times, unless -figures is set.
func skipUnlessMeasuring(t *testing.T) {
	if !*figures {
		t.Skip("no figures without -figures: they take minutes")
	}
}

// formatMedian returns the median and all values as text.
func formatMedian(all []time.Duration) string {
	sort.Slice(all, func(i, j int) bool { return all[i] < all[j] })
	return fmt.Sprintf("median %v of %v", all[len(all)/2], all)
}

// countCalls returns how often each call was made, without calls for events.
func countCalls(calls []string) map[string]int {
	counts := map[string]int{}
	for _, call := range calls {
		counts[call]++
	}
	maps.DeleteFunc(counts, func(call string, _ int) bool { return call == "create events" || call == "patch events" })
	return counts
}

// remote is a node in memory at a distance from a real server.
type remote struct {
	*testing.T
	lab     *clusterlab.Cluster
	admin   *clusterlab.Admin
	seen    *client.Client
	machine *memory.Runtime
	bare    *client.Client // of node n2, on which nothing runs, at the same distance
	beside  *client.Client // of node n2, at no distance
}

func joinFrom(t *testing.T, roundTrip time.Duration) *remote {
	r := &remote{T: t, lab: startLab(t, clusterlab.Config{Nodes: []string{"n1", "n2"}}), machine: memory.New(memory.Config{})}
	var err error
	r.admin, err = r.lab.Admin()
	require.NoError(t, err)
	r.seen, err = client.New(r.lab.Rest("n1"), "n1")
	require.NoError(t, err)
	server := r.newClient("n1", roundTrip)
	r.bare, r.beside = r.newClient("n2", roundTrip), r.newClient("n2", 0)
	n, err := joined.New(joined.Config{Server: server, Node: node.Config{Name: "n1", Runtime: r.machine, Pods: node.PodsConfig{OrphanGrace: -1}}})
	require.NoError(t, err)
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan error, 1)
	go func() { done <- n.Run(ctx) }()
	t.Cleanup(func() {
		cancel()
		assert.NoError(t, <-done)
		server.Reconnect()
		r.seen.Reconnect()
	})
	return r
}

// newClient returns a client of a node, with network latency.
func (r *remote) newClient(node string, roundTrip time.Duration) *client.Client {
	cfg := r.lab.Rest(node)
	if roundTrip > 0 {
		server, err := url.Parse(cfg.Host)
		require.NoError(r, err)
		cfg.Host = "https://" + startLink(r.T, server.Host, roundTrip).listener.Addr().String()
	}
	c, err := client.New(cfg, node)
	require.NoError(r, err)
	r.Cleanup(c.Reconnect)
	return c
}

// createPods creates pods that terminate when their container exits.
func (r *remote) createPods(names ...string) { r.createPodsOn("n1", names...) }

func (r *remote) createPodsOn(node string, names ...string) {
	for _, name := range names {
		_, err := r.admin.Create(r.Context(), &v1.Pod{
			ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: name},
			Spec:       v1.PodSpec{NodeName: node, RestartPolicy: v1.RestartPolicyNever, Containers: []v1.Container{{Name: "c", Image: "web:1"}}},
		})
		require.NoError(r, err)
	}
}

// waitForPhase waits until the server shows all these pods in a phase.
func (r *remote) waitForPhase(phase v1.PodPhase, names ...string) {
	waitForPhase(r.T, r.seen, phase, names...)
}

func waitForPhase(t *testing.T, seen *client.Client, phase v1.PodPhase, names ...string) {
	waitForObjects(t, seen.PodFeed(), string(phase), func(have map[string]*v1.Pod) bool {
		return !slices.ContainsFunc(names, func(name string) bool { return have[name] == nil || have[name].Status.Phase != phase })
	})
}

// exitContainers ends all containers of these pods.
func (r *remote) exitContainers(names ...string) {
	for _, pod := range r.machine.Snapshot() {
		for _, c := range pod.Containers {
			if slices.Contains(names, pod.Name) && c.State == runtime.StateRunning {
				assert.NoError(r, r.machine.ExitContainer(c.ID, 1))
			}
		}
	}
}

func podNames(prefix string, n int) (names []string) {
	for i := range n {
		names = append(names, fmt.Sprint(prefix, "-", i))
	}
	return names
}

// TestFigures_Changes: 100 pods change their status at once, and the server is a round trip
// away. Beside it stands the floor: what the server needs for the patches alone, all at once. Both
// have the processor time of the server and its store, which share this machine.
func TestFigures_Changes(t *testing.T) {
	skipUnlessMeasuring(t)
	for _, roundTrip := range []time.Duration{0, 20 * time.Millisecond, 40 * time.Millisecond} {
		t.Run(fmt.Sprint(roundTrip), func(t *testing.T) {
			r := joinFrom(t, roundTrip)
			var ours, floor, busy, busyFloor []time.Duration
			running, failed := r.sampleStatuses()
			before := readLoad()
			for round := range 10 {
				names := podNames(fmt.Sprint("bare-", round), 100)
				r.createPodsOn("n2", names...)
				refs := r.patchEach(running, names...)
				spent := r.serverProcessorTime()
				floor = append(floor, r.patchAll(failed, refs, names...))
				busyFloor = append(busyFloor, r.serverProcessorTime()-spent)
				r.deletePods(r.beside, names...)
				names = podNames(fmt.Sprint("round-", round), 100)
				r.createPods(names...)
				r.waitForPhase(v1.PodRunning, names...)
				spent = r.serverProcessorTime()
				began := time.Now()
				r.exitContainers(names...)
				r.waitForPhase(v1.PodFailed, names...)
				ours = append(ours, time.Since(began).Round(time.Millisecond))
				busy = append(busy, r.serverProcessorTime()-spent)
				r.deletePods(r.seen, names...)
			}
			t.Log("100 bare patches at once to 100 pods seen Failed:", formatMedian(floor))
			t.Log("100 containers ended to 100 pods seen Failed:", formatMedian(ours))
			t.Log("processor time of the server, bare:", formatMedian(busyFloor))
			t.Log("processor time of the server, ours:", formatMedian(busy))
			t.Log("load", before, "to", readLoad())
		})
	}
}

// sampleStatuses returns two statuses that the node has sent: of a running pod, and of a failed pod.
func (r *remote) sampleStatuses() (running, failed v1.PodStatus) {
	r.createPods("model")
	status := func(phase v1.PodPhase) v1.PodStatus {
		r.waitForPhase(phase, "model")
		pod, err := r.seen.Pods().Get(r.Context(), "default", "model")
		require.NoError(r, err)
		return pod.Status
	}
	running = status(v1.PodRunning)
	r.exitContainers("model")
	failed = status(v1.PodFailed)
	r.deletePods(r.seen, "model")
	return running, failed
}

// patchEach gives these pods a status one after the other.
func (r *remote) patchEach(status v1.PodStatus, names ...string) (refs []apiserver.PodRef) {
	for _, name := range names {
		pod, err := r.beside.Pods().Get(r.Context(), "default", name)
		require.NoError(r, err)
		ref := apiserver.PodRef{Namespace: "default", Name: name, UID: pod.UID}
		_, err = r.beside.Pods().PatchStatus(r.Context(), ref, patchOf(r.T, ref.UID, status))
		require.NoError(r, err)
		refs = append(refs, ref)
	}
	return refs
}

// patchAll makes bare patches of all these pods at once, and waits until they are seen.
func (r *remote) patchAll(status v1.PodStatus, refs []apiserver.PodRef, names ...string) time.Duration {
	began := time.Now()
	for _, ref := range refs {
		go func() {
			_, err := r.bare.Pods().PatchStatus(r.Context(), ref, patchOf(r.T, ref.UID, status))
			assert.NoError(r, err)
		}()
	}
	waitForPhase(r.T, r.beside, v1.PodFailed, names...)
	return time.Since(began).Round(time.Millisecond)
}

func patchOf(t *testing.T, uid types.UID, status v1.PodStatus) []byte {
	raw, err := json.Marshal(map[string]any{"metadata": map[string]any{"uid": uid}, "status": status})
	assert.NoError(t, err)
	return raw
}

// serverProcessorTime returns the processor time that the API server and etcd have used. Its resolution is 10 ms.
func (r *remote) serverProcessorTime() (all time.Duration) {
	files, err := filepath.Glob("/proc/[0-9]*/stat")
	require.NoError(r, err)
	for _, file := range files {
		dir, _ := os.Readlink(filepath.Join(filepath.Dir(file), "cwd"))
		raw, err := os.ReadFile(file)
		if err != nil || dir != r.lab.Dir() {
			continue // It has ended, or is of something else.
		}
		fields := strings.Fields(string(raw[bytes.LastIndexByte(raw, ')'):]))
		for _, field := range fields[12:14] { // utime and stime, proc_pid_stat(5)
			ticks, err := strconv.Atoi(field)
			require.NoError(r, err)
			all += time.Duration(ticks) * 10 * time.Millisecond
		}
	}
	return all
}

// deletePods deletes pods with grace period 0, and waits until a client sees no pods.
func (r *remote) deletePods(seen *client.Client, names ...string) {
	for _, name := range names {
		require.NoError(r, r.admin.Delete(r.Context(), &v1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: name}}, new(int64)))
	}
	waitForObjects(r.T, seen.PodFeed(), "none", func(have map[string]*v1.Pod) bool { return len(have) == 0 })
}

// readLoad returns the load of the machine over the last minute.
func readLoad() string {
	text, err := os.ReadFile("/proc/loadavg")
	if err != nil {
		return "unknown"
	}
	return strings.Fields(string(text))[0]
}

// TestFigures_Outage: the server is away for 24 seconds.
func TestFigures_Outage(t *testing.T) {
	skipUnlessMeasuring(t)
	r := joinFrom(t, 0)
	var delivered, watched []time.Duration
	for round := range 3 {
		before, after := fmt.Sprint("before-", round), fmt.Sprint("after-", round)
		r.createPods(before)
		r.waitForPhase(v1.PodRunning, before)
		r.lab.KillServer()
		time.Sleep(3 * time.Second)
		r.exitContainers(before)
		time.Sleep(21 * time.Second)
		require.NoError(t, r.lab.StartServer(t.Context()))
		began := time.Now()
		r.waitForPhase(v1.PodFailed, before)
		delivered = append(delivered, time.Since(began).Round(time.Millisecond))
		r.createPods(after)
		r.waitForPhase(v1.PodRunning, after)
		watched = append(watched, time.Since(began).Round(time.Millisecond))
	}
	t.Log("server ready to the last status seen:", formatMedian(delivered))
	t.Log("server ready to a new pod Running:", formatMedian(watched))
}

// TestFigures_Idle: the program with 30 pods, at rest.
func TestFigures_Idle(t *testing.T) {
	skipUnlessMeasuring(t)
	c := startLab(t, clusterlab.Config{Nodes: []string{"n1"}})
	kubeconfig, err := c.Kubeconfig("n1")
	require.NoError(t, err)
	p := runExample(t, "cluster", "--kubeconfig", kubeconfig, "--hostname-override", "n1", "--port", "0")
	r := &remote{T: t, lab: c}
	r.admin, err = c.Admin()
	require.NoError(t, err)
	r.seen, err = client.New(c.Rest("n1"), "n1")
	require.NoError(t, err)
	t.Cleanup(r.seen.Reconnect)
	names := podNames("idle", 30)
	r.createPods(names...)
	r.waitForPhase(v1.PodRunning, names...)
	const rest, minutes = 10 * time.Second, 5
	time.Sleep(rest)
	made := len(readNodeCalls(t, c))
	_, began := p.readUsage()
	for range minutes {
		time.Sleep(time.Minute)
		rss, cpu := p.readUsage()
		t.Logf("RSS %.1f MB, CPU %.2f %% of one processor", float64(rss)/1e6, 100*(cpu-began).Seconds()/60)
		began = cpu
	}
	t.Logf("calls in %d minutes: %v", minutes, countCalls(readNodeCalls(t, c)[made:]))
	assert.Equal(t, 0, p.terminate())
}
