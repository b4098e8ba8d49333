//go:build linux

package clusterlab_test

import (
	"bytes"
	"fmt"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/stretchr/testify/require"
	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/podkeel/podkeel/syncloop/cluster/apiserver"
)

// idlePods is the number of pods of an idle node.
const idlePods = 30

// measureBoot measures the time from the start of a node's process until a pod runs that was bound while the process was
// stopped. The node is registered and has no other pods.
func (c *contest) measureBoot() {
	nodes := []string{oursNode, kubeletNode}
	for _, node := range nodes {
		c.processes[node].stop()
	}
	took := map[string][]time.Duration{}
	for round := range *kubeletTries {
		for turn := range nodes {
			node := nodes[(round+turn)%len(nodes)]
			took[node] = append(took[node], c.bootWithPod(node).Round(time.Millisecond))
		}
	}
	for _, node := range nodes {
		c.Log("boot of "+sideName(node)+":", formatMedian(took[node]))
		c.processes[node].startProcess()
	}
	ours, kubelet := medianDuration(took[oursNode]), medianDuration(took[kubeletNode])
	c.Logf("| start of the process → Running of a waiting pod seen | | %v | %v | %s |", ours, kubelet, formatTarget(ours, kubelet))
}

// bootWithPod starts a node's process beside a waiting pod, deletes the pod, and stops the process.
func (c *contest) bootWithPod(node string) time.Duration {
	name := c.nextPodName()
	_, err := c.admin.Create(c.Context(), c.makePod(node, name, false))
	require.NoError(c, err)
	began := time.Now()
	c.processes[node].startProcess()
	took := c.seen[node].waitUntil(c.T, name+" Running", func(e seenPod) bool {
		return e.Object.Name == name && e.Object.Status.Phase == v1.PodRunning
	}).Sub(began)
	c.sleepFor(time.Second)
	require.NoError(c, c.admin.Delete(c.Context(), &v1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: name}}, nil))
	c.seen[node].waitUntil(c.T, name+" gone", func(e seenPod) bool { return e.Object.Name == name && e.Type == apiserver.Deleted })
	c.sleepFor(time.Second)
	c.processes[node].stop()
	return took
}

// processUsage is what a process has used since its start.
type processUsage struct {
	rss     int64
	cpu     time.Duration
	written int64 // bytes that went, or will go, to a disk
	wakeups int64 // voluntary context switches of all threads
}

// processUsage returns what the process of a node has used.
func (c *contest) processUsage(node string) (u processUsage) {
	pid := c.processes[node].pid
	u.rss, u.cpu = readProcessUsage(c.T, pid)
	u.written = c.procField(fmt.Sprintf("/proc/%d/io", pid), "write_bytes:")
	threads, err := filepath.Glob(fmt.Sprintf("/proc/%d/task/*/status", pid))
	require.NoError(c, err)
	for _, thread := range threads {
		u.wakeups += c.procField(thread, "voluntary_ctxt_switches:")
	}
	return u
}

// procField returns the number in the line of a file in /proc that begins with a name.
func (c *contest) procField(path, name string) int64 {
	text, err := os.ReadFile(path)
	require.NoError(c, err)
	for line := range strings.Lines(string(text)) {
		if after, found := strings.CutPrefix(line, name); found {
			n, err := strconv.ParseInt(strings.Fields(after)[0], 10, 64)
			require.NoError(c, err)
			return n
		}
	}
	require.Failf(c, "no line", "%s has no %s", path, name)
	return 0
}

// createIdlePods creates the pods of an idle node and waits until they run.
func (c *contest) createIdlePods(node string) {
	names := podNames("idle-"+node, idlePods)
	for _, name := range names {
		_, err := c.admin.Create(c.Context(), c.makePod(node, name, true))
		require.NoError(c, err)
	}
	c.seen[node].waitUntil(c.T, "all Running", func(e seenPod) bool {
		if i := slices.Index(names, e.Object.Name); i >= 0 && e.Object.Status.Phase == v1.PodRunning {
			names = slices.Delete(names, i, i+1)
		}
		return len(names) == 0
	})
}

