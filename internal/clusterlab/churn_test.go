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
	c.prepare()
	ctx, end := context.WithCancel(t.Context())
	var beside sync.WaitGroup
	defer func() { end(); beside.Wait() }()
	beside.Go(func() { c.court.run(ctx) })
	for i := range *kills {
		c.round(i)
	}
	c.scaled()
	c.calm("the last kill")
	t.Logf("killed: %v; done meanwhile: %v", c.killed, c.people.done)
	c.leave()
}

// churn is one run.
type churn struct {
	*onContainerd
	random *rand.Rand
	people *people
	court  *court
	killed map[string]int // how often each program was
}

// prepare makes the pods that stay.
func (c *churn) prepare() {
	manifest := fmt.Sprintf(`{apiVersion: v1, kind: Pod, metadata: {name: dns, namespace: default}, spec: {terminationGracePeriodSeconds: 1, containers: [{name: c, image: %q, command: [sleep, 1h]}]}}`, c.images[0])
	require.NoError(c, os.WriteFile(filepath.Join(c.manifests, "dns.yaml"), []byte(manifest), 0o600))
	c.apply(deployment)
	for _, name := range []string{"stay-0", "stay-1"} {
		require.NoError(c, c.people.create(c.Context(), name, "sleep 3600", v1.RestartPolicyAlways))
	}
	require.NoError(c, c.people.create(c.Context(), "crash", "sleep 4; exit 1", v1.RestartPolicyAlways))
	c.rolledOut("deployment/web")
	c.kubectl("wait", "--for=condition=Ready", "pod/stay-0", "pod/stay-1", "pod/dns-n1", "--timeout=60s")
}

// upTo is a random time.
func (c *churn) upTo(d time.Duration) time.Duration {
	return time.Duration(c.random.Float64() * float64(d))
}

// round kills some of the programs amid changes, and starts them again.
func (c *churn) round(i int) {
	ctx, end := context.WithCancel(c.Context())
	var beside sync.WaitGroup
	beside.Go(func() { c.people.work(ctx) })
	pause(ctx, 500*time.Millisecond+c.upTo(3*time.Second))
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
	pause(ctx, c.upTo(2*time.Second))
	c.revive(programs)
	pause(ctx, c.upTo(2*time.Second))
	end()
	beside.Wait()
	if i%calmEvery == calmEvery-1 {
		c.calm(fmt.Sprintf("kill %d", i))
	}
	c.Logf("kill %d, of %v, took %v", i, programs, time.Since(began).Round(time.Millisecond))
	require.Empty(c, c.court.found())
}

// revive starts the killed programs. The agent may start first, and is then perhaps killed again while it starts.
func (c *churn) revive(programs []string) {
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
		pause(c.Context(), c.upTo(time.Second))
		c.killed["agent"]++
		c.kill()
		c.start()
	}
}

// calm waits until the machine has what the server has, and the server says so.
func (c *churn) calm(after string) {
	c.Helper()
	began := time.Now()
	for last := ""; ; {
		why, pods := c.court.unsettled(c.Context())
		if why == "" {
			why = c.people.lost(pods)
		}
		if why == "" {
			break
		}
		if why != last {
			last = why
			c.Logf("after %v: %s", time.Since(began).Round(time.Millisecond), why)
		}
		require.Less(c, time.Since(began), joinLimit, "%s: %s", after, why)
		pause(c.Context(), 200*time.Millisecond)
	}
	c.Logf("%s: all is as it should be after %v", after, time.Since(began).Round(time.Millisecond))
}

