//go:build linux

package e2e_test

import (
	"context"
	"fmt"
	"sync"
	"time"

	v1 "k8s.io/api/core/v1"
	cri "k8s.io/cri-api/pkg/apis/runtime/v1"

	"github.com/podkeel/podkeel/internal/e2e"
	"github.com/podkeel/podkeel/syncloop"
)

// watch looks at the agent and the runtime the whole time, and notes what must
// never be.
type watch struct {
	agent *e2e.Agent
	cri   cri.RuntimeServiceClient

	mu     sync.Mutex
	life   int               // of the agent: how often it was started
	wrong  map[string]bool   // faults
	counts map[string]int32  // restart counts, by UID and container
	been   map[string]int    // the life in which a steady pod has been Ready
	over   map[string]string // how pods were that were over, by UID
	loose  bool              // Ready is no matter now

	want    map[string]string    // the word of each pod that there ought to be, by name
	orphans map[string]time.Time // since when a sandbox of no such pod is there
	oldest  time.Duration        // that one has become
	excused map[string]bool      // sandboxes that containerd does not end
	linger  map[string]string    // faults of sandboxes that exist for too long
}

// lingers is how long a sandbox of an undesired pod may exist, whatever crashes meanwhile. Rounds take a second or two.
const lingers = calm / 2

func (w *watch) pollUntilDone(ctx context.Context) {
	for ctx.Err() == nil {
		w.askAgent()
		if t, err := listRecords(w.cri); err == nil {
			w.recordFaults(t.findDoubles()...)
			w.checkAges(t, real.Now())
		}
		_ = real.Sleep(ctx, 50*time.Millisecond)
	}
}

func (w *watch) recordFaults(wrong ...string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	for _, what := range wrong {
		w.wrong[what] = true
	}
}

// setDesired sets the desired generation of a pod. An empty generation means that the pod is not desired.
func (w *watch) setDesired(name, gen string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.want[name+"-"+e2e.NodeName] = gen
}

// isDesired reports whether a sandbox belongs to the desired generation of a pod.
func (w *watch) isDesired(s *cri.PodSandbox) bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.isDesiredLocked(s)
}

func (w *watch) isDesiredLocked(s *cri.PodSandbox) bool {
	pod, _ := podOfLabels(s.GetLabels())
	return s.GetLabels()["gen"] == w.want[pod]
}

// excuseSandboxes excludes sandboxes that containerd cannot stop from the check of the age.
func (w *watch) excuseSandboxes(ids []string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	for _, id := range ids {
		w.excused[id] = true
	}
}

// checkAges finds sandboxes of undesired pods, with all their containers, that exist for too long (I34).
func (w *watch) checkAges(t truth, now time.Time) {
	w.mu.Lock()
	defer w.mu.Unlock()
	seen := map[string]time.Time{}
	for _, s := range t.sandboxes {
		id := s.GetId()
		if !isUp(s) || w.isDesiredLocked(s) || w.excused[id] {
			continue
		}
		since, known := w.orphans[id]
		if !known {
			since = now
		}
		seen[id] = since
		w.oldest = max(w.oldest, now.Sub(since))
		if now.Sub(since) > lingers {
			pod, _ := podOfLabels(s.GetLabels())
			w.linger[id] = fmt.Sprintf("sandbox %s of %s, which nobody wants, has been there for more than %s", id, pod, lingers)
		}
	}
	w.orphans = seen
}

// countAgentStart records that another agent starts. The caller must call it after the end of the former agent and
// before the start.
func (w *watch) countAgentStart() {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.life++
}

// allowNotReady sets whether any pod may be not Ready, because the machine was switched off.
func (w *watch) allowNotReady(loose bool) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.loose = loose
}

// askAgent compares the agent's statuses with the earlier ones.
func (w *watch) askAgent() {
	w.mu.Lock()
	life := w.life
	w.mu.Unlock()
	pods, err := w.agent.Pods()
	if err != nil {
		return
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.life != life {
		return // Who answered is not known.
	}
	for name, p := range pods {
		if p.Status.Reason == syncloop.ReasonNotDesired {
			continue // A new agent shows what it finds before it has read the manifests.
		}
		w.countsLocked(name, p)
		w.readyLocked(name, p)
		w.phaseLocked(name, p)
	}
}

// countsLocked checks that restart counts never fall. It accepts one case: a container exited while no agent ran. The
// agent counts that exit before it starts the container again. If the agent dies between the two, no record shows the
// count to the next agent, and there is no API server that does.
func (w *watch) countsLocked(name string, p *v1.Pod) {
	for _, list := range [...][]v1.ContainerStatus{p.Status.InitContainerStatuses, p.Status.ContainerStatuses} {
		for i := range list {
			key, now := string(p.UID)+"/"+list[i].Name, list[i].RestartCount
			// A pod that has not been synced yet has no container IDs.
			if before := w.counts[key]; now < before && list[i].ContainerID != "" {
				w.wrong[fmt.Sprintf("the restart count of %s/%s fell from %d to %d", name, list[i].Name, before, now)] = true
			}
			if list[i].State.Running != nil || !unseenEnd(&list[i]) {
				w.counts[key] = max(now, w.counts[key])
			}
		}
	}
}

// unseenEnd reports whether no agent observed the newest exit of a container.
func unseenEnd(s *v1.ContainerStatus) bool {
	end := s.State.Terminated
	if end == nil {
		end = s.LastTerminationState.Terminated
	}
	return end != nil && end.Reason == "ContainerStatusUnknown"
}

// readyLocked checks that an unchanged pod that was Ready stays Ready as long as the agent lives (CS-12, PR-5). A new
// agent has no earlier statuses, because there is no API server that kept them. It reports a container with probes as
// not ready until each probe has run once, and a container without probes as ready at once.
func (w *watch) readyLocked(name string, p *v1.Pod) {
	what := kindOf(name)
	// A pod that ends is not Ready, and neither is one after the machine was switched off;
	// what runs is compared as well.
	over := p.DeletionTimestamp != nil || p.Status.Phase == v1.PodFailed
	if what == comes || w.loose || over || len(p.Status.ContainerStatuses) == 0 || p.Status.ContainerStatuses[0].ContainerID == "" {
		return
	}
	switch {
	case isReady(p):
		w.been[name] = w.life
	case what == stays || w.been[name] == w.life:
		w.wrong[fmt.Sprintf("%s is not Ready: %+v", name, p.Status)] = true
	}
}

// phaseLocked: a pod that is over stays over.
func (w *watch) phaseLocked(name string, p *v1.Pod) {
	over := p.Status.Phase == v1.PodSucceeded || p.Status.Phase == v1.PodFailed
	key := string(p.UID)
	if before := w.over[key]; before != "" && p.Status.Phase == v1.PodRunning {
		w.wrong[fmt.Sprintf("%s was over, and runs: %s; before: %s", name, describePod(p), before)] = true
	}
	if over && p.Spec.RestartPolicy == v1.RestartPolicyNever {
		w.over[key] = fmt.Sprintf("agent %d, %s", w.life, describePod(p))
	}
}

// findFaults returns the faults so far.
func (w *watch) findFaults() (wrong []string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	for what := range w.wrong {
		wrong = append(wrong, what)
	}
	for id, what := range w.linger {
		if !w.excused[id] {
			wrong = append(wrong, what)
		}
	}
	return wrong
}
