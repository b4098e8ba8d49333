package runtimetest_test

import (
	"context"
	"errors"
	"slices"
	"time"

	"k8s.io/apimachinery/pkg/types"

	"github.com/podkeel/podkeel/internal/executor"
	rt "github.com/podkeel/podkeel/runtime"
)

// broken is a runtime that breaks one promise, with the cases that must fail: these and no others.
type broken struct {
	how    string
	cases  []string
	tamper func(*tampered)
}

var errOther = errors.New("some error that is none of ours")

// instead replaces an error of ours by another result.
func instead(err, of, by error) error {
	if errors.Is(err, of) {
		return by
	}
	return err
}

// statusThrough and listThrough change the result of PodStatus and ListPods.
func statusThrough(r *tampered, f func(*rt.PodStatus)) {
	r.podStatus = func(ctx context.Context, uid types.UID) (*rt.PodStatus, error) {
		st, err := r.m.PodStatus(ctx, uid)
		if err != nil {
			return nil, err
		}
		own := *st
		own.Sandboxes, own.Containers = slices.Clone(st.Sandboxes), slices.Clone(st.Containers)
		f(&own)
		return &own, nil
	}
}

func listThrough(r *tampered, f func(*rt.Pod)) {
	r.listPods = func(ctx context.Context) ([]rt.Pod, error) {
		list, err := r.m.ListPods(ctx)
		list = slices.Clone(list)
		for i := range list {
			list[i].Sandboxes, list[i].Containers = slices.Clone(list[i].Sandboxes), slices.Clone(list[i].Containers)
			f(&list[i])
		}
		return list, err
	}
}

func containersThrough(r *tampered, f func(*rt.ContainerStatus)) {
	statusThrough(r, func(st *rt.PodStatus) {
		for i := range st.Containers {
			f(&st.Containers[i])
		}
	})
}

