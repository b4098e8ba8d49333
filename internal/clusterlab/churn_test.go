//go:build linux

package clusterlab_test

import (
	"context"
	"flag"
	"fmt"
	"maps"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	appsv1 "k8s.io/api/apps/v1"
	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/podkeel/podkeel/internal/e2e"
)

var kills = flag.Int("kills", 10, "how often TestChurn kills agent, kube-apiserver and etcd, some of them or all")

// calmEvery is after how many kills everything may come to rest once. In between one kill
// comes upon another.
const calmEvery = 5

// TestChurn: pods are created and deleted while the agent, kube-apiserver and etcd are killed at random moments, alone
// and together. The machine runs exactly the pods of the server, each once. No pod is stopped or restarted without a
// request, and no status goes backwards.
func TestChurn(t *testing.T) {
	t.Parallel() // TestAudit waits most of its time, and TestChurn a good part.
	from := *seed
	if from == 0 {
		from = uint64(time.Now().UnixNano())
	}
	t.Logf("go test -run '^TestChurn$' -cluster -kills %d -seed %d", *kills, from)
	c := &churn{onContainerd: joinContainerd(t, e2e.Containerd2), random: rand.New(rand.NewPCG(from, 0)), killed: map[string]int{}}
	c.people = newPeople(c.onContainerd, rand.New(rand.NewPCG(from, 1)))
	c.court = &court{
		seen: c.seen, runtime: c.machine, keep: func(name string) bool { return strings.HasPrefix(name, "stay-") || name == "dns-n1" },
		judge: judge{
			restarts: func(name string) bool { return name == "crash" },
			ends:     func(name string) bool { return strings.HasPrefix(name, "job-") },
		},
	}
	c.createStablePods()
	ctx, end := context.WithCancel(t.Context())
	var beside sync.WaitGroup
	defer func() { end(); beside.Wait() }()
	beside.Go(func() { c.court.collectStates(ctx) })
	for i := range *kills {
		c.killAndRestart(i)
	}
	c.waitForReplicas()
	c.waitForSettled("the last kill")
	t.Logf("killed: %v; done meanwhile: %v", c.killed, c.people.done)
	c.deleteEverything()
}

// churn is one run.
type churn struct {
	*onContainerd
	random *rand.Rand
	people *people
	court  *court
	killed map[string]int // how often each program was
}

// createStablePods creates the pods that run until the end.
func (c *churn) createStablePods() {
	manifest := fmt.Sprintf(`{apiVersion: v1, kind: Pod, metadata: {name: dns, namespace: default}, spec: {terminationGracePeriodSeconds: 1, containers: [{name: c, image: %q, command: [sleep, 1h]}]}}`, c.images[0])
	require.NoError(c, os.WriteFile(filepath.Join(c.manifests, "dns.yaml"), []byte(manifest), 0o600))
	c.applyManifest(deployment)
	for _, name := range []string{"stay-0", "stay-1"} {
		require.NoError(c, c.people.createPod(c.Context(), name, "sleep 3600", v1.RestartPolicyAlways))
	}
	require.NoError(c, c.people.createPod(c.Context(), "crash", "sleep 4; exit 1", v1.RestartPolicyAlways))
	c.rolledOut("deployment/web")
	c.kubectl("wait", "--for=condition=Ready", "pod/stay-0", "pod/stay-1", "pod/dns-n1", "--timeout=60s")
}

// randomTime returns a random duration below d.
func (c *churn) randomTime(d time.Duration) time.Duration {
	return time.Duration(c.random.Float64() * float64(d))
}

// killAndRestart kills some of the programs while pods change, and starts them again.
func (c *churn) killAndRestart(i int) {
	ctx, end := context.WithCancel(c.Context())
	var beside sync.WaitGroup
	beside.Go(func() { c.people.changePods(ctx) })
	sleepContext(ctx, 500*time.Millisecond+c.randomTime(3*time.Second))
	began := time.Now()
	programs := []string{"agent", "server", "etcd"}
	if some := c.random.IntN(8); some > 0 { // All of them if it is 0 or 7.
		programs = slices.DeleteFunc(programs, func(name string) bool { return some>>slices.Index([]string{"agent", "server", "etcd"}, name)&1 == 0 })
	}
	c.random.Shuffle(len(programs), func(i, j int) { programs[i], programs[j] = programs[j], programs[i] })
	for _, name := range programs {
		c.killed[name]++
		map[string]func(){"agent": func() { c.kill() }, "server": c.lab.KillServer, "etcd": c.lab.KillEtcd}[name]()
	}
	sleepContext(ctx, c.randomTime(2*time.Second))
	c.startPrograms(programs)
	sleepContext(ctx, c.randomTime(2*time.Second))
	end()
	beside.Wait()
	if i%calmEvery == calmEvery-1 {
		c.waitForSettled(fmt.Sprintf("kill %d", i))
	}
	c.Logf("kill %d, of %v, took %v", i, programs, time.Since(began).Round(time.Millisecond))
	require.Empty(c, c.court.violations())
}