// measureIdle compares the processor time and the memory of nodes with idle pods.
func (c *contest) measureIdle() {
	nodes := []string{oursNode, kubeletNode}
	c.sleepFor(30 * time.Second) // After the start of the processes.
	var empty [2]processUsage
	for i, node := range nodes {
		empty[i] = c.processUsage(node)
		c.createIdlePods(node)
	}
	c.sleepFor(30 * time.Second)
	_, from := auditRequests(c.T, filepath.Join(c.lab.Dir(), "audit.log"), 0)
	var first [2]processUsage
	for i, node := range nodes {
		first[i] = c.processUsage(node)
	}
	before, began := readLoad(), time.Now()
	c.sleepFor(*kubeletIdle)
	took := time.Since(began)
	var rss, perPod, share, wakeups, written, calls [2]float64
	for i, node := range nodes {
		now := c.processUsage(node)
		made := c.madeBy(node, from)
		maps.DeleteFunc(made, func(call string, _ int) bool { return strings.HasPrefix(call, "watch ") }) // Each watch starts again after 5 to 10 minutes.
		rss[i], perPod[i] = float64(now.rss)/1e6, float64(now.rss-empty[i].rss)/idlePods/1e3
		share[i], calls[i] = 100*(now.cpu-first[i].cpu).Seconds()/took.Seconds(), float64(sumCounts(made))/took.Minutes()
		wakeups[i] = float64(now.wakeups-first[i].wakeups) / took.Seconds()
		written[i] = float64(now.written-first[i].written) / idlePods / took.Hours()
		c.Logf("%s with %d pods at rest for %v: %v", sideName(node), idlePods, took.Round(time.Second), made)
	}
	fsyncs := [2]string{c.fsyncsPerPodAndHour(oursNode), c.fsyncsPerPodAndHour(kubeletNode)}
	c.Logf("| resident memory with %d pods, MB | | %.1f | %.1f | %s |", idlePods, rss[0], rss[1], formatTarget(rss[0], 55))
	c.Logf("| growth of the resident memory by a pod, kB | | %.0f | %.0f | |", perPod[0], perPod[1])
	c.Logf("| processor with %d pods, %% of a core | | %.2f | %.2f | %s |", idlePods, share[0], share[1], formatTarget(share[0], 0.3))
	c.Logf("| wake-ups of threads per second with %d pods | | %.1f | %.1f | %s |", idlePods, wakeups[0], wakeups[1], formatTarget(wakeups[0], wakeups[1]))
	c.Logf("| bytes written to disk per pod and hour, at rest | | %.0f | %.0f | %s |", written[0], written[1], formatTarget(written[0], written[1]))
	c.Logf("| fsyncs per pod and hour, at rest | | %s | %s | |", fsyncs[0], fsyncs[1])
	c.Logf("| requests per minute with %d pods, but restarted watches | | %.1f | %.1f | %s |", idlePods, calls[0], calls[1], formatTarget(calls[0], calls[1]))
	c.Log("load", before, "to", readLoad())
}

// fsyncsPerPodAndHour counts the fsyncs of a node's process for a minute. It returns a dash without strace.
func (c *contest) fsyncsPerPodAndHour(node string) string {
	if _, err := exec.LookPath("strace"); err != nil {
		return "–"
	}
	trace := filepath.Join(c.TempDir(), "fsync")
	cmd := exec.Command("strace", "-f", "-qq", "-e", "trace=fsync,fdatasync,syncfs", "-e", "signal=none", "-o", trace, "-p", strconv.Itoa(c.processes[node].pid))
	require.NoError(c, cmd.Start())
	c.sleepFor(time.Minute)
	require.NoError(c, cmd.Process.Signal(os.Interrupt))
	_ = cmd.Wait() // It exits by the signal.
	text, err := os.ReadFile(trace)
	require.NoError(c, err)
	// A call that another thread interrupts has a second line, which names no arguments.
	return strconv.Itoa(bytes.Count(text, []byte("sync(")) * 60 / idlePods)
}
