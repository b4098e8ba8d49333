package node_test

import (
	"testing"

	"github.com/stretchr/testify/assert"
	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/podkeel/podkeel/syncloop/node"
)

// The states of containers, as kubectl tells them apart.
var (
	waits = func(reason string) v1.ContainerState {
		return v1.ContainerState{Waiting: &v1.ContainerStateWaiting{Reason: reason}}
	}
	ended                            = func(t v1.ContainerStateTerminated) v1.ContainerState { return v1.ContainerState{Terminated: &t} }
	hasRunningInitOrRegularContainer = v1.ContainerState{Running: &v1.ContainerStateRunning{}}
	ok                               = ended(v1.ContainerStateTerminated{Reason: "Completed"})
	bad                              = ended(v1.ContainerStateTerminated{ExitCode: 1, Reason: "Error"})
	creating                         = waits("ContainerCreating")
	after                            = waits("PodInitializing")
)

// con is a container: its state, whether it is ready and started, its restarts,
// and whether it is a sidecar.
type con struct {
	state    v1.ContainerState
	ready    bool
	restarts int32
	sidecar  bool
}

func (c con) containerStatus(name string) v1.ContainerStatus {
	started := c.state.Running != nil && c.ready
	return v1.ContainerStatus{Name: name, State: c.state, Ready: c.ready, Started: &started, RestartCount: c.restarts}
}

// look is a pod and its expected summary.
type look struct {
	phase           v1.PodPhase
	reason          string
	init, regular   []con
	initialized     bool
	ready           bool
	deleted, worker bool // how it is known that it ends
	statusless      bool // nothing has been said of its containers yet
}

func (l look) newPod() *v1.Pod {
	p := &v1.Pod{Status: v1.PodStatus{Phase: l.phase, Reason: l.reason}}
	if l.deleted {
		p.DeletionTimestamp = &metav1.Time{}
	}
	for i, c := range l.init {
		name := string(rune('a' + i))
		one := v1.Container{Name: name}
		if c.sidecar {
			one.RestartPolicy = new(v1.ContainerRestartPolicyAlways)
		}
		p.Spec.InitContainers = append(p.Spec.InitContainers, one)
		p.Status.InitContainerStatuses = append(p.Status.InitContainerStatuses, c.containerStatus(name))
	}
	for i, c := range l.regular {
		name := string(rune('p' + i))
		p.Spec.Containers = append(p.Spec.Containers, v1.Container{Name: name})
		p.Status.ContainerStatuses = append(p.Status.ContainerStatuses, c.containerStatus(name))
	}
	if l.statusless {
		p.Status.InitContainerStatuses, p.Status.ContainerStatuses = nil, nil
	}
	for kind, is := range map[v1.PodConditionType]bool{v1.PodInitialized: l.initialized, v1.PodReady: l.ready} {
		status := v1.ConditionFalse
		if is {
			status = v1.ConditionTrue
		}
		p.Status.Conditions = append(p.Status.Conditions, v1.PodCondition{Type: kind, Status: status})
	}
	return p
}

