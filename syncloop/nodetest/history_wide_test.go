package nodetest_test

import (
	"errors"
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"time"

	"github.com/stretchr/testify/require"
	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/podkeel/podkeel/internal/executor"
	"github.com/podkeel/podkeel/podworkers/podsync"
	"github.com/podkeel/podkeel/syncloop/node"
)

// wide has the additional faults of every second history: rare faults of a machine, and more changes of a pod under its
// UID. It has a random source of its own, so that the other histories stay as they are.
type wide struct {
	*rand.Rand
	terminalStatuses *terminalStatuses  // nil: how pods have ended is kept nowhere
	evicted          map[types.UID]bool // at any time, by any agent
	overdue          map[types.UID]bool // some shape had a deadline
	noPulls          map[string]bool    // images that cannot be pulled
}

func newWide(seed uint64, config *node.Config) *wide {
	w := &wide{
		Rand: rand.New(rand.NewPCG(seed, 2)), evicted: map[types.UID]bool{}, overdue: map[types.UID]bool{}, noPulls: map[string]bool{},
	}
	if w.IntN(2) == 0 {
		w.terminalStatuses = &terminalStatuses{kept: map[types.UID]describeTermination{}}
		config.Pods.TerminalStatuses = w.terminalStatuses
	}
	return w
}

// addRareFields adds fields to a pod that the other pods do not have.
func (w *wide) addRareFields(p *v1.Pod) {
	s := shape{w.Rand, p}
	var number int32
	_, _ = fmt.Sscanf(p.Name, "pod-%d", &number)
	for i := range p.Spec.InitContainers {
		if c := &p.Spec.InitContainers[i]; !isRestartable(c) && s.oneIn(6) {
			c.RestartPolicy = new(pick(s, v1.ContainerRestartPolicyOnFailure, v1.ContainerRestartPolicyNever))
		}
	}
	if p.Spec.HostNetwork = s.oneIn(8); s.oneIn(6) {
		port := v1.ContainerPort{ContainerPort: 8000 + number, HostPort: 8000 + number}
		p.Spec.Containers[0].Ports = []v1.ContainerPort{port}
	}
	if p.Spec.ActiveDeadlineSeconds != nil {
		w.overdue[p.UID] = true
	}
}

// actWide does one rare action at random.
func (h *history) actWide() {
	w := h.wide
	switch n := w.IntN(12); {
	case n < 2:
		h.restartAgent(false)
	case n < 3:
		h.restartAgent(true)
	case n < 4:
		h.noteAction("the runtime loses everything")
		h.b.Machine().LoseAll()
	case n < 5:
		h.noteAction("the event stream breaks")
		h.b.Machine().BreakEvents(nil)
	case n < 6:
		h.rebootMachine()
	case n < 8:
		h.setDeletionTimestamp()
	case n < 10:
		h.changeDeadlineOrGrace()
	default:
		h.changePulls()
	}
}

// restartAgent stops the agent in an orderly way, perhaps after it has drained its node. It starts another agent
// immediately or much later.
func (h *history) restartAgent(drain bool) {
	w := h.wide
	h.noteAction("the agent is restarted, drained: %t", drain)
	if drain {
		n := h.b.Node()
		h.b.Go(func() {
			if err := n.Drain(h.t.Context(), node.DrainOptions{}); err != nil && !errors.Is(err, executor.ErrCrashed) {
				h.noteAction("drained: %v", err)
			}
		})
		h.b.Run(time.Duration(w.IntN(60)) * time.Second)
	}
	if w.IntN(3) == 0 || h.faults != nil {
		h.b.Crash() // A runtime that hangs keeps an agent from its end for minutes.
		h.startNextAgent(time.Duration(w.IntN(2)*w.IntN(900)) * time.Second)
		return
	}
	h.b.Stop()
	h.startNextAgent(0)
}

// startNextAgent starts another agent, perhaps much later than the end of the agent before it.
func (h *history) startNextAgent(later time.Duration) {
	for _, d := range h.desired {
		d.forgot = true
	}
	if h.wide.terminalStatuses != nil {
		h.wide.terminalStatuses.reopenStore()
	}
	if later > 0 {
		h.b.Run(later)
	}
	h.b.Start()
}