// startPrograms starts the killed programs. The agent may start first. It may also be killed again while it starts.
func (c *churn) startPrograms(programs []string) {
	agent := slices.Contains(programs, "agent")
	first := agent && c.random.IntN(2) == 0
	if first {
		c.start()
	}
	if slices.Contains(programs, "etcd") {
		require.NoError(c, c.lab.StartEtcd())
	}
	if slices.Contains(programs, "server") {
		require.NoError(c, c.lab.StartServer(c.Context()))
	} else {
		require.NoError(c, c.lab.WaitServer(c.Context()))
	}
	if agent && !first {
		c.start()
	}
	if agent && c.random.IntN(3) == 0 {
		sleepContext(c.Context(), c.randomTime(time.Second))
		c.killed["agent"]++
		c.kill()
		c.start()
	}
}

// waitForSettled waits until the machine runs the pods of the server, and the server shows them as running.
func (c *churn) waitForSettled(after string) {
	c.Helper()
	began := time.Now()
	for last := ""; ; {
		why, pods := c.court.findUnsettled(c.Context())
		if why == "" {
			why = c.people.missingPods(pods)
		}
		if why == "" {
			break
		}
		if why != last {
			last = why
			c.Logf("after %v: %s", time.Since(began).Round(time.Millisecond), why)
		}
		require.Less(c, time.Since(began), joinLimit, "%s: %s", after, why)
		sleepContext(c.Context(), 200*time.Millisecond)
	}
	c.Logf("%s: all is as it should be after %v", after, time.Since(began).Round(time.Millisecond))
}

// waitForReplicas waits until the deployment has the requested number of pods. After the server was killed, the controllers
// and the status of the deployment may be half a minute late, so the pods are counted.
func (c *churn) waitForReplicas() {
	c.Helper()
	c.rolledOut("deployment/web")
	want := strings.TrimSpace(c.kubectl("get", "deployment", "web", "-o", "jsonpath={.spec.replicas}"))
	for began := time.Now(); ; sleepContext(c.Context(), 500*time.Millisecond) {
		set := c.kubectl("get", "replicasets", "-l", "app=web", "-o", "jsonpath={.items[*].spec.replicas} {.items[*].status.replicas} {.items[*].metadata.generation} {.items[*].status.observedGeneration}")
		pods := c.kubectl("get", "pods", "-l", "app=web", "-o", "name")
		if f := strings.Fields(set); len(f) == 4 && f[0] == want && f[1] == want && f[2] == f[3] && strconv.Itoa(strings.Count(pods, "pod/")) == want {
			return
		}
		require.Less(c, time.Since(began), joinLimit, "expected %s, the set says %s (desired, there, generation, observed), and the server has\n%s", want, set, pods)
	}
}

// deleteEverything deletes all pods and waits until no container runs.
func (c *churn) deleteEverything() {
	before, err := c.court.runningContainers(c.Context())
	require.NoError(c, err)
	sleepContext(c.Context(), 5*time.Second)
	after, err := c.court.runningContainers(c.Context())
	require.NoError(c, err)
	crash := func(r ran) bool { return r.pod == "crash" }
	assert.ElementsMatch(c, slices.DeleteFunc(before, crash), slices.DeleteFunc(after, crash), "at rest")
	require.Empty(c, c.court.violations())
	require.NoError(c, os.Remove(filepath.Join(c.manifests, "dns.yaml")))
	c.kubectl("delete", "deployment", "web")
	c.kubectl("delete", "pods", "--all")
	c.waitForRunning()
	require.Eventually(c, func() bool {
		left, err := c.court.runningContainers(c.Context())
		return err == nil && len(left) == 0
	}, joinLimit, 200*time.Millisecond)
}

