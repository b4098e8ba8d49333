//go:build linux

package clusterlab_test

import (
	"cmp"
	"context"
	"flag"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	cri "k8s.io/cri-api/pkg/apis/runtime/v1"

	"github.com/podkeel/podkeel/internal/clusterlab"
	"github.com/podkeel/podkeel/internal/e2e"
	"github.com/podkeel/podkeel/syncloop/cluster/apiserver"
	"github.com/podkeel/podkeel/syncloop/cluster/client"
)

var (
	kubeletTries = flag.Int("kubelet-tries", 10, "how often TestFigures_Kubelet takes each time")
	kubeletIdle  = flag.Duration("kubelet-idle", 3*time.Minute, "for how long TestFigures_Kubelet watches idle nodes")
)

// The nodes that are compared. Nothing runs on the bare one but CRI calls, and its statuses are
// the test's own patches.
const (
	oursNode    = "n1"
	kubeletNode = "n2"
	bareNode    = "n3"

	watcher = "watcher" // the name of the test's own client
)

// contest is a node of each kind, each on a containerd of its own, and a watcher of all.
type contest struct {
	*testing.T
	lab        *clusterlab.Cluster
	admin      *clusterlab.Admin
	bare       *client.Client
	containerd map[string]*e2e.Containerd
	processes  map[string]*nodeProcess
	seen       map[string]*sight
	serial     int
}

// sight is what a watch of a node's pods has shown, each with the time.
type sight struct {
	news chan seenPod
}

type seenPod struct {
	at time.Time
	apiserver.Event[*v1.Pod]
}

// watchPods follows the pods of a node until the test ends.
func watchPods(t *testing.T, c *client.Client) *sight {
	s := &sight{news: make(chan seenPod, 1<<16)}
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan struct{})
	t.Cleanup(func() { cancel(); <-done; c.Reconnect() })
	go func() {
		defer close(done)
		version := ""
		for ctx.Err() == nil {
			stream, err := c.PodFeed().Watch(ctx, apiserver.WatchOptions{ResourceVersion: version, SendInitialEvents: version == ""})
			for err == nil {
				var e apiserver.Event[*v1.Pod]
				if e, err = stream.Next(ctx); err == nil && e.Type != apiserver.Bookmark {
					s.news <- seenPod{time.Now(), e}
				}
				version = e.ResourceVersion
			}
			if stream != nil {
				stream.Close()
			}
		}
	}()
	return s
}

// waitUntil waits until ok returns true for a pod, and returns the time at which the pod was seen.
func (s *sight) waitUntil(t *testing.T, what string, ok func(seenPod) bool) time.Time {
	t.Helper()
	late := time.After(joinLimit)
	for {
		select {
		case e := <-s.news:
			if ok(e) {
				return e.at
			}
		case <-late:
			require.Fail(t, "not seen: "+what)
		}
	}
}

// contestConfig configures a contest. The zero value has nodes without cgroups of pods beside the bare node.
type contestConfig struct {
	// cgroupRoot is the parent of the kubelet's cgroups. With it there is no bare node.
	cgroupRoot string
	// flags are flags of examples/cluster.
	flags []string
	// maxPIDs is the kubelet's limit of processes of a pod.
	maxPIDs int
}

