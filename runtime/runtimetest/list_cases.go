package runtimetest

import (
	"reflect"
	"slices"
	"time"

	"github.com/podkeel/podkeel/runtime"
)

var listCases = []Case{
	{"status/unknown", "a pod without records has a status with its UID and nothing else", checkStatusOfUnknownPod},
	{"status/shape", "records echo the fields of the requests that created them", checkStatusEchoesRequests},
	{"status/newest-first", "sandboxes, and the containers of each name, are sorted newest attempt first", checkStatusOrder},
	{"status/not-changed-later", "the runtime never modifies a result that it has returned", checkResultsAreImmutable},
	{"list/shape", "ListPods returns every record of a pod", checkListEchoesRequests},
	{"list/exited", "ListPods returns exited containers and stopped sandboxes", checkListShowsExited},
	{"list/forward", "ListPods may be older than PodStatus, but a later list is never older than an earlier one", checkListNeverGoesBack},
	{"list/removed", "a pod without records is not listed", checkListOmitsRemoved},
	{"list/others", "no call for one pod changes another", checkOtherPodsUnchanged},
}

func checkStatusOfUnknownPod(b *bench) {
	ref := b.newPodToCleanUp()
	st := b.podStatus(ref)
	b.Check(reflect.DeepEqual(*st, runtime.PodStatus{UID: ref.UID}) ||
		st.UID == ref.UID && st.Name == "" && st.Namespace == "" && len(st.Sandboxes)+len(st.Containers) == 0,
		"the status of a pod without records must have only the UID; it is %+v", *st)
}

// podRequests are the requests for a pod with one container.
type podRequests struct {
	sandbox   runtime.RunSandboxRequest
	container runtime.CreateContainerRequest
}

// requestsForTwoDistinctPods pulls the image and returns sandbox and container requests for two new pods; the
// container requests have no sandbox ID yet. Checked fields such as the attempts have different values in both,
// so that a runtime cannot repeat both correctly by chance.
func (b *bench) requestsForTwoDistinctPods() [2]podRequests {
	var two [2]podRequests
	for i := range two {
		r := &two[i]
		ref := b.newPodToCleanUp()
		ref.Incarnation += uint64(i)
		ref.Namespace += []string{"", "-other"}[i]
		r.sandbox = b.sandboxRequest(ref, []uint32{3, 0}[i])
		r.sandbox.Namespaces.HostNetwork = i == 1
		r.container = b.containerRequest(ref, "", []string{"main", "other"}[i], []uint32{5, 0}[i], b.h.Forever)
	}
	two[1].sandbox.Annotations = map[string]string{"runtimetest.podkeel.dev/other": "too"}
	return two
}

func checkStatusEchoesRequests(b *bench) {
	for _, r := range b.requestsForTwoDistinctPods() {
		sandbox, err := b.rt.RunSandbox(b.ctx, r.sandbox)
		b.Must(err, "RunSandbox")
		r.container.SandboxID = sandbox
		id, err := b.rt.CreateContainer(b.ctx, r.container)
		b.Must(err, "CreateContainer")
		st := b.podStatus(r.sandbox.Pod)
		b.Check(len(st.Sandboxes) == 1 && len(st.Containers) == 1, "the pod has %d sandboxes and %d containers, want 1 of each", len(st.Sandboxes), len(st.Containers))
		s, c := st.Sandboxes[0], st.Containers[0]
		requireEchoes(b, podEchoes, st, &r.sandbox.Pod)
		requireEchoes(b, sandboxEchoes, &s.Sandbox, &r.sandbox)
		requireEchoes(b, sandboxStatusEchoes, &s, &r.sandbox)
		requireEchoes(b, containerEchoes, &c.Container, &r.container)
		requireEchoes(b, containerStatusEchoes, &c, &r.container)
		b.Check(s.ID == sandbox && s.Ready && !s.CreatedAt.IsZero(), "the sandbox must have its ID and CreatedAt and be ready; it is %+v", s)
		b.Check(c.ID == id && c.ImageRef != "", "the container must have its ID and an ImageRef; it is %+v", c)
	}
}

func checkStatusOrder(b *bench) {
	ref := b.newPodToCleanUp()
	for attempt := range uint32(3) {
		sandbox := b.runSandbox(ref, attempt)
		for _, name := range []string{"b", "a"} {
			for k := range uint32(2) {
				b.createContainer(ref, sandbox, name, 2*attempt+k, b.h.Forever)
			}
		}
		b.Must(b.stopSandbox(sandbox), "StopSandbox")
	}
	st := b.podStatus(ref)
	var sandboxes []uint32
	for _, s := range st.Sandboxes {
		sandboxes = append(sandboxes, s.Attempt)
	}
	b.Check(slices.Equal(sandboxes, []uint32{2, 1, 0}), "the sandboxes must be sorted by attempt, newest first; the attempts are %v", sandboxes)
	byName := map[string][]uint32{}
	for _, c := range st.Containers {
		byName[c.Name] = append(byName[c.Name], c.Attempt)
	}
	for _, name := range []string{"a", "b"} {
		b.Check(slices.Equal(byName[name], []uint32{5, 4, 3, 2, 1, 0}), "the containers named %s must be sorted by attempt, newest first; the attempts are %v", name, byName[name])
	}
}

