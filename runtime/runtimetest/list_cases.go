package runtimetest

import (
	"reflect"
	"slices"
	"time"

	"github.com/podkeel/podkeel/runtime"
)

var listCases = []Case{
	{"status/unknown", "a pod without records has a status with its UID and nothing else", statusUnknown},
	{"status/shape", "records keep what the requests that made them said", statusShape},
	{"status/newest-first", "sandboxes and the containers of each name are newest attempt first", statusNewestFirst},
	{"status/not-changed-later", "what was returned is never changed afterwards", statusNotChangedLater},
	{"list/shape", "the list shows every record of a pod, shallow", listShape},
	{"list/exited", "the list shows what no longer runs", listExited},
	{"list/forward", "the list may lag, but not go back", listForward},
	{"list/removed", "a pod without records is not listed", listRemoved},
	{"list/others", "no call for one pod changes another", listOthers},
}

func statusUnknown(b *bench) {
	ref := b.pod()
	st := b.status(ref)
	b.Check(reflect.DeepEqual(*st, runtime.PodStatus{UID: ref.UID}) ||
		st.UID == ref.UID && st.Name == "" && st.Namespace == "" && len(st.Sandboxes)+len(st.Containers) == 0,
		"the status of a pod without records is %+v", *st)
}

// request is what one pod is made by.
type request struct {
	sandbox   runtime.RunSandboxRequest
	container runtime.CreateContainerRequest
}

// requests are two of them that have no value in common, so that no field can
// be right by chance.
func (b *bench) requests() [2]request {
	var two [2]request
	for i := range two {
		r := &two[i]
		ref := b.pod()
		ref.Incarnation += uint64(i)
		ref.Namespace += []string{"", "-other"}[i]
		r.sandbox = b.sandboxRequest(ref, []uint32{3, 0}[i])
		r.sandbox.Namespaces.HostNetwork = i == 1
		r.container = b.containerRequest(ref, "", []string{"main", "other"}[i], []uint32{5, 0}[i], b.h.Forever)
	}
	two[1].sandbox.Annotations = map[string]string{"runtimetest.podkeel.dev/other": "too"}
	return two
}

func statusShape(b *bench) {
	for _, r := range b.requests() {
		sandbox, err := b.rt.RunSandbox(b.ctx, r.sandbox)
		b.Must(err, "RunSandbox")
		r.container.SandboxID = sandbox
		id, err := b.rt.CreateContainer(b.ctx, r.container)
		b.Must(err, "CreateContainer")
		st := b.status(r.sandbox.Pod)
		b.Check(len(st.Sandboxes) == 1 && len(st.Containers) == 1, "%d sandboxes and %d containers, not one of each", len(st.Sandboxes), len(st.Containers))
		s, c := st.Sandboxes[0], st.Containers[0]
		repeats(b, podEchoes, st, &r.sandbox.Pod)
		repeats(b, sandboxEchoes, &s.Sandbox, &r.sandbox)
		repeats(b, sandboxStatusEchoes, &s, &r.sandbox)
		repeats(b, containerEchoes, &c.Container, &r.container)
		repeats(b, containerStatusEchoes, &c, &r.container)
		b.Check(s.ID == sandbox && s.Ready && !s.CreatedAt.IsZero(), "the sandbox is %+v", s)
		b.Check(c.ID == id && c.ImageRef != "", "the container is %+v", c)
	}
}

func statusNewestFirst(b *bench) {
	ref := b.pod()
	for attempt := range uint32(3) {
		sandbox := b.sandbox(ref, attempt)
		for _, name := range []string{"b", "a"} {
			for k := range uint32(2) {
				b.create(ref, sandbox, name, 2*attempt+k, b.h.Forever)
			}
		}
		b.Must(b.stopSandbox(sandbox), "StopSandbox")
	}
	st := b.status(ref)
	var sandboxes []uint32
	for _, s := range st.Sandboxes {
		sandboxes = append(sandboxes, s.Attempt)
	}
	b.Check(slices.Equal(sandboxes, []uint32{2, 1, 0}), "the sandboxes' attempts are %v", sandboxes)
	byName := map[string][]uint32{}
	for _, c := range st.Containers {
		byName[c.Name] = append(byName[c.Name], c.Attempt)
	}
	for _, name := range []string{"a", "b"} {
		b.Check(slices.Equal(byName[name], []uint32{5, 4, 3, 2, 1, 0}), "the attempts of %s are %v", name, byName[name])
	}
}

