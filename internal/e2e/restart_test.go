//go:build linux

package e2e_test

import (
	"context"
	"flag"
	"fmt"
	"maps"
	"math/rand/v2"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	v1 "k8s.io/api/core/v1"
	cri "k8s.io/cri-api/pkg/apis/runtime/v1"

	"github.com/podkeel/podkeel/internal/e2e"
	"github.com/podkeel/podkeel/internal/executor"
)

var (
	kills = flag.Int("restarts", 0, "how often the agent is killed on each family of containerd, with no other tests beside; "+
		"containerd is killed three times for ten of these, both once, and the machine goes off once for twenty-five")
	seed = flag.Uint64("seed", 0, "of what is random in restarts; 0 is another one each time")
)

const (
	// calm is how long all may take to be as it ought to be after a crash, on a
	// machine that does much else.
	calm = 90 * time.Second
	// again is how long a new agent may take until every pod that runs is Ready
	// to it. Probes come once a second.
	again = 15 * time.Second
	// often is in how many rounds everything may calm down once. In between one
	// crash comes upon another.
	often = 10
	slots = 6 // pods that come, change and go
)

// Agent, containerd and machine crash at random moments while pods are added, changed and removed. No pod runs twice or
// without being desired, and no unchanged container starts again (I34 to I37).
func TestRestart(t *testing.T) {
	if *kills == 0 || *all {
		t.Skip("it needs the machine for itself: go test ./internal/e2e -run TestRestart -restarts 50")
	}
	from := *seed
	if from == 0 {
		from = uint64(real.Now().UnixNano())
	}
	t.Logf("go test ./internal/e2e -run TestRestart -restarts %d -seed %d", *kills, from)
	program := buildAgent(t)
	for _, version := range e2e.Versions() {
		t.Run(string(version), func(t *testing.T) {
			t.Parallel()
			c := e2e.Start(t, version)
			r := newRestarts(t, c, e2e.StartAgent(t, c, program), from)
			r.runCrashes(*kills)
		})
	}
}

// restarts is one run.
type restarts struct {
	*testing.T
	c      *e2e.Containerd
	agent  *e2e.Agent
	cri    cri.RuntimeServiceClient
	watch  *watch
	random *rand.Rand
	counts string            // a directory in which starts are counted
	want   map[string]wanted // by name
	number int               // of manifests that were written
	died   []float64         // when containerd did, by the machine's clock
	off    []float64         // when the machine was
	slain  []time.Time       // when the agent was
}

// wanted is a pod that there ought to be.
type wanted struct {
	gen   string
	shape shape
}

func newRestarts(t *testing.T, c *e2e.Containerd, a *e2e.Agent, seed uint64) *restarts {
	client := cri.NewRuntimeServiceClient(c.Conn())
	return &restarts{
		T: t, c: c, agent: a, cri: client, counts: t.TempDir(), want: map[string]wanted{},
		watch:  &watch{agent: a, cri: client, wrong: map[string]bool{}, counts: map[string]int32{}, been: map[string]int{}, over: map[string]string{}, want: map[string]string{}, excused: map[string]bool{}, linger: map[string]string{}},
		random: rand.New(rand.NewPCG(seed, 0)),
	}
}

func (r *restarts) runCrashes(kills int) {
	for _, s := range steady {
		r.writePod(s.name, s)
	}
	r.waitForDesired("the start")
	ctx, end := context.WithCancel(r.Context())
	group := executor.NewGroup(real)
	group.Go(func() { r.watch.pollUntilDone(ctx) })
	defer func() { end(); group.Wait() }()
	for i, crash := range r.shuffleCrashes(kills) {
		r.crashOnce(fmt.Sprintf("round %d, %s", i, crash.name), crash, i%often == often-1)
	}
	r.waitForDesired("the last crash")
	r.removeAllPods()
}

// crash is something that goes wrong.
type crash struct {
	name   string
	how    func()
	reboot bool
}

// shuffleCrashes returns all crashes in a random order.
func (r *restarts) shuffleCrashes(kills int) (all []crash) {
	add := func(n int, c crash) { all = append(all, slices.Repeat([]crash{c}, n)...) }
	add(kills, crash{"the agent dies", r.killAgent, false})
	add((kills*3+9)/10, crash{"containerd dies", r.killContainerd, false})
	add((kills+9)/10, crash{"both die", r.killBoth, false})
	add((kills+24)/25, crash{"the machine goes off", r.rebootMachine, true})
	r.random.Shuffle(len(all), func(i, j int) { all[i], all[j] = all[j], all[i] })
	return all
}