func checkResultsAreImmutable(b *bench) {
	ref, sandbox, id := b.runContainer(b.h.Forever)
	b.waitFor("the pod is listed", func() bool { _, ok := b.findListedPod(ref); return ok })
	st, pod := b.podStatus(ref), firstValue(b.findListedPod(ref))
	wasStatus, wasPod := *st, pod
	wasStatus.Sandboxes, wasStatus.Containers = slices.Clone(st.Sandboxes), slices.Clone(st.Containers)
	wasPod.Sandboxes, wasPod.Containers = slices.Clone(pod.Sandboxes), slices.Clone(pod.Containers)
	b.Must(b.stopContainer(id, 0), "StopContainer")
	b.Must(b.stopSandbox(sandbox), "StopSandbox")
	b.podStatus(ref)
	b.findListedPod(ref)
	b.Must(b.removeSandbox(sandbox), "RemoveSandbox")
	b.podStatus(ref)
	b.findListedPod(ref)
	b.Check(reflect.DeepEqual(wasStatus, *st), "the runtime modified a status that it had returned:\nwas %+v\nis  %+v", wasStatus, *st)
	b.Check(reflect.DeepEqual(wasPod, pod), "the runtime modified a list that it had returned:\nwas %+v\nis  %+v", wasPod, pod)
}

func checkListEchoesRequests(b *bench) {
	for _, r := range b.requestsForTwoDistinctPods() {
		ref := r.sandbox.Pod
		sandbox, err := b.rt.RunSandbox(b.ctx, r.sandbox)
		b.Must(err, "RunSandbox")
		r.container.SandboxID = sandbox
		created, err := b.rt.CreateContainer(b.ctx, r.container)
		b.Must(err, "CreateContainer")
		running := b.createContainer(ref, sandbox, "running", 4, b.h.Forever)
		b.startContainer(running)
		records := map[string]runtime.Container{}
		var got runtime.Pod
		b.waitFor("ListPods shows one sandbox, one created and one running container", func() bool {
			got, _ = b.findListedPod(ref)
			for _, c := range got.Containers {
				records[c.ID] = c
			}
			return len(got.Sandboxes) == 1 && len(got.Containers) == 2 &&
				records[created].State == runtime.StateCreated && records[running].State == runtime.StateRunning
		})
		s, c := got.Sandboxes[0], records[created]
		requireEchoes(b, podEchoes, &runtime.PodStatus{UID: got.UID, Name: got.Name, Namespace: got.Namespace}, &ref)
		requireEchoes(b, sandboxEchoes, &s, &r.sandbox)
		requireEchoes(b, containerEchoes, &c, &r.container)
		b.Check(s.ID == sandbox && s.Ready && !s.CreatedAt.IsZero(), "the sandbox must have its ID and CreatedAt and be ready; it is %+v", s)
	}
}

func checkListShowsExited(b *bench) {
	ref, sandbox, id := b.runContainer(b.h.Exit(0, 0))
	b.waitForExit(ref, id)
	b.Must(b.stopSandbox(sandbox), "StopSandbox")
	b.waitFor("ListPods shows the sandbox as not ready and the container as exited", func() bool {
		p, _ := b.findListedPod(ref)
		return len(p.Sandboxes) == 1 && !p.Sandboxes[0].Ready &&
			len(p.Containers) == 1 && p.Containers[0].State == runtime.StateExited
	})
}

func checkListNeverGoesBack(b *bench) {
	ref, _, id := b.runContainer(b.h.Exit(time.Second, 0))
	last := runtime.StateUnknown
	settled := 0
	b.waitFor("ListPods shows the container as exited", func() bool {
		p, _ := b.findListedPod(ref)
		state := runtime.StateUnknown
		for _, c := range p.Containers {
			if c.ID == id {
				state = c.State
			}
		}
		b.Check(state >= last, "ListPods showed the state %s after it had shown %s", state, last)
		if last = state; state == runtime.StateExited {
			settled++
		}
		return settled > 8 // The state must stay exited.
	})
}

func checkListOmitsRemoved(b *bench) {
	ref, sandbox, _ := b.runContainer(b.h.Forever)
	b.waitFor("the pod is listed", func() bool { _, ok := b.findListedPod(ref); return ok })
	b.Must(b.removeSandbox(sandbox), "RemoveSandbox")
	b.waitFor("ListPods omits the removed pod", func() bool { _, ok := b.findListedPod(ref); return !ok })
	for range 8 {
		b.sleep(50 * time.Millisecond)
		_, again := b.findListedPod(ref)
		b.Check(!again, "ListPods shows the removed pod again")
	}
}

func checkOtherPodsUnchanged(b *bench) {
	bystander, _, id := b.runContainer(b.h.Forever)
	before := b.podStatus(bystander)
	ref, sandbox, other := b.runContainer(b.h.Forever)
	b.Must(b.stopContainer(other, 0), "StopContainer")
	b.Must(b.removeContainer(other), "RemoveContainer")
	b.Must(b.stopSandbox(sandbox), "StopSandbox")
	b.Must(b.removeSandbox(sandbox), "RemoveSandbox")
	b.Check(len(b.podStatus(ref).Sandboxes) == 0, "RemoveSandbox left a sandbox of the pod")
	b.Check(reflect.DeepEqual(*before, *b.podStatus(bystander)), "the calls for one pod changed the status of another pod from %+v to %+v", *before, *b.podStatus(bystander))
	b.Check(b.containerStatus(bystander, id).State == runtime.StateRunning, "the calls for one pod stopped the container of another pod")
}

// containsAll reports whether got has all entries of want. It may have more.
func containsAll(got, want map[string]string) bool {
	for k, v := range want {
		if got[k] != v {
			return false
		}
	}
	return true
}

func firstValue[A, B any](a A, _ B) A { return a }