func newContest(t *testing.T, config contestConfig) *contest {
	nodes := []string{oursNode, kubeletNode, bareNode}
	if config.cgroupRoot != "" {
		nodes = nodes[:2]
	}
	c := &contest{
		T: t, lab: startLab(t, clusterlab.Config{Nodes: nodes}),
		containerd: map[string]*e2e.Containerd{}, processes: map[string]*nodeProcess{}, seen: map[string]*sight{},
	}
	var err error
	c.admin, err = c.lab.Admin()
	require.NoError(t, err)
	for _, name := range nodes {
		c.containerd[name] = e2e.Start(t, e2e.Containerd2)
		_, err := cri.NewImageServiceClient(c.containerd[name].Conn()).PullImage(t.Context(), &cri.PullImageRequest{Image: &cri.ImageSpec{Image: c.containerd[name].Registry.Image()}})
		require.NoError(t, err)
		cfg := c.lab.Rest(name)
		cfg.UserAgent = watcher
		own, err := client.New(cfg, name)
		require.NoError(t, err)
		c.seen[name] = watchPods(t, own)
		if name == bareNode {
			c.bare = own
		}
	}
	kubeconfig, err := c.lab.Kubeconfig(oursNode)
	require.NoError(t, err)
	dir := c.containerd[oursNode].Dir
	bin := buildExample(t, "cluster")
	args := append([]string{
		"--kubeconfig", kubeconfig, "--hostname-override", oursNode, "--runtime", "cri",
		"--container-runtime-endpoint", c.containerd[oursNode].Endpoint, "--root-dir", filepath.Join(dir, "node"), "--log-dir", filepath.Join(dir, "node", "log", "pods"),
		"--address", "127.0.0.1", "--port", freePort(t), "--client-ca-file", c.lab.ClientCA(),
		"--eviction-hard", "", // As the kubelet of the lab.
	}, config.flags...)
	c.processes[oursNode] = &nodeProcess{run: func() (int, func()) {
		p := runProgram(t, bin, args...)
		return p.cmd.Process.Pid, func() { require.Equal(t, 0, p.terminate()) }
	}}
	c.processes[kubeletNode] = &nodeProcess{run: func() (int, func()) { return c.runKubelet(config) }}
	for _, name := range []string{oursNode, kubeletNode} {
		c.processes[name].startProcess()
		newKubectl(t, c.lab)("wait", "--for=create", "node/"+name, "--timeout=100s")
		newKubectl(t, c.lab)("wait", "--for=condition=Ready", "node/"+name, "--timeout=100s")
	}
	return c
}

// runKubelet runs the kubelet until stop, at the latest until the end of the test.
func (c *contest) runKubelet(config contestConfig) (pid int, stop func()) {
	k, err := c.lab.StartKubelet(c.Context(), clusterlab.KubeletConfig{
		Node: kubeletNode, Endpoint: c.containerd[kubeletNode].Endpoint, Dir: c.containerd[kubeletNode].Dir,
		CgroupRoot: config.cgroupRoot, MaxPIDs: config.maxPIDs,
	})
	require.NoError(c, err)
	stopped := false
	stop = func() {
		if !stopped {
			k.Stop()
		}
		stopped = true
	}
	c.Cleanup(func() {
		died := k.Died()
		stop()
		if c.Failed() {
			text, _ := os.ReadFile(k.Log())
			c.Logf("kubelet: %v: the end of its log:\n%s", died, text[max(0, len(text)-6000):])
		}
	})
	return k.PID(), stop
}

// nodeProcess is the process of a node, which can be stopped and started again.
type nodeProcess struct {
	run  func() (pid int, stop func())
	pid  int
	stop func()
}

// startProcess starts the process. The process must not run.
func (n *nodeProcess) startProcess() { n.pid, n.stop = n.run() }

// makePod returns a pod that exits immediately on SIGTERM.
func (c *contest) makePod(node, name string, token bool) *v1.Pod {
	return &v1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: name}, Spec: v1.PodSpec{
		NodeName: node, TerminationGracePeriodSeconds: new(int64(1)), AutomountServiceAccountToken: &token,
		Tolerations: []v1.Toleration{{Operator: v1.TolerationOpExists}},
		Containers: []v1.Container{{
			Name: "main", Image: c.containerd[node].Registry.Image(), ImagePullPolicy: v1.PullIfNotPresent,
			Command: []string{"sh", "-c", `trap 'exit 0' TERM; sleep 100000 & wait`},
		}},
	}}
}

func (c *contest) nextPodName() string {
	c.serial++
	return fmt.Sprint("pod-", c.serial)
}