// TestSummarize: the words that kubectl get pods has for a pod.
func TestSummarize(t *testing.T) {
	up, warm := con{state: hasRunningInitOrRegularContainer, ready: true}, con{state: hasRunningInitOrRegularContainer}
	side := func(c con) con { c.sidecar = true; return c }
	again := func(c con, n int32) con { c.restarts = n; return c }
	for name, c := range map[string]struct {
		look
		want string
	}{
		"nothing is known, with a sidecar": {look{init: []con{side(up), {state: ok}}, regular: []con{up}, statusless: true}, "0/2 Pending"},
		"nothing is known":                 {look{regular: []con{up}, statusless: true}, "0/1 Pending"},
		"being created":                    {look{phase: v1.PodPending, initialized: true, regular: []con{{state: creating}, {state: creating}}}, "0/2 ContainerCreating"},
		"running":                          {look{phase: v1.PodRunning, initialized: true, ready: true, regular: []con{up, up}}, "2/2 Running"},
		"not ready yet":                    {look{phase: v1.PodRunning, initialized: true, regular: []con{up, warm}}, "1/2 Running"},
		"restarted once":                   {look{phase: v1.PodRunning, initialized: true, ready: true, regular: []con{again(up, 1)}}, "1/1 Running, 1 restart"},
		"restarts are a sum":               {look{phase: v1.PodRunning, initialized: true, regular: []con{again(up, 1), again(up, 3)}}, "2/2 Running, 4 restarts"},
		"of init containers, then":         {look{phase: v1.PodRunning, initialized: true, init: []con{again(con{state: ok}, 2)}, regular: []con{again(up, 1)}}, "1/1 Running, 1 restart"},
		"and of sidecars":                  {look{phase: v1.PodRunning, initialized: true, init: []con{again(con{state: ok}, 2), side(again(up, 5))}, regular: []con{again(up, 1)}}, "2/2 Running, 6 restarts"},
		"of what comes later":              {look{phase: v1.PodPending, init: []con{again(con{state: waits("CrashLoopBackOff")}, 2), again(con{state: after}, 4)}, regular: []con{again(con{state: after}, 7)}}, "0/1 Init:CrashLoopBackOff, 2 restarts"},
		"one crashes, one runs":            {look{phase: v1.PodRunning, initialized: true, regular: []con{up, {state: waits("CrashLoopBackOff"), restarts: 4}}}, "1/2 CrashLoopBackOff, 4 restarts"},
		"the first that waits is told":     {look{phase: v1.PodPending, initialized: true, regular: []con{{state: waits("ErrImagePull")}, {state: waits("CreateContainerConfigError")}}}, "0/2 ErrImagePull"},
		"completed":                        {look{phase: v1.PodSucceeded, initialized: true, regular: []con{{state: ok}}}, "0/1 Completed"},
		"completed and running, ready":     {look{phase: v1.PodRunning, initialized: true, ready: true, regular: []con{{state: ok}, up}}, "1/2 Running"},
		"completed and running, not ready": {look{phase: v1.PodRunning, initialized: true, regular: []con{{state: ok}, up}}, "1/2 NotReady"},
		"failed":                           {look{phase: v1.PodFailed, initialized: true, regular: []con{{state: bad}}}, "0/1 Error"},
		"killed for its memory":            {look{phase: v1.PodFailed, initialized: true, regular: []con{{state: ended(v1.ContainerStateTerminated{ExitCode: 137, Reason: "OOMKilled"})}}}, "0/1 OOMKilled"},
		"a code without a reason":          {look{phase: v1.PodFailed, initialized: true, regular: []con{{state: ended(v1.ContainerStateTerminated{ExitCode: 3})}}}, "0/1 ExitCode:3"},
		"a signal without a reason":        {look{phase: v1.PodFailed, initialized: true, regular: []con{{state: ended(v1.ContainerStateTerminated{ExitCode: 137, Signal: 9})}}}, "0/1 Signal:9"},
		"evicted":                          {look{phase: v1.PodFailed, reason: "Evicted", initialized: true, regular: []con{{state: bad}}}, "0/1 Evicted"},

		"first init step":             {look{phase: v1.PodPending, init: []con{{state: hasRunningInitOrRegularContainer}, {state: after}}, regular: []con{{state: after}}}, "0/1 Init:0/2"},
		"second init step":            {look{phase: v1.PodPending, init: []con{{state: ok}, {state: hasRunningInitOrRegularContainer}}, regular: []con{{state: after}}}, "0/1 Init:1/2"},
		"init steps are over":         {look{phase: v1.PodPending, initialized: true, init: []con{{state: ok}, {state: ok}}, regular: []con{{state: after}}}, "0/1 PodInitializing"},
		"init step fails":             {look{phase: v1.PodPending, init: []con{{state: bad}, {state: after}}, regular: []con{{state: after}}}, "0/1 Init:Error"},
		"init step fails with a code": {look{phase: v1.PodPending, init: []con{{state: ended(v1.ContainerStateTerminated{ExitCode: 3})}}, regular: []con{{state: after}}}, "0/1 Init:ExitCode:3"},
		"init step by a signal":       {look{phase: v1.PodPending, init: []con{{state: ended(v1.ContainerStateTerminated{ExitCode: 137, Signal: 9})}}, regular: []con{{state: after}}}, "0/1 Init:Signal:9"},
		"init step crashes":           {look{phase: v1.PodPending, init: []con{{state: waits("CrashLoopBackOff"), restarts: 2}}, regular: []con{{state: after}}}, "0/1 Init:CrashLoopBackOff, 2 restarts"},
		"init step without image":     {look{phase: v1.PodPending, init: []con{{state: ok}, {state: waits("ImagePullBackOff")}}, regular: []con{{state: after}}}, "0/1 Init:ImagePullBackOff"},

		"sidecar starts":          {look{phase: v1.PodPending, init: []con{side(warm), {state: after}}, regular: []con{{state: after}}}, "0/2 Init:0/2"},
		"after a sidecar":         {look{phase: v1.PodPending, init: []con{side(up), {state: hasRunningInitOrRegularContainer}}, regular: []con{{state: after}}}, "1/2 Init:1/2"},
		"sidecars count as ready": {look{phase: v1.PodRunning, initialized: true, ready: true, init: []con{side(up), {state: ok}, side(up)}, regular: []con{up}}, "3/3 Running"},
		"a sidecar crashes later": {look{phase: v1.PodRunning, initialized: true, init: []con{side(con{state: waits("CrashLoopBackOff"), restarts: 5})}, regular: []con{up}}, "1/2 CrashLoopBackOff, 5 restarts"},

		"terminating, says its worker": {look{phase: v1.PodRunning, initialized: true, ready: true, regular: []con{up}, worker: true}, "1/1 Terminating"},
		"terminating, says the API":    {look{phase: v1.PodRunning, initialized: true, regular: []con{warm}, deleted: true}, "0/1 Terminating"},
		"terminating before all":       {look{phase: v1.PodPending, init: []con{{state: hasRunningInitOrRegularContainer}}, regular: []con{{state: after}}, worker: true}, "0/1 Terminating"},
		"ended, and deleted":           {look{phase: v1.PodSucceeded, initialized: true, regular: []con{{state: ok}}, deleted: true}, "0/1 Completed"},
	} {
		t.Run(name, func(t *testing.T) {
			assert.Equal(t, c.want, node.Summarize(c.newPod(), c.worker).String())
		})
	}
}