// rebootMachine terminates all containers and the agent.
func (h *history) rebootMachine() {
	h.noteAction("the machine reboots")
	h.b.Crash()
	m := h.b.Machine()
	for _, p := range m.Snapshot() {
		for _, s := range p.Sandboxes {
			if s.Ready {
				require.NoError(h.t, m.KillSandbox(s.ID))
			}
		}
	}
	h.startNextAgent(time.Duration(h.wide.IntN(2)*h.wide.IntN(900)) * time.Second)
}

// setDeletionTimestamp sets the deletion timestamp of a pod, as an API server would.
func (h *history) setDeletionTimestamp() {
	w := h.wide
	if len(h.desired) == 0 {
		return
	}
	d := h.desired[w.IntN(len(h.desired))]
	p := d.pod.DeepCopy()
	grace := int64(w.IntN(20))
	p.DeletionGracePeriodSeconds = &grace
	p.DeletionTimestamp = &metav1.Time{Time: h.b.Now().Add(time.Duration(grace) * time.Second)}
	d.pod, d.deleted = p, true
	h.noteAction("delete %s, grace %d", p.UID, grace)
	h.b.Apply(p)
}

// changeDeadlineOrGrace changes the deadline or the grace period of a pod.
func (h *history) changeDeadlineOrGrace() {
	w := h.wide
	if len(h.desired) == 0 {
		return
	}
	d := h.desired[w.IntN(len(h.desired))]
	p := d.pod.DeepCopy()
	if w.IntN(4) == 0 && p.Spec.ActiveDeadlineSeconds == nil {
		p.Spec.ActiveDeadlineSeconds = new(int64(1 + w.IntN(200)))
		w.overdue[p.UID] = true
	} else {
		p.Spec.TerminationGracePeriodSeconds = new(int64(w.IntN(30)))
	}
	d.pod = p
	h.noteSpec(p)
	h.b.Apply(p)
}

// changePulls makes the pulls of an image fail, or lets all pulls succeed again.
func (h *history) changePulls() {
	w := h.wide
	if len(h.desired) == 0 || w.IntN(3) == 0 {
		h.allowPulls()
		return
	}
	p := h.desired[w.IntN(len(h.desired))].pod
	image := p.Spec.Containers[w.IntN(len(p.Spec.Containers))].Image
	w.noPulls[image] = true
	h.noteAction("%s cannot be pulled", image)
	h.b.Machine().FailPulls(image, errors.New("the registry is on fire"))
}

func (h *history) allowPulls() {
	for _, image := range slices.Sorted(maps.Keys(h.wide.noPulls)) {
		h.b.Machine().FailPulls(image, nil)
	}
	clear(h.wide.noPulls)
}

// terminalStatuses keeps how pods have ended where it outlives an agent, as a disk does.
type terminalStatuses struct {
	kept  map[types.UID]describeTermination
	found map[types.UID]describeTermination // by the agent that runs now, when it was started
}

type describeTermination struct {
	shape  string
	status v1.PodStatus
}

func (e *terminalStatuses) reopenStore() { e.found = maps.Clone(e.kept) }

// Save implements podsync.TerminalStatuses.
func (e *terminalStatuses) Save(pod *v1.Pod, status *v1.PodStatus) error {
	e.kept[pod.UID] = describeTermination{fmt.Sprint(pod.Name, podsync.PodHash(pod)), *status.DeepCopy()}
	return nil
}

// Drop implements podsync.TerminalStatuses.
func (e *terminalStatuses) Drop(uid types.UID) error {
	delete(e.kept, uid)
	return nil
}

// Consume implements node.TerminalStatuses.
func (e *terminalStatuses) Consume(pod *v1.Pod) (v1.PodStatus, bool) {
	found, ok := e.found[pod.UID]
	delete(e.found, pod.UID)
	if !ok || found.shape != fmt.Sprint(pod.Name, podsync.PodHash(pod)) {
		return v1.PodStatus{}, false
	}
	return found.status, true
}

// Pods implements node.TerminalStatuses.
func (e *terminalStatuses) Pods(of func(types.UID) bool, limit int) ([]types.UID, error) {
	var uids []types.UID
	for _, uid := range slices.Sorted(maps.Keys(e.kept)) {
		if of(uid) && len(uids) < limit {
			uids = append(uids, uid)
		}
	}
	return uids, nil
}