// scaled waits until the deployment has the requested number of pods. After the server was killed, the controllers
// and the status of the deployment may be half a minute late, so the pods are counted.
func (c *churn) scaled() {
	c.Helper()
	c.rolledOut("deployment/web")
	want := strings.TrimSpace(c.kubectl("get", "deployment", "web", "-o", "jsonpath={.spec.replicas}"))
	for began := time.Now(); ; pause(c.Context(), 500*time.Millisecond) {
		set := c.kubectl("get", "replicasets", "-l", "app=web", "-o", "jsonpath={.items[*].spec.replicas} {.items[*].status.replicas} {.items[*].metadata.generation} {.items[*].status.observedGeneration}")
		pods := c.kubectl("get", "pods", "-l", "app=web", "-o", "name")
		if f := strings.Fields(set); len(f) == 4 && f[0] == want && f[1] == want && f[2] == f[3] && strconv.Itoa(strings.Count(pods, "pod/")) == want {
			return
		}
		require.Less(c, time.Since(began), joinLimit, "expected %s, the set says %s (desired, there, generation, observed), and the server has\n%s", want, set, pods)
	}
}

// leave deletes everything, and nothing is left.
func (c *churn) leave() {
	before, err := c.court.ran(c.Context())
	require.NoError(c, err)
	pause(c.Context(), 5*time.Second)
	after, err := c.court.ran(c.Context())
	require.NoError(c, err)
	crash := func(r ran) bool { return r.pod == "crash" }
	assert.ElementsMatch(c, slices.DeleteFunc(before, crash), slices.DeleteFunc(after, crash), "at rest")
	require.Empty(c, c.court.found())
	require.NoError(c, os.Remove(filepath.Join(c.manifests, "dns.yaml")))
	c.kubectl("delete", "deployment", "web")
	c.kubectl("delete", "pods", "--all")
	c.running()
	require.Eventually(c, func() bool {
		left, err := c.court.ran(c.Context())
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

// lost says which pods are not there and should be.
func (p *people) lost(there []*v1.Pod) (why string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for uid, name := range p.mine {
		if !slices.ContainsFunc(there, func(pod *v1.Pod) bool { return string(pod.UID) == uid }) {
			why += fmt.Sprintf("%s %s is gone, and no one has deleted it; ", name, uid)
		}
	}
	return why
}

func (p *people) create(ctx context.Context, name, script string, policy v1.RestartPolicy) error {
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

// remove deletes whatever pod has the name.
func (p *people) remove(ctx context.Context, name string, grace int64) error {
	ctx, cancel := context.WithTimeout(ctx, 5*time.Second)
	defer cancel()
	p.mu.Lock()
	maps.DeleteFunc(p.mine, func(_, of string) bool { return of == name })
	p.mu.Unlock()
	return p.admin.Delete(ctx, &v1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: name}}, &grace)
}

// work changes something until ctx ends.
func (p *people) work(ctx context.Context) {
	for ; ctx.Err() == nil; pause(ctx, time.Duration(50+p.random.IntN(400))*time.Millisecond) {
		what, err := p.one(ctx)
		if err != nil {
			what += " (refused or not answered)"
		}
		p.done[what]++
	}
}

func (p *people) one(ctx context.Context) (what string, err error) {
	name, grace := fmt.Sprint("p-", p.random.IntN(4)), int64(p.random.IntN(3))
	switch p.random.IntN(8) {
	case 0, 1:
		return "create", p.create(ctx, name, "sleep 3600", v1.RestartPolicyAlways)
	case 2:
		return "delete", p.remove(ctx, name, grace+1)
	case 3, 4:
		if err := p.remove(ctx, name, 0); err != nil {
			return "force-delete and recreate", err
		}
		return "force-delete and recreate", p.create(ctx, name, "sleep 3600", v1.RestartPolicyAlways)
	case 5:
		p.jobs++
		if p.jobs > 4 {
			_ = p.remove(ctx, jobName(p.jobs-4), grace) // It may be gone.
		}
		return "job", p.create(ctx, jobName(p.jobs), fmt.Sprintf("sleep 0.5; exit %d", len(jobName(p.jobs))%2), v1.RestartPolicyNever)
	case 6:
		return "scale", p.scale(ctx, 1+int32(p.random.IntN(4)))
	}
	return "delete the mirror", p.remove(ctx, "dns-n1", grace)
}

// jobName is one whose length says whether it fails.
func jobName(n int) string { return fmt.Sprintf("job-%03d", n) + strings.Repeat("x", n%2) }

func (p *people) scale(ctx context.Context, replicas int32) error {
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