// crashOnce makes one crash while pods change. Every pod that ran before and was not changed still runs, and is Ready.
func (r *restarts) crashOnce(name string, crash crash, calm bool) {
	before := r.runningIDs()
	from := real.Now()
	r.changePods(600 * time.Millisecond)
	crash.how()
	crashed := real.Now()
	if !crash.reboot {
		r.readyAgain(name)
	}
	back := real.Now()
	var late []string
	if calm || crash.reboot {
		late = r.waitForDesired(name)
	}
	r.watch.allowNotReady(false)
	r.Logf("%s: after %s, Ready again %s, calm %s later, the last was %.200s", name, crashed.Sub(from).Round(time.Millisecond),
		back.Sub(crashed).Round(time.Millisecond), real.Now().Sub(back).Round(time.Millisecond), late)
	if !crash.reboot {
		require.Equal(r, before, r.runningIDs(), "%s: something was started again", name)
	}
	require.Empty(r, r.watch.findFaults(), name)
}

// The crashes. Pods change while something is down, too.

func (r *restarts) killAgent() {
	r.endAgent()
	r.changePods(200 * time.Millisecond)
	r.startAgent()
}

func (r *restarts) killContainerd() {
	r.endContainerd()
	r.changePods(300 * time.Millisecond)
	r.c.Restart()
}

func (r *restarts) killBoth() {
	r.eitherFirst(r.endAgent, r.endContainerd)
	r.changePods(200 * time.Millisecond)
	r.eitherFirst(r.startAgent, r.c.Restart)
}

func (r *restarts) rebootMachine() {
	r.watch.allowNotReady(true)
	r.endAgent()
	r.off = append(r.off, r.readUptime())
	r.c.Reboot()
	r.changePods(200 * time.Millisecond)
	r.eitherFirst(r.startAgent, r.c.Restart)
}

func (r *restarts) endContainerd() {
	r.died = append(r.died, r.readUptime())
	r.c.Kill()
}

func (r *restarts) endAgent() {
	r.slain = append(r.slain, real.Now())
	r.agent.Kill()
}

func (r *restarts) startAgent() {
	r.watch.countAgentStart()
	r.agent.Start()
}

// eitherFirst does two things in a random order, and waits a while in between.
func (r *restarts) eitherFirst(one, other func()) {
	if r.random.IntN(2) == 0 {
		one, other = other, one
	}
	one()
	r.sleepRandom(200 * time.Millisecond)
	other()
}

// sleepRandom sleeps for a random time below most.
func (r *restarts) sleepRandom(most time.Duration) {
	_ = real.Sleep(r.Context(), time.Duration(r.random.Int64N(int64(most))))
}

// changePods writes, changes and removes pods for a random time below most.
func (r *restarts) changePods(most time.Duration) {
	end := real.Now().Add(time.Duration(r.random.Int64N(int64(most))))
	for real.Now().Before(end) {
		name := fmt.Sprintf("c%d", r.random.IntN(slots))
		if _, there := r.want[name]; there && r.random.IntN(2) == 0 {
			r.removePod(name)
		} else {
			r.writePod(name, churned[r.random.IntN(len(churned))])
		}
		r.sleepRandom(150 * time.Millisecond)
	}
}

func (r *restarts) writePod(name string, s shape) {
	r.number++
	gen, image := fmt.Sprintf("g%d", r.number), r.c.Registry.Image()
	if r.random.IntN(2) == 0 {
		image = r.c.Registry.NextImage()
	}
	r.want[name] = wanted{gen, s}
	r.watch.setDesired(name, gen)
	r.agent.Write(name+".yaml", s.renderManifest(name, gen, image, r.counts))
}

func (r *restarts) removePod(name string) {
	delete(r.want, name)
	r.watch.setDesired(name, "")
	r.agent.Remove(name + ".yaml")
}

// runningIDs returns the IDs of the running containers that the test does not change. It leaves out crash loops, whose
// containers change by themselves.
func (r *restarts) runningIDs() map[string]string {
	pods := map[string]bool{}
	for _, s := range steady {
		pods[s.name+"-"+e2e.NodeName] = true
	}
	t, err := listRecords(r.cri)
	require.NoError(r, err)
	ids := t.runningIDs(pods)
	delete(ids, "crash-"+e2e.NodeName+"/a")
	return ids
}