// lifeTimes are the times from the binding of a pod until a watcher sees it Running, and from its deletion until the
// watcher sees it gone. For bare CRI calls they do not include the server; create and patch are the server's times for
// a create and for a status patch until a watcher sees them.
type lifeTimes struct{ run, gone, create, patch time.Duration }

func (c *contest) measureLife(node string, token bool) (took lifeTimes) {
	name := c.nextPodName()
	began := time.Now()
	_, err := c.admin.Create(c.Context(), c.makePod(node, name, token))
	require.NoError(c, err)
	took.run = c.seen[node].waitUntil(c.T, name+" Running", func(e seenPod) bool {
		return e.Object.Name == name && e.Object.Status.Phase == v1.PodRunning
	}).Sub(began)
	c.sleepFor(time.Second)
	began = time.Now()
	require.NoError(c, c.admin.Delete(c.Context(), &v1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: name}}, nil))
	took.gone = c.seen[node].waitUntil(c.T, name+" gone", func(e seenPod) bool { return e.Object.Name == name && e.Type == apiserver.Deleted }).Sub(began)
	c.sleepFor(time.Second)
	return took
}

func (c *contest) sleepFor(d time.Duration) {
	select {
	case <-c.Context().Done():
	case <-time.After(d):
	}
}

// measureFloor measures the same steps with direct calls of the API server and the runtime.
func (c *contest) measureFloor() (took lifeTimes) {
	name := c.nextPodName()
	b := c.bareOf(name)
	began := time.Now()
	made, err := c.admin.Create(c.Context(), c.makePod(bareNode, name, false))
	require.NoError(c, err)
	took.create = c.seen[bareNode].waitUntil(c.T, name, func(e seenPod) bool { return e.Object.Name == name }).Sub(began)
	began = time.Now()
	b.startPod()
	took.run = time.Since(began)
	began = time.Now()
	_, err = c.bare.Pods().PatchStatus(c.Context(), apiserver.PodRef{Namespace: "default", Name: name, UID: made.GetUID()},
		fmt.Appendf(nil, `{"metadata":{"uid":%q},"status":{"phase":"Running"}}`, made.GetUID()))
	require.NoError(c, err)
	took.patch = c.seen[bareNode].waitUntil(c.T, name+" Running", func(e seenPod) bool { return e.Object.Status.Phase == v1.PodRunning }).Sub(began)
	c.sleepFor(time.Second)
	began = time.Now()
	b.stopPod()
	took.gone = time.Since(began)
	b.removeSandbox()
	require.NoError(c, c.admin.Delete(c.Context(), &v1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: name}}, new(int64)))
	c.sleepFor(time.Second)
	return took
}