// people change pods all the time. What a server that is being killed does not answer may or
// may not have been done.
type people struct {
	*onContainerd
	random *rand.Rand
	jobs   int
	done   map[string]int

	mu   sync.Mutex
	mine map[string]string // names of pods that were created and not deleted, by UID
}

func newPeople(o *onContainerd, random *rand.Rand) *people {
	return &people{onContainerd: o, random: random, done: map[string]int{}, mine: map[string]string{}}
}

// missingPods names the pods that the server lacks although they were created and not deleted.
func (p *people) missingPods(there []*v1.Pod) (why string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for uid, name := range p.mine {
		if !slices.ContainsFunc(there, func(pod *v1.Pod) bool { return string(pod.UID) == uid }) {
			why += fmt.Sprintf("%s %s is gone, and no one has deleted it; ", name, uid)
		}
	}
	return why
}

func (p *people) createPod(ctx context.Context, name, script string, policy v1.RestartPolicy) error {
	ctx, cancel := context.WithTimeout(ctx, 5*time.Second)
	defer cancel()
	made, err := p.admin.Create(ctx, &v1.Pod{
		ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: name},
		Spec: v1.PodSpec{
			NodeName: "n1", RestartPolicy: policy, TerminationGracePeriodSeconds: new(int64(1)),
			Containers: []v1.Container{{Name: "c", Image: p.images[0], Command: []string{"sh", "-c", script}}},
		},
	})
	if err == nil {
		p.mu.Lock()
		p.mine[string(made.GetUID())] = name
		p.mu.Unlock()
	}
	return err
}

// deletePod deletes the pod with a name, of any UID.
func (p *people) deletePod(ctx context.Context, name string, grace int64) error {
	ctx, cancel := context.WithTimeout(ctx, 5*time.Second)
	defer cancel()
	p.mu.Lock()
	maps.DeleteFunc(p.mine, func(_, of string) bool { return of == name })
	p.mu.Unlock()
	return p.admin.Delete(ctx, &v1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: name}}, &grace)
}

// changePods makes random changes until ctx ends.
func (p *people) changePods(ctx context.Context) {
	for ; ctx.Err() == nil; sleepContext(ctx, time.Duration(50+p.random.IntN(400))*time.Millisecond) {
		what, err := p.makeRandomChange(ctx)
		if err != nil {
			what += " (refused or not answered)"
		}
		p.done[what]++
	}
}

func (p *people) makeRandomChange(ctx context.Context) (what string, err error) {
	name, grace := fmt.Sprint("p-", p.random.IntN(4)), int64(p.random.IntN(3))
	switch p.random.IntN(8) {
	case 0, 1:
		return "create", p.createPod(ctx, name, "sleep 3600", v1.RestartPolicyAlways)
	case 2:
		return "delete", p.deletePod(ctx, name, grace+1)
	case 3, 4:
		if err := p.deletePod(ctx, name, 0); err != nil {
			return "force-delete and recreate", err
		}
		return "force-delete and recreate", p.createPod(ctx, name, "sleep 3600", v1.RestartPolicyAlways)
	case 5:
		p.jobs++
		if p.jobs > 4 {
			_ = p.deletePod(ctx, jobName(p.jobs-4), grace) // It may be gone.
		}
		return "job", p.createPod(ctx, jobName(p.jobs), fmt.Sprintf("sleep 0.5; exit %d", len(jobName(p.jobs))%2), v1.RestartPolicyNever)
	case 6:
		return "scale", p.scaleDeployment(ctx, 1+int32(p.random.IntN(4)))
	}
	return "delete the mirror", p.deletePod(ctx, "dns-n1", grace)
}

// jobName returns the name of a pod of a job. A name of odd length means that the job fails.
func jobName(n int) string { return fmt.Sprintf("job-%03d", n) + strings.Repeat("x", n%2) }

func (p *people) scaleDeployment(ctx context.Context, replicas int32) error {
	ctx, cancel := context.WithTimeout(ctx, 5*time.Second)
	defer cancel()
	web, err := p.admin.Get(ctx, &appsv1.Deployment{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "web"}})
	if err != nil {
		return err
	}
	web.(*appsv1.Deployment).Spec.Replicas = &replicas
	_, err = p.admin.Update(ctx, web)
	return err
}