// readyAgain waits until the agent reports Ready for every running pod that the test does not change.
func (r *restarts) readyAgain(when string) {
	r.Helper()
	r.awaitNothingMissing(when+": Ready again", again, func(pods map[string]*v1.Pod, _ truth) (missing []string) {
		for _, s := range steady {
			if p := pods[s.name]; s.kind != comes && (p == nil || !s.settled(p)) {
				missing = append(missing, s.name)
			}
		}
		return missing
	})
}

// waitForDesired waits until every pod is in its desired state and nothing else runs. It returns the last reasons why
// it had to wait.
func (r *restarts) waitForDesired(when string) []string {
	r.Helper()
	return r.waitForCalm(when+": calm", func(pods map[string]*v1.Pod, t truth) (missing []string) {
		wanted := map[string]bool{}
		for name, p := range pods {
			wanted[string(p.UID)] = true
			if _, ok := r.want[name]; !ok {
				missing = append(missing, name+" is not wanted")
			}
		}
		for name, w := range r.want {
			if p := pods[name]; p == nil || p.Labels["gen"] != w.gen || p.DeletionTimestamp != nil || !w.shape.settled(p) {
				missing = append(missing, fmt.Sprintf("%s, a %s of %s, is not as it ought to be: %s", name, w.shape.name, w.gen, describePod(p)))
			}
		}
		return append(missing, t.findOrphans(wanted, false)...)
	})
}

// awaitNothingMissing waits until nothing is missing.
func (r *restarts) awaitNothingMissing(what string, within time.Duration, missing func(map[string]*v1.Pod, truth) []string) {
	r.Helper()
	if _, now := r.pollMissing(within, missing); len(now) > 0 {
		r.Fatalf("not within %s: %s:\n%s\n%v", within, what, strings.Join(now, "\n"), r.watch.findFaults())
	}
}

// pollMissing waits until nothing is missing. It returns the last list that was not empty, and the list at the end, which is
// not empty after a timeout.
func (r *restarts) pollMissing(within time.Duration, missing func(map[string]*v1.Pod, truth) []string) (last, now []string) {
	for end := real.Now().Add(within); ; {
		pods, err := r.agent.Pods()
		var t truth
		if err == nil {
			t, err = listRecords(r.cri)
		}
		if now = []string{fmt.Sprint(err)}; err == nil {
			now = missing(pods, t)
		}
		if len(now) == 0 || real.Now().After(end) {
			return last, now
		}
		last = now
		_ = real.Sleep(r.Context(), 20*time.Millisecond)
	}
}

// removeAllPods removes all pods. It requires that nothing of them is left and that no job has run twice.
func (r *restarts) removeAllPods() {
	r.Helper()
	for _, name := range slices.Sorted(maps.Keys(r.want)) {
		r.removePod(name)
	}
	r.waitForCalm("the end: nothing is left", func(pods map[string]*v1.Pod, t truth) []string {
		left := t.findOrphans(nil, true)
		for name := range pods {
			left = append(left, name)
		}
		_, held := r.remainingLeases()
		left = append(left, held...)
		for _, file := range []string{r.agent.State + "/pods/*", r.agent.State + "/logs/*", r.agent.State + "/ended/*", r.c.Dir + "/state/netns/*"} {
			found, _ := filepath.Glob(file)
			left = append(left, found...)
		}
		return left
	})
	require.Empty(r, r.watch.findFaults(), "the end")
	nobodys, _ := r.remainingLeases()
	for _, what := range nobodys {
		r.Log("the agent died while an address was taken, and nobody can give it back: " + what)
	}
	r.Logf("what nobody wanted was gone after %s at the latest", r.watch.oldest.Round(time.Millisecond))
	r.checkJobs()
}

// remainingLeases returns the addresses that are still taken: those that no program can give back (TestLease), and the others.
func (r *restarts) remainingLeases() (nobodys, left []string) {
	for file, id := range readLeases(r.T, r.c) {
		what := fmt.Sprintf("%s is held for sandbox %s, of which containerd says:\n%s", file, id, strings.Join(r.c.Said(id), "\n"))
		if cutOff(r.c, id, r.slain) {
			nobodys = append(nobodys, what)
		} else {
			left = append(left, what)
		}
	}
	return nobodys, left
}

// describePod describes a pod that is not in the desired state, for the failure message.
func describePod(p *v1.Pod) string {
	if p == nil {
		return "there is none"
	}
	return fmt.Sprintf("%s, deleted %v, %+v", p.Labels["gen"], p.DeletionTimestamp, p.Status)
}