var brokenRuntimes = []broken{
	// Lists and statuses.
	{"an unknown pod is an error", []string{"status/unknown", "status/not-changed-later", "list/others", "sandbox/remove", "concurrency/pods"}, func(r *tampered) {
		r.podStatus = func(ctx context.Context, uid types.UID) (*rt.PodStatus, error) {
			st, err := r.m.PodStatus(ctx, uid)
			if err == nil && len(st.Sandboxes) == 0 {
				return nil, rt.ErrNotFound
			}
			return st, err
		}
	}},
	{"an unknown pod has no UID", []string{"status/unknown"}, func(r *tampered) {
		statusThrough(r, func(st *rt.PodStatus) {
			if len(st.Sandboxes) == 0 {
				st.UID = ""
			}
		})
	}},
	{"the status forgets a sandbox's incarnation", []string{"status/shape"}, func(r *tampered) {
		statusThrough(r, func(st *rt.PodStatus) {
			for i := range st.Sandboxes {
				st.Sandboxes[i].Incarnation = 0
			}
		})
	}},
	{"the status forgets a container's incarnation", []string{"status/shape"}, func(r *tampered) {
		containersThrough(r, func(c *rt.ContainerStatus) { c.Incarnation = 0 })
	}},
	{"the status forgets annotations", []string{"status/shape"}, func(r *tampered) {
		containersThrough(r, func(c *rt.ContainerStatus) { c.Annotations = nil })
	}},
	{"the list forgets attempts", []string{"list/shape"}, func(r *tampered) {
		listThrough(r, func(p *rt.Pod) {
			for i := range p.Containers {
				p.Containers[i].Attempt = 0
			}
		})
	}},
	{"the list forgets a sandbox's annotations", []string{"list/shape"}, func(r *tampered) {
		listThrough(r, func(p *rt.Pod) {
			for i := range p.Sandboxes {
				p.Sandboxes[i].Annotations = nil
			}
		})
	}},
	{"the status is oldest first", []string{"status/newest-first", "concurrency/pods"}, func(r *tampered) {
		statusThrough(r, func(st *rt.PodStatus) { slices.Reverse(st.Sandboxes); slices.Reverse(st.Containers) })
	}},
	{"a status is overwritten by the next", []string{"status/not-changed-later"}, func(r *tampered) {
		held := map[types.UID]*rt.PodStatus{}
		r.podStatus = func(ctx context.Context, uid types.UID) (*rt.PodStatus, error) {
			st, err := r.m.PodStatus(ctx, uid)
			r.mu.Lock()
			defer r.mu.Unlock()
			if err != nil || held[uid] == nil {
				held[uid] = &rt.PodStatus{UID: uid}
			}
			if err == nil {
				*held[uid] = *st
			}
			return held[uid], err
		}
	}},
	{"a list is overwritten by the next", []string{"status/not-changed-later"}, func(r *tampered) {
		records := map[types.UID][]rt.Container{}
		r.listPods = func(ctx context.Context) ([]rt.Pod, error) {
			list, err := r.m.ListPods(ctx)
			list = slices.Clone(list)
			r.mu.Lock()
			defer r.mu.Unlock()
			for i := range list {
				p := &list[i]
				if len(records[p.UID]) == len(p.Containers) {
					copy(records[p.UID], p.Containers)
				} else {
					records[p.UID] = slices.Clone(p.Containers)
				}
				p.Containers = records[p.UID]
			}
			return list, err
		}
	}},
	{"the list omits exited containers", []string{"list/exited", "list/forward"}, func(r *tampered) {
		listThrough(r, func(p *rt.Pod) {
			p.Containers = slices.DeleteFunc(p.Containers, func(c rt.Container) bool { return c.State == rt.StateExited })
		})
	}},
	{"the list leaves out sandboxes that are not ready", []string{"list/exited"}, func(r *tampered) {
		listThrough(r, func(p *rt.Pod) {
			p.Sandboxes = slices.DeleteFunc(p.Sandboxes, func(s rt.Sandbox) bool { return !s.Ready })
		})
	}},
	{"the list goes back now and then", []string{"list/forward", "list/removed"}, func(r *tampered) {
		var shown [][]rt.Pod
		r.listPods = func(ctx context.Context) ([]rt.Pod, error) {
			list, err := r.m.ListPods(ctx)
			if err != nil {
				return nil, err
			}
			r.mu.Lock()
			defer r.mu.Unlock()
			shown = append(shown, list)
			if n := len(shown); n%4 == 0 {
				return shown[max(0, n-7)], nil
			}
			return list, nil
		}
	}},
	{"the list keeps pods that are gone", []string{"list/removed"}, func(r *tampered) {
		gone := map[types.UID]rt.Pod{}
		r.listPods = func(ctx context.Context) ([]rt.Pod, error) {
			list, err := r.m.ListPods(ctx)
			if err != nil {
				return nil, err
			}
			r.mu.Lock()
			defer r.mu.Unlock()
			for _, p := range list {
				gone[p.UID] = p
			}
			var out []rt.Pod
			for _, p := range gone {
				out = append(out, p)
			}
			return out, nil
		}
	}},
	{"stopping a sandbox stops every sandbox", []string{"list/others", "concurrency/pods"}, func(r *tampered) {
		r.stopSandbox = func(ctx context.Context, req rt.StopSandboxRequest) error {
			err := r.m.StopSandbox(ctx, req)
			list, _ := r.m.ListPods(ctx)
			for _, p := range list {
				for _, s := range p.Sandboxes {
					_ = r.m.StopSandbox(ctx, rt.StopSandboxRequest{SandboxID: s.ID})
				}
			}
			return err
		}
	}},

	// Sandboxes.
	{"a new sandbox is not ready", []string{"status/shape", "sandbox/run", "sandbox/exists", "sandbox/next-attempt", "sandbox/remove-one", "sandbox/attempt-is-free", "container/exit", "container/remove"}, func(r *tampered) {
		statusThrough(r, func(st *rt.PodStatus) {
			for i := range st.Sandboxes {
				st.Sandboxes[i].Ready = false
			}
		})
	}},
	{"a second sandbox of an attempt succeeds", []string{"sandbox/exists", "concurrency/sandbox"}, func(r *tampered) {
		r.runSandbox = func(ctx context.Context, req rt.RunSandboxRequest) (string, error) {
			id, err := r.m.RunSandbox(ctx, req)
			return id, instead(err, rt.ErrExists, nil)
		}
	}},
	{"a second sandbox of an attempt stops the first", []string{"sandbox/exists"}, func(r *tampered) {
		r.runSandbox = func(ctx context.Context, req rt.RunSandboxRequest) (string, error) {
			id, err := r.m.RunSandbox(ctx, req)
			if errors.Is(err, rt.ErrExists) {
				st, _ := r.m.PodStatus(ctx, req.Pod.UID)
				for _, s := range st.Sandboxes {
					_ = r.m.StopSandbox(ctx, rt.StopSandboxRequest{SandboxID: s.ID})
				}
			}
			return id, err
		}
	}},
	{"a new sandbox replaces the old ones", []string{"status/newest-first", "sandbox/next-attempt"}, func(r *tampered) {
		r.runSandbox = func(ctx context.Context, req rt.RunSandboxRequest) (string, error) {
			id, err := r.m.RunSandbox(ctx, req)
			if err == nil {
				st, _ := r.m.PodStatus(ctx, req.Pod.UID)
				for _, s := range st.Sandboxes {
					if s.ID != id {
						_ = r.m.RemoveSandbox(ctx, rt.RemoveSandboxRequest{SandboxID: s.ID})
					}
				}
			}
			return id, err
		}
	}},
	{"pods have no address", []string{"sandbox/address"}, func(r *tampered) {
		statusThrough(r, func(st *rt.PodStatus) {
			for i := range st.Sandboxes {
				st.Sandboxes[i].IPs = nil
			}
		})
	}},
	{"the host's network is not known as such", []string{"status/shape", "sandbox/address"}, func(r *tampered) {
		statusThrough(r, func(st *rt.PodStatus) {
			for i := range st.Sandboxes {
				st.Sandboxes[i].HostNetwork = false
			}
		})
	}},
	{"StopSandbox lets the containers run", []string{"sandbox/stop"}, func(r *tampered) {
		r.stopSandbox = func(ctx context.Context, req rt.StopSandboxRequest) error {
			if err := r.m.KillSandbox(req.SandboxID); err != nil {
				return err
			}
			return nil
		}
	}},
	{"StopSandbox removes it", []string{"status/newest-first", "list/exited", "sandbox/exists", "sandbox/next-attempt", "sandbox/stop", "sandbox/stop-again", "sandbox/stopped-starts-nothing", "concurrency/stop"}, func(r *tampered) {
		r.stopSandbox = func(ctx context.Context, req rt.StopSandboxRequest) error {
			if err := r.m.StopSandbox(ctx, req); err != nil {
				return err
			}
			return r.m.RemoveSandbox(ctx, rt.RemoveSandboxRequest{SandboxID: req.SandboxID})
		}
	}},
	{"StopSandbox does nothing", []string{"list/exited", "sandbox/next-attempt", "sandbox/stop", "sandbox/stop-unknown", "sandbox/stopped-starts-nothing"}, func(r *tampered) {
		r.stopSandbox = func(context.Context, rt.StopSandboxRequest) error { return nil }
	}},
	{"a stopped sandbox cannot be stopped", []string{"sandbox/stop-again", "concurrency/stop"}, func(r *tampered) {
		stopped := map[string]bool{}
		r.stopSandbox = func(ctx context.Context, req rt.StopSandboxRequest) error {
			r.mu.Lock()
			defer r.mu.Unlock()
			if stopped[req.SandboxID] {
				return rt.ErrWrongState
			}
			stopped[req.SandboxID] = true
			return r.m.StopSandbox(ctx, req)
		}
	}},
	{"stopping an unknown sandbox succeeds", []string{"sandbox/stop-unknown"}, func(r *tampered) {
		r.stopSandbox = func(ctx context.Context, req rt.StopSandboxRequest) error {
			return instead(r.m.StopSandbox(ctx, req), rt.ErrNotFound, nil)
		}
	}},
	{"RemoveSandbox refuses while it is ready", []string{"list/removed", "sandbox/remove", "sandbox/attempt-is-free", "events/changes"}, func(r *tampered) {
		r.removeSandbox = func(ctx context.Context, req rt.RemoveSandboxRequest) error {
			list, _ := r.m.ListPods(ctx)
			for _, p := range list {
				for _, s := range p.Sandboxes {
					if s.ID == req.SandboxID && s.Ready {
						return rt.ErrWrongState
					}
				}
			}
			return r.m.RemoveSandbox(ctx, req)
		}
	}},
	{"RemoveSandbox leaves the records", []string{"list/removed", "list/others", "sandbox/remove", "sandbox/remove-one", "sandbox/attempt-is-free", "concurrency/pods"}, func(r *tampered) {
		r.removeSandbox = func(ctx context.Context, req rt.RemoveSandboxRequest) error {
			_ = r.m.StopSandbox(ctx, rt.StopSandboxRequest{SandboxID: req.SandboxID})
			return nil
		}
	}},
	{"RemoveSandbox removes all of the pod", []string{"sandbox/remove-one"}, func(r *tampered) {
		r.removeSandbox = func(ctx context.Context, req rt.RemoveSandboxRequest) error {
			list, _ := r.m.ListPods(ctx)
			for _, p := range list {
				if slices.ContainsFunc(p.Sandboxes, func(s rt.Sandbox) bool { return s.ID == req.SandboxID }) {
					for _, s := range p.Sandboxes {
						_ = r.m.RemoveSandbox(ctx, rt.RemoveSandboxRequest{SandboxID: s.ID})
					}
				}
			}
			return nil
		}
	}},
	{"removing an unknown sandbox is an error", []string{"sandbox/remove", "sandbox/remove-unknown"}, func(r *tampered) {
		r.removeSandbox = func(ctx context.Context, req rt.RemoveSandboxRequest) error {
			if err := r.m.KillSandbox(req.SandboxID); err != nil {
				return err
			}
			return r.m.RemoveSandbox(ctx, req)
		}
	}},
	{"the attempt of a removed sandbox stays taken", []string{"sandbox/attempt-is-free"}, func(r *tampered) {
		type key struct {
			uid     types.UID
			attempt uint32
		}
		taken := map[key]bool{}
		r.runSandbox = func(ctx context.Context, req rt.RunSandboxRequest) (string, error) {
			r.mu.Lock()
			defer r.mu.Unlock()
			k := key{req.Pod.UID, req.Attempt}
			if taken[k] {
				return "", rt.ErrExists
			}
			id, err := r.m.RunSandbox(ctx, req)
			taken[k] = err == nil
			return id, err
		}
	}},

	// Containers.
	{"a new container runs", []string{"list/shape", "list/exited", "container/create", "container/start-exited", "container/exit", "container/exit-reason", "container/env", "container/working-dir", "container/next-attempt", "container/remove", "container/remove-never-ran", "container/attempt-is-free", "stop/again", "events/changes", "exec/not-running", "exec-stream/not-running", "stats/running", "stats/none", "answer/not-running"}, func(r *tampered) {
		r.createContainer = func(ctx context.Context, req rt.CreateContainerRequest) (string, error) {
			id, err := r.m.CreateContainer(ctx, req)
			if err == nil {
				err = r.m.StartContainer(ctx, rt.StartContainerRequest{ContainerID: id})
			}
			return id, err
		}
	}},
	{"a second container of an attempt succeeds", []string{"container/exists", "concurrency/container"}, func(r *tampered) {
		r.createContainer = func(ctx context.Context, req rt.CreateContainerRequest) (string, error) {
			id, err := r.m.CreateContainer(ctx, req)
			return id, instead(err, rt.ErrExists, nil)
		}
	}},
	{"a second container of an attempt stops the first", []string{"container/exists"}, func(r *tampered) {
		r.createContainer = func(ctx context.Context, req rt.CreateContainerRequest) (string, error) {
			id, err := r.m.CreateContainer(ctx, req)
			if errors.Is(err, rt.ErrExists) {
				st, _ := r.m.PodStatus(ctx, req.Pod.UID)
				_ = r.m.StopContainer(ctx, rt.StopContainerRequest{ContainerID: st.Containers[0].ID})
			}
			return id, err
		}
	}},
	{"the attempt of an exited container is free", []string{"container/exists"}, func(r *tampered) {
		r.createContainer = func(ctx context.Context, req rt.CreateContainerRequest) (string, error) {
			st, _ := r.m.PodStatus(ctx, req.Pod.UID)
			if st != nil {
				for _, c := range st.Containers {
					if c.Name == req.Name && c.Attempt == req.Attempt && c.State == rt.StateExited {
						_ = r.m.LoseContainer(c.ID)
					}
				}
			}
			return r.m.CreateContainer(ctx, req)
		}
	}},
	{"an unknown sandbox, image or container is some error", []string{"sandbox/remove", "container/no-sandbox", "container/no-image", "container/start-unknown", "stop/unknown", "image/not-found", "image/remove", "image/mounted-missing"}, func(r *tampered) {
		r.createContainer = func(ctx context.Context, req rt.CreateContainerRequest) (string, error) {
			id, err := r.m.CreateContainer(ctx, req)
			return id, instead(err, rt.ErrNotFound, errOther)
		}
		r.startContainer = func(ctx context.Context, req rt.StartContainerRequest) error {
			return instead(r.m.StartContainer(ctx, req), rt.ErrNotFound, errOther)
		}
		r.stopContainer = func(ctx context.Context, req rt.StopContainerRequest) error {
			return instead(r.m.StopContainer(ctx, req), rt.ErrNotFound, errOther)
		}
		r.imageStatus = func(ctx context.Context, req rt.ImageStatusRequest) (rt.Image, error) {
			image, err := r.m.ImageStatus(ctx, req)
			return image, instead(err, rt.ErrNotFound, errOther)
		}
	}},
	{"a container of an unknown image is made of nothing", []string{"container/no-image"}, func(r *tampered) {
		r.createContainer = func(ctx context.Context, req rt.CreateContainerRequest) (string, error) {
			if _, err := r.m.ImageStatus(ctx, rt.ImageStatusRequest{Image: req.ImageRef}); errors.Is(err, rt.ErrNotFound) && req.ImageRef != "" {
				req.ImageRef, req.Image = "busybox", "busybox"
			}
			return r.m.CreateContainer(ctx, req)
		}
	}},
	{"a container is made of its Image", []string{"container/image-ref"}, func(r *tampered) {
		r.createContainer = func(ctx context.Context, req rt.CreateContainerRequest) (string, error) {
			req.ImageRef = req.Image
			return r.m.CreateContainer(ctx, req)
		}
	}},
	{"a container that is not supported leaves a record", []string{"container/pid-target"}, func(r *tampered) {
		r.createContainer = func(ctx context.Context, req rt.CreateContainerRequest) (string, error) {
			unsupported := req.PIDTarget != ""
			req.PIDTarget = ""
			id, err := r.m.CreateContainer(ctx, req)
			if unsupported {
				return "", rt.ErrUnsupported
			}
			return id, err
		}
	}},
	{"StartContainer does nothing", []string{"list/shape", "list/exited", "list/forward", "list/others", "sandbox/stop", "sandbox/stopped-starts-nothing", "sandbox/remove-one", "container/exists", "container/image-ref", "container/start", "container/start-again", "container/start-exited", "container/start-unknown", "container/exit", "container/times", "container/exit-reason", "container/env", "container/working-dir", "container/user", "container/next-attempt", "container/remove", "container/remove-running", "container/remove-never-ran", "container/attempt-is-free", "stop/term", "stop/kill", "stop/signal", "stop/descendants", "stop/no-grace", "stop/again", "stop/shorter-grace", "stop/longer-grace", "context/ends-a-stop", "events/changes", "exec/exit", "exec/output", "exec/limit", "exec/context", "exec/not-running", "exec-stream/exit", "exec-stream/output", "exec-stream/context", "exec-stream/not-running", "log/order", "log/tail", "log/since", "log/timestamps", "log/follow", "log/follow-context", "log/reopen", "log/file", "stats/running", "disk/used", "update/running", "update/nothing", "answer/running", "answer/refuses", "answer/context", "answer/not-running", "concurrency/stop", "concurrency/pods"}, func(r *tampered) {
		r.startContainer = func(context.Context, rt.StartContainerRequest) error { return nil }
	}},
	{"starting a running container is an error", []string{"container/start-again"}, func(r *tampered) {
		r.startContainer = func(ctx context.Context, req rt.StartContainerRequest) error {
			if _, c, _ := r.find(req.ContainerID); c.State == rt.StateRunning {
				return rt.ErrWrongState
			}
			return r.m.StartContainer(ctx, req)
		}
	}},
	{"what cannot start says that it has", []string{"sandbox/stopped-starts-nothing", "container/start-exited"}, func(r *tampered) {
		r.startContainer = func(ctx context.Context, req rt.StartContainerRequest) error {
			return instead(r.m.StartContainer(ctx, req), rt.ErrWrongState, nil)
		}
	}},
	{"StartContainer returns before it runs", []string{"list/others", "sandbox/stop", "sandbox/stopped-starts-nothing", "sandbox/remove-one", "container/exists", "container/image-ref", "container/start", "container/start-again", "container/exit-reason", "container/user", "container/next-attempt", "container/remove-running", "container/remove-never-ran", "stop/signal", "stop/descendants", "stop/no-grace", "exec/exit", "exec/output", "exec/limit", "exec/context", "exec-stream/exit", "exec-stream/output", "exec-stream/context", "log/follow-context", "log/file", "disk/used", "update/running", "update/nothing", "answer/running", "answer/refuses", "answer/context"}, func(r *tampered) {
		r.startContainer = func(ctx context.Context, req rt.StartContainerRequest) error {
			if _, c, ok := r.find(req.ContainerID); !ok || c.State != rt.StateCreated {
				return r.m.StartContainer(ctx, req)
			}
			time.AfterFunc(1500*time.Millisecond, func() { _ = r.m.StartContainer(context.Background(), req) })
			return nil
		}
	}},
	{"exit codes get lost", []string{"sandbox/stop", "container/start-exited", "container/exit", "container/exit-reason", "container/next-attempt", "stop/term", "stop/kill", "stop/signal", "stop/no-grace", "stop/again", "stop/shorter-grace", "stop/longer-grace", "context/ends-a-stop", "concurrency/stop"}, func(r *tampered) {
		containersThrough(r, func(c *rt.ContainerStatus) { c.ExitCode = 0 })
	}},
	{"the time of an end gets lost", []string{"sandbox/stop", "container/times"}, func(r *tampered) {
		containersThrough(r, func(c *rt.ContainerStatus) { c.FinishedAt = time.Time{} })
	}},
	{"FinishedAt is the time of the call", []string{"container/times"}, func(r *tampered) {
		containersThrough(r, func(c *rt.ContainerStatus) {
			if c.State == rt.StateExited {
				c.FinishedAt = time.Now()
			}
		})
	}},
	{"a start is as old as time", []string{"container/times"}, func(r *tampered) {
		containersThrough(r, func(c *rt.ContainerStatus) {
			if !c.StartedAt.IsZero() {
				c.StartedAt = time.Unix(0, 0)
			}
		})
	}},
	{"the status omits exited containers", []string{"list/exited", "sandbox/stop", "sandbox/stop-again", "container/start-exited", "container/exit", "container/times", "container/exit-reason", "container/env", "container/working-dir", "container/user", "container/next-attempt", "container/remove", "container/remove-never-ran", "container/attempt-is-free", "stop/term", "stop/kill", "stop/signal", "stop/descendants", "stop/no-grace", "stop/again", "stop/shorter-grace", "stop/longer-grace", "context/ends-a-stop", "events/changes", "exec/not-running", "exec-stream/not-running", "log/order", "log/tail", "log/since", "log/timestamps", "log/follow", "log/reopen", "log/file", "stats/running", "answer/not-running", "concurrency/stop", "concurrency/pods"}, func(r *tampered) {
		statusThrough(r, func(st *rt.PodStatus) {
			st.Containers = slices.DeleteFunc(st.Containers, func(c rt.ContainerStatus) bool { return c.State == rt.StateExited })
		})
	}},
	{"a sandbox ends with its container", []string{"container/exit"}, func(r *tampered) {
		statusThrough(r, func(st *rt.PodStatus) {
			for i := range st.Sandboxes {
				for _, c := range st.Containers {
					if c.State == rt.StateExited {
						st.Sandboxes[i].Ready = false
					}
				}
			}
		})
	}},
	{"RemoveContainer kills what runs", []string{"container/remove-running", "container/remove-never-ran"}, func(r *tampered) {
		r.removeContainer = func(ctx context.Context, req rt.RemoveContainerRequest) error {
			_ = r.m.StopContainer(ctx, rt.StopContainerRequest{ContainerID: req.ContainerID})
			return r.m.RemoveContainer(ctx, req)
		}
	}},
	{"RemoveContainer refuses a created container", []string{"container/remove", "container/remove-never-ran"}, func(r *tampered) {
		r.removeContainer = func(ctx context.Context, req rt.RemoveContainerRequest) error {
			if _, c, _ := r.find(req.ContainerID); c.State == rt.StateCreated {
				return rt.ErrWrongState
			}
			return r.m.RemoveContainer(ctx, req)
		}
	}},
	{"RemoveContainer does not ask whether it ran", []string{"container/remove-never-ran"}, func(r *tampered) {
		r.removeContainer = func(ctx context.Context, req rt.RemoveContainerRequest) error {
			req.NeverRan = false
			return r.m.RemoveContainer(ctx, req)
		}
	}},
	{"removing an unknown container is an error", []string{"container/remove", "container/remove-unknown"}, func(r *tampered) {
		r.removeContainer = func(ctx context.Context, req rt.RemoveContainerRequest) error {
			if _, _, ok := r.find(req.ContainerID); !ok {
				return rt.ErrNotFound
			}
			return r.m.RemoveContainer(ctx, req)
		}
	}},
	{"RemoveContainer does nothing", []string{"container/remove", "container/remove-never-ran", "container/attempt-is-free"}, func(r *tampered) {
		r.removeContainer = func(ctx context.Context, req rt.RemoveContainerRequest) error {
			if _, c, _ := r.find(req.ContainerID); c.State == rt.StateRunning {
				return rt.ErrWrongState
			}
			return nil
		}
	}},

	// Stopping.
	{"StopContainer kills without asking", []string{"stop/term", "stop/kill", "stop/signal", "stop/longer-grace"}, func(r *tampered) {
		r.stopContainer = func(ctx context.Context, req rt.StopContainerRequest) error {
			req.Grace = 0
			return r.m.StopContainer(ctx, req)
		}
	}},
	{"StopContainer always takes the whole grace", []string{"stop/term", "stop/signal", "stop/shorter-grace", "stop/longer-grace"}, func(r *tampered) {
		r.stopContainer = func(ctx context.Context, req rt.StopContainerRequest) error {
			began := time.Now()
			err := r.m.StopContainer(ctx, req)
			if _, c, ok := r.find(req.ContainerID); ok && c.State == rt.StateExited && err == nil {
				select {
				case <-ctx.Done():
				case <-time.After(req.Grace - time.Since(began)):
				}
			}
			return err
		}
	}},
	{"StopContainer does not wait", []string{"stop/kill", "stop/shorter-grace", "stop/longer-grace", "context/ends-a-stop"}, func(r *tampered) {
		r.stopContainer = func(ctx context.Context, req rt.StopContainerRequest) error {
			short, cancel := context.WithTimeout(ctx, time.Nanosecond)
			defer cancel()
			err := r.m.StopContainer(short, req)
			return instead(err, context.DeadlineExceeded, nil)
		}
	}},
	{"StopContainer never kills", []string{"stop/kill", "stop/no-grace", "stop/shorter-grace", "stop/longer-grace", "context/ends-a-stop", "concurrency/stop"}, func(r *tampered) {
		r.stopContainer = func(ctx context.Context, req rt.StopContainerRequest) error {
			req.Grace = 24 * time.Hour
			return r.m.StopContainer(ctx, req)
		}
	}},
	{"StopContainer does nothing", []string{"list/others", "container/exit-reason", "container/user", "stop/term", "stop/kill", "stop/signal", "stop/descendants", "stop/no-grace", "stop/shorter-grace", "stop/longer-grace", "context/ends-a-stop", "concurrency/pods"}, func(r *tampered) {
		r.stopContainer = func(ctx context.Context, req rt.StopContainerRequest) error {
			if _, _, ok := r.find(req.ContainerID); !ok {
				return rt.ErrNotFound
			}
			return nil
		}
	}},
	{"stopping an exited container is an error", []string{"stop/again"}, func(r *tampered) {
		r.stopContainer = func(ctx context.Context, req rt.StopContainerRequest) error {
			if _, c, _ := r.find(req.ContainerID); c.State == rt.StateExited {
				return rt.ErrWrongState
			}
			return r.m.StopContainer(ctx, req)
		}
	}},
	{"stopping a created container is an error", []string{"stop/created"}, func(r *tampered) {
		r.stopContainer = func(ctx context.Context, req rt.StopContainerRequest) error {
			if _, c, _ := r.find(req.ContainerID); c.State == rt.StateCreated {
				return rt.ErrWrongState
			}
			return r.m.StopContainer(ctx, req)
		}
	}},
	{"stopping an unknown container succeeds", []string{"sandbox/remove", "stop/unknown"}, func(r *tampered) {
		r.stopContainer = func(ctx context.Context, req rt.StopContainerRequest) error {
			return instead(r.m.StopContainer(ctx, req), rt.ErrNotFound, nil)
		}
	}},
	{"a second stop only joins the first", []string{"stop/shorter-grace", "context/ends-a-stop"}, func(r *tampered) {
		first := map[string]time.Duration{}
		r.stopContainer = func(ctx context.Context, req rt.StopContainerRequest) error {
			r.mu.Lock()
			if grace, ok := first[req.ContainerID]; ok {
				req.Grace = grace
			}
			first[req.ContainerID] = req.Grace
			r.mu.Unlock()
			return r.m.StopContainer(ctx, req)
		}
	}},
	{"a second stop begins a new grace", []string{"stop/shorter-grace", "stop/longer-grace"}, func(r *tampered) {
		latest := map[string]time.Time{}
		r.stopContainer = func(ctx context.Context, req rt.StopContainerRequest) error {
			r.mu.Lock()
			if until := time.Now().Add(req.Grace); req.Grace > 0 && until.After(latest[req.ContainerID]) {
				latest[req.ContainerID] = until
			}
			r.mu.Unlock()
			for req.Grace > 0 {
				short, cancel := context.WithTimeout(ctx, req.Grace)
				err := r.m.StopContainer(short, rt.StopContainerRequest{ContainerID: req.ContainerID, Grace: 24 * time.Hour})
				cancel()
				if !errors.Is(err, context.DeadlineExceeded) || ctx.Err() != nil {
					return err
				}
				r.mu.Lock()
				req.Grace = time.Until(latest[req.ContainerID])
				r.mu.Unlock()
			}
			return r.m.StopContainer(ctx, req)
		}
	}},

	// What a request says of the process.
	{"a container has no environment of its own", []string{"container/env"}, func(r *tampered) {
		r.received = func(req *rt.CreateContainerRequest) { req.Env = nil }
	}},
	{"a container has the last variable only", []string{"container/env"}, func(r *tampered) {
		r.received = func(req *rt.CreateContainerRequest) { req.Env = req.Env[:min(1, len(req.Env))] }
	}},
	{"a container begins at the root", []string{"container/working-dir"}, func(r *tampered) {
		r.received = func(req *rt.CreateContainerRequest) { req.WorkingDir = "/" }
	}},
	{"a container is asked to end by TERM, whatever its signal is", []string{"stop/signal"}, func(r *tampered) {
		r.received = func(req *rt.CreateContainerRequest) { req.StopSignal = "" }
	}},
	{"what a container has started lives on", []string{"stop/descendants"}, func(r *tampered) {
		began := time.Now()
		r.beats = func(time.Duration, rt.State) int { return int(time.Since(began)/time.Second) + 1 }
	}},
	{"every end is Completed", []string{"container/exit-reason"}, func(r *tampered) {
		containersThrough(r, func(c *rt.ContainerStatus) {
			if c.State == rt.StateExited {
				c.Reason = "Completed"
			}
		})
	}},
	{"every end is an Error", []string{"container/exit-reason"}, func(r *tampered) {
		containersThrough(r, func(c *rt.ContainerStatus) {
			if c.State == rt.StateExited {
				c.Reason = "Error"
			}
		})
	}},

	// Log files.
	{"a log file has no streams", []string{"log/file"}, func(r *tampered) {
		r.entry = func(at, _, text string) string { return at + " " + text + "\n" }
	}},
	{"all lines of a log file are of one stream", []string{"log/file"}, func(r *tampered) {
		r.entry = func(at, _, text string) string { return at + " stdout F " + text + "\n" }
	}},
	{"no line of a log file is whole", []string{"log/file"}, func(r *tampered) {
		r.entry = func(at, stream, text string) string { return at + " " + stream + " P " + text + "\n" }
	}},
	{"a log file has seconds as its times", []string{"log/file"}, func(r *tampered) {
		r.entry = func(_, stream, text string) string { return "1700000000 " + stream + " F " + text + "\n" }
	}},
	{"a log file is JSON", []string{"log/file"}, func(r *tampered) {
		r.entry = func(at, stream, text string) string {
			return `{"log":"` + text + `\n","stream":"` + stream + `","time":"` + at + `"}` + "\n"
		}
	}},
	{"there is no log file", []string{"log/file"}, func(r *tampered) {
		r.received = func(req *rt.CreateContainerRequest) { req.LogPath = "" }
	}},

	// Images.
	{"PullImage returns no reference", []string{"status/shape", "container/image-ref", "image/pull", "image/mounted", "disk/used"}, func(r *tampered) {
		r.pullImage = func(ctx context.Context, req rt.PullImageRequest) (string, error) {
			_, err := r.m.PullImage(ctx, req)
			return "", err
		}
	}},
	{"an image is not found by its reference", []string{"image/pull"}, func(r *tampered) {
		r.imageStatus = func(ctx context.Context, req rt.ImageStatusRequest) (rt.Image, error) {
			if len(req.Image) > 7 && req.Image[:7] == "sha256:" {
				return rt.Image{}, rt.ErrNotFound
			}
			return r.m.ImageStatus(ctx, req)
		}
	}},
	{"no image is listed", []string{"image/pull"}, func(r *tampered) {
		r.listImages = func(ctx context.Context) ([]rt.Image, error) { return nil, ctx.Err() }
	}},
	{"pulling again leads elsewhere", []string{"image/pull-again"}, func(r *tampered) {
		pulls := 0
		r.pullImage = func(ctx context.Context, req rt.PullImageRequest) (string, error) {
			ref, err := r.m.PullImage(ctx, req)
			r.mu.Lock()
			defer r.mu.Unlock()
			if pulls++; pulls == 2 && err == nil {
				return "busybox", nil
			}
			return ref, err
		}
	}},
	{"a missing image is some error", []string{"image/missing"}, func(r *tampered) {
		r.pullImage = func(ctx context.Context, req rt.PullImageRequest) (string, error) {
			ref, err := r.m.PullImage(ctx, req)
			return ref, instead(err, rt.ErrImage, errOther)
		}
	}},
	{"RemoveImage does nothing", []string{"image/remove"}, func(r *tampered) {
		r.removeImage = func(ctx context.Context, req rt.RemoveImageRequest) error { return ctx.Err() }
	}},
	{"removing an unknown image is an error", []string{"image/remove", "image/remove-unknown"}, func(r *tampered) {
		r.removeImage = func(ctx context.Context, req rt.RemoveImageRequest) error {
			if _, err := r.m.ImageStatus(ctx, rt.ImageStatusRequest{Image: req.Image}); err != nil {
				return err
			}
			return r.m.RemoveImage(ctx, req)
		}
	}},

	// Contexts.
	{"a list whose context has ended is empty", []string{"context/no-short-answer"}, func(r *tampered) {
		r.listPods = func(ctx context.Context) ([]rt.Pod, error) {
			if ctx.Err() != nil {
				return nil, nil
			}
			return r.m.ListPods(ctx)
		}
	}},
	{"a status whose context has ended is empty", []string{"context/no-short-answer"}, func(r *tampered) {
		r.podStatus = func(ctx context.Context, uid types.UID) (*rt.PodStatus, error) {
			if ctx.Err() != nil {
				return &rt.PodStatus{UID: uid}, nil
			}
			return r.m.PodStatus(ctx, uid)
		}
	}},
	{"StopContainer ignores its context", []string{"context/ended", "context/ends-a-stop"}, func(r *tampered) {
		r.stopContainer = func(ctx context.Context, req rt.StopContainerRequest) error {
			return r.m.StopContainer(context.WithoutCancel(ctx), req)
		}
	}},
	{"PullImage ignores its context", []string{"context/ended"}, func(r *tampered) {
		r.pullImage = func(ctx context.Context, req rt.PullImageRequest) (string, error) {
			if ctx.Err() != nil {
				<-time.After(time.Minute)
			}
			return r.m.PullImage(ctx, req)
		}
	}},
	{"the end of the context looks like success", []string{"context/ends-a-stop"}, func(r *tampered) {
		r.stopContainer = func(ctx context.Context, req rt.StopContainerRequest) error {
			err := r.m.StopContainer(ctx, req)
			return instead(err, context.DeadlineExceeded, nil)
		}
	}},

	// Features.
	{"no event comes", []string{"events/changes"}, func(r *tampered) {
		r.events = func(ctx context.Context, _ func(rt.Event)) error { return r.m.Events(ctx, func(rt.Event) {}) }
	}},
	{"no event tells of an end", []string{"events/changes"}, func(r *tampered) {
		r.events = func(ctx context.Context, sink func(rt.Event)) error {
			return r.m.Events(ctx, func(e rt.Event) {
				if _, c, ok := r.find(e.ContainerID); !ok || c.State != rt.StateExited {
					sink(e)
				}
			})
		}
	}},
	{"Events returns at once", []string{"events/changes", "events/context"}, func(r *tampered) {
		r.events = func(context.Context, func(rt.Event)) error { return errOther }
	}},
	{"Events ends without saying why", []string{"events/context"}, func(r *tampered) {
		r.events = func(ctx context.Context, sink func(rt.Event)) error { _ = r.m.Events(ctx, sink); return nil }
	}},
	{"a runtime that works says it is not ready", []string{"report/ready"}, func(r *tampered) {
		r.runtimeStatus = func(context.Context) (rt.RuntimeStatus, error) { return rt.RuntimeStatus{RuntimeReady: true}, nil }
	}},
	{"the runtime has no name", []string{"report/version"}, func(r *tampered) {
		r.version = func(context.Context) (string, string, error) { return "", "1", nil }
	}},

	// Concurrency.
	{"concurrent requests for one sandbox all succeed", []string{"concurrency/sandbox"}, func(r *tampered) {
		shared := sharing(r)
		r.runSandbox = func(ctx context.Context, req rt.RunSandboxRequest) (string, error) {
			return shared(ctx, req.Pod.UID, func() (string, error) { return r.m.RunSandbox(ctx, req) })
		}
	}},
	{"concurrent requests for one container all succeed", []string{"concurrency/container"}, func(r *tampered) {
		shared := sharing(r)
		r.createContainer = func(ctx context.Context, req rt.CreateContainerRequest) (string, error) {
			return shared(ctx, req.Pod.UID, func() (string, error) { return r.m.CreateContainer(ctx, req) })
		}
	}},
	{"of two concurrent stops one fails", []string{"stop/shorter-grace", "stop/longer-grace", "concurrency/stop"}, func(r *tampered) {
		stopping := map[string]bool{}
		r.stopContainer = func(ctx context.Context, req rt.StopContainerRequest) error {
			r.mu.Lock()
			busy := stopping[req.ContainerID]
			stopping[req.ContainerID] = true
			r.mu.Unlock()
			if busy {
				return rt.ErrWrongState
			}
			err := r.m.StopContainer(ctx, req)
			r.mu.Lock()
			delete(stopping, req.ContainerID)
			r.mu.Unlock()
			return err
		}
	}},
	{"there is room for six pods", []string{"concurrency/pods"}, func(r *tampered) {
		r.runSandbox = func(ctx context.Context, req rt.RunSandboxRequest) (string, error) {
			if list, _ := r.m.ListPods(ctx); len(list) >= 6 {
				return "", errOther
			}
			return r.m.RunSandbox(ctx, req)
		}
	}},
}

// sharing has all who ask for something of a pod at once get what the first of them
// has made.
func sharing(r *tampered) func(ctx context.Context, uid types.UID, make func() (string, error)) (string, error) {
	ids := map[types.UID]string{}
	return func(ctx context.Context, uid types.UID, make func() (string, error)) (string, error) {
		r.mu.Lock()
		id, busy := ids[uid]
		if !busy {
			var err error
			if id, err = make(); err != nil {
				r.mu.Unlock()
				return "", err
			}
			ids[uid] = id
		}
		r.mu.Unlock()
		_ = executor.Over(nil).Sleep(ctx, time.Millisecond) // Until the others have asked.
		r.mu.Lock()
		delete(ids, uid)
		r.mu.Unlock()
		return id, nil
	}
}