// TestFigures_Kubelet: a kubelet and ours, in turns, each on a containerd of its own, at one
// API server.
func TestFigures_Kubelet(t *testing.T) {
	skipUnlessMeasuring(t)
	c := newContest(t, contestConfig{})
	before := readLoad()
	all := map[string][]time.Duration{}
	for i := range *kubeletTries + 1 {
		var f, ours, token, kubelet, kubeletToken lifeTimes
		turns := []func(){
			func() { f = c.measureFloor() },
			func() { ours = c.measureLife(oursNode, false) },
			func() { kubelet = c.measureLife(kubeletNode, false) },
			func() { token = c.measureLife(oursNode, true) },
			func() { kubeletToken = c.measureLife(kubeletNode, true) },
		}
		for n := range turns {
			turns[(n+i)%len(turns)]()
		}
		if i == 0 {
			continue // The first round warms up caches.
		}
		trips := f.create + f.patch
		for key, d := range map[string]time.Duration{
			"floor run": f.run, "ours run": ours.run, "kubelet run": kubelet.run, "ours run, token": token.run, "kubelet run, token": kubeletToken.run,
			"floor gone": f.gone, "ours gone": ours.gone, "kubelet gone": kubelet.gone, "ours gone, token": token.gone, "kubelet gone, token": kubeletToken.gone,
			"trips": trips, "beyond floor and trips run": ours.run - f.run - trips, "beyond floor and trips gone": ours.gone - f.gone - trips,
		} {
			all[key] = append(all[key], d.Round(time.Millisecond))
		}
	}
	for _, key := range slices.Sorted(maps.Keys(all)) {
		t.Log(key+":", formatMedian(all[key]))
	}
	t.Log("load", before, "to", readLoad())
	t.Log("| what | floor | ours | kubelet | target |")
	for _, row := range [][2]string{{"pod bound → Running seen", "run"}, {"pod deleted → gone", "gone"}} {
		floor, ours, kubelet := medianDuration(all["floor "+row[1]]), medianDuration(all["ours "+row[1]]), medianDuration(all["kubelet "+row[1]])
		target := floor + medianDuration(all["trips"]) + 20*time.Millisecond
		t.Logf("| %s | %v | %v | %v | %s |", row[0], floor, ours, kubelet, formatTarget(ours, min(target, kubelet)))
		t.Logf("| of it beyond floor and round trips, turn by turn | | %v | | %s |", medianDuration(all["beyond floor and trips "+row[1]]), formatTarget(medianDuration(all["beyond floor and trips "+row[1]]), 20*time.Millisecond))
		ours, kubelet = medianDuration(all["ours "+row[1]+", token"]), medianDuration(all["kubelet "+row[1]+", token"])
		t.Logf("| %s, with a token | | %v | %v | %s |", row[0], ours, kubelet, formatTarget(ours, kubelet))
	}
	ours, kubelet := c.callsOfLives(oursNode), c.callsOfLives(kubeletNode)
	t.Logf("| requests of one pod's life | | %.1f | %.1f | %s |", ours, kubelet, formatTarget(ours, kubelet))
	c.measureBoot()
	c.measureIdle()
}

// medianDuration returns the median.
func medianDuration(all []time.Duration) time.Duration {
	sorted := slices.Sorted(slices.Values(all))
	return sorted[len(sorted)/2]
}

// formatTarget returns the target as text, and whether it was missed.
func formatTarget[N cmp.Ordered](is, most N) string {
	if is > most {
		return fmt.Sprintf("≤ %v, **missed**", most)
	}
	return fmt.Sprintf("≤ %v", most)
}

// callsOfLives creates and deletes ten pods, and returns the number of requests per pod.
func (c *contest) callsOfLives(node string) float64 {
	const lives = 10
	_, from := auditRequests(c.T, filepath.Join(c.lab.Dir(), "audit.log"), 0)
	for range lives {
		c.measureLife(node, true)
	}
	c.sleepFor(3 * time.Second)
	made := c.madeBy(node, from)
	maps.DeleteFunc(made, func(call string, _ int) bool {
		return strings.HasSuffix(call, " leases") || strings.Contains(call, " nodes")
	})
	c.Logf("%s: %d requests in %d lives: %v", sideName(node), sumCounts(made), lives, made)
	return float64(sumCounts(made)) / lives
}

func sideName(node string) string {
	return map[string]string{oursNode: "ours", kubeletNode: "kubelet"}[node]
}

func sumCounts(counts map[string]int) (n int) {
	for _, one := range counts {
		n += one
	}
	return n
}

// madeBy counts the requests of a node from an offset in the audit log on.
func (c *contest) madeBy(node string, from int) map[string]int {
	counts := map[string]int{}
	all, _ := auditRequests(c.T, filepath.Join(c.lab.Dir(), "audit.log"), from)
	for _, r := range all {
		if r.User.Username == "system:node:"+node && r.UserAgent != watcher {
			counts[strings.TrimSuffix(r.Verb+" "+r.ObjectRef.Resource+"/"+r.ObjectRef.Subresource, "/")]++
		}
	}
	return counts
}