func statusNotChangedLater(b *bench) {
	ref, sandbox, id := b.run(b.h.Forever)
	b.until("the pod is listed", func() bool { _, ok := b.listed(ref); return ok })
	st, pod := b.status(ref), first(b.listed(ref))
	wasStatus, wasPod := *st, pod
	wasStatus.Sandboxes, wasStatus.Containers = slices.Clone(st.Sandboxes), slices.Clone(st.Containers)
	wasPod.Sandboxes, wasPod.Containers = slices.Clone(pod.Sandboxes), slices.Clone(pod.Containers)
	b.Must(b.stop(id, 0), "StopContainer")
	b.Must(b.stopSandbox(sandbox), "StopSandbox")
	b.status(ref)
	b.listed(ref)
	b.Must(b.removeSandbox(sandbox), "RemoveSandbox")
	b.status(ref)
	b.listed(ref)
	b.Check(reflect.DeepEqual(wasStatus, *st), "a status changed under its reader:\nwas %+v\nis  %+v", wasStatus, *st)
	b.Check(reflect.DeepEqual(wasPod, pod), "a list changed under its reader:\nwas %+v\nis  %+v", wasPod, pod)
}

func listShape(b *bench) {
	for _, r := range b.requests() {
		ref := r.sandbox.Pod
		sandbox, err := b.rt.RunSandbox(b.ctx, r.sandbox)
		b.Must(err, "RunSandbox")
		r.container.SandboxID = sandbox
		created, err := b.rt.CreateContainer(b.ctx, r.container)
		b.Must(err, "CreateContainer")
		running := b.create(ref, sandbox, "running", 4, b.h.Forever)
		b.start(running)
		records := map[string]runtime.Container{}
		var got runtime.Pod
		b.until("the list shows a sandbox and two containers as they are", func() bool {
			got, _ = b.listed(ref)
			for _, c := range got.Containers {
				records[c.ID] = c
			}
			return len(got.Sandboxes) == 1 && len(got.Containers) == 2 &&
				records[created].State == runtime.StateCreated && records[running].State == runtime.StateRunning
		})
		s, c := got.Sandboxes[0], records[created]
		repeats(b, podEchoes, &runtime.PodStatus{UID: got.UID, Name: got.Name, Namespace: got.Namespace}, &ref)
		repeats(b, sandboxEchoes, &s, &r.sandbox)
		repeats(b, containerEchoes, &c, &r.container)
		b.Check(s.ID == sandbox && s.Ready && !s.CreatedAt.IsZero(), "the sandbox is %+v", s)
	}
}

func listExited(b *bench) {
	ref, sandbox, id := b.run(b.h.Exit(0, 0))
	b.exited(ref, id)
	b.Must(b.stopSandbox(sandbox), "StopSandbox")
	b.until("the list shows the end of both", func() bool {
		p, _ := b.listed(ref)
		return len(p.Sandboxes) == 1 && !p.Sandboxes[0].Ready &&
			len(p.Containers) == 1 && p.Containers[0].State == runtime.StateExited
	})
}

func listForward(b *bench) {
	ref, _, id := b.run(b.h.Exit(time.Second, 0))
	last := runtime.StateUnknown
	settled := 0
	b.until("the list shows the end", func() bool {
		p, _ := b.listed(ref)
		state := runtime.StateUnknown
		for _, c := range p.Containers {
			if c.ID == id {
				state = c.State
			}
		}
		b.Check(state >= last, "the list showed %s after %s", state, last)
		if last = state; state == runtime.StateExited {
			settled++
		}
		return settled > 8 // and stays there
	})
}

func listRemoved(b *bench) {
	ref, sandbox, _ := b.run(b.h.Forever)
	b.until("the pod is listed", func() bool { _, ok := b.listed(ref); return ok })
	b.Must(b.removeSandbox(sandbox), "RemoveSandbox")
	b.until("the pod is not listed any more", func() bool { _, ok := b.listed(ref); return !ok })
	for range 8 {
		b.sleep(50 * time.Millisecond)
		_, again := b.listed(ref)
		b.Check(!again, "the pod is listed again")
	}
}

func listOthers(b *bench) {
	bystander, _, id := b.run(b.h.Forever)
	before := b.status(bystander)
	ref, sandbox, other := b.run(b.h.Forever)
	b.Must(b.stop(other, 0), "StopContainer")
	b.Must(b.remove(other), "RemoveContainer")
	b.Must(b.stopSandbox(sandbox), "StopSandbox")
	b.Must(b.removeSandbox(sandbox), "RemoveSandbox")
	b.Check(len(b.status(ref).Sandboxes) == 0, "the other pod is still there")
	b.Check(reflect.DeepEqual(*before, *b.status(bystander)), "the bystander's status was %+v and is %+v", *before, *b.status(bystander))
	b.Check(b.container(bystander, id).State == runtime.StateRunning, "the bystander does not run any more")
}

// contains reports whether all of want is in got; a runtime may add its own.
func contains(got, want map[string]string) bool {
	for k, v := range want {
		if got[k] != v {
			return false
		}
	}
	return true
}

func first[A, B any](a A, _ B) A { return a }
