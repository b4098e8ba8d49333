package runtimetest_test

import (
	"context"
	"errors"
	"io"
	"time"

	"k8s.io/apimachinery/pkg/types"

	rt "github.com/podkeel/podkeel/runtime"
)

// hasNoImages makes a runtime accept every name as an image.
func hasNoImages(r *tampered) {
	r.pullImage = func(_ context.Context, req rt.PullImageRequest) (string, error) { return req.Image, nil }
	r.imageStatus = func(_ context.Context, req rt.ImageStatusRequest) (rt.Image, error) {
		return rt.Image{ID: req.Image}, nil
	}
	r.listImages = func(context.Context) ([]rt.Image, error) { return nil, nil }
	r.removeImage = func(context.Context, rt.RemoveImageRequest) error { return nil }
	r.createContainer = func(ctx context.Context, req rt.CreateContainerRequest) (string, error) {
		if _, err := r.m.PullImage(ctx, rt.PullImageRequest{Image: "any"}); err != nil {
			return "", err
		}
		req.ImageRef = "any"
		return r.m.CreateContainer(ctx, req)
	}
}

var brokenImageless = []broken{
	{"a runtime without images has no reference", []string{"image/none"}, func(r *tampered) {
		r.pullImage = func(context.Context, rt.PullImageRequest) (string, error) { return "", nil }
	}},
	{"a runtime without images knows none", []string{"image/none"}, func(r *tampered) {
		r.imageStatus = func(context.Context, rt.ImageStatusRequest) (rt.Image, error) { return rt.Image{}, rt.ErrNotFound }
	}},
	{"a runtime without images cannot list them", []string{"image/none"}, func(r *tampered) {
		r.listImages = func(context.Context) ([]rt.Image, error) { return nil, rt.ErrUnsupported }
	}},
}

// afterwards changes results after the agent has been restarted.
func afterwards(r *tampered, f func(*rt.PodStatus)) {
	r.reopened = func() { statusThrough(r, f) }
}

// each calls f for every container.
func (r *tampered) each(f func(rt.Container)) {
	for _, p := range r.m.Snapshot() {
		for _, c := range p.Containers {
			f(c)
		}
	}
}

// brokenSurvival are runtimes that break a promise about restarts of the agent, and no other
// promise.
var brokenSurvival = []broken{
	{"containers end with the agent", []string{"reopen/records", "reopen/running", "reopen/log"}, func(r *tampered) {
		r.reopened = func() {
			r.each(func(c rt.Container) { _ = r.m.ExitContainer(c.ID, 137) })
		}
	}},
	{"records are lost with the agent", []string{"reopen/records", "reopen/running", "reopen/exit", "reopen/attempts", "reopen/removed", "reopen/log"}, func(r *tampered) {
		r.reopened = func() {
			for _, p := range r.m.Snapshot() {
				for _, s := range p.Sandboxes {
					_ = r.m.RemoveSandbox(context.Background(), rt.RemoveSandboxRequest{SandboxID: s.ID})
				}
			}
		}
	}},
	{"annotations are lost with the agent", []string{"reopen/records"}, func(r *tampered) {
		afterwards(r, func(st *rt.PodStatus) {
			for i := range st.Containers {
				st.Containers[i].Annotations = nil
			}
		})
	}},
	{"incarnations are lost with the agent", []string{"reopen/records"}, func(r *tampered) {
		afterwards(r, func(st *rt.PodStatus) {
			for i := range st.Sandboxes {
				st.Sandboxes[i].Incarnation = 0
			}
		})
	}},
	{"the list is empty after a restart of the agent", []string{"reopen/records"}, func(r *tampered) {
		r.reopened = func() { r.listPods = func(context.Context) ([]rt.Pod, error) { return nil, nil } }
	}},
	{"the next agent starts its containers again", []string{"reopen/records", "reopen/running"}, func(r *tampered) {
		now := time.Now()
		afterwards(r, func(st *rt.PodStatus) {
			for i := range st.Containers {
				if c := &st.Containers[i]; c.State == rt.StateRunning {
					c.StartedAt = now.Add(time.Hour)
				}
			}
		})
	}},
	{"the next agent cannot ask a container to end", []string{"reopen/running"}, func(r *tampered) {
		r.reopened = func() {
			r.stopContainer = func(ctx context.Context, req rt.StopContainerRequest) error {
				req.Grace = 0
				return r.m.StopContainer(ctx, req)
			}
		}
	}},
	{"what ends without an agent has no code", []string{"reopen/records", "reopen/running", "reopen/exit"}, func(r *tampered) {
		afterwards(r, func(st *rt.PodStatus) {
			for i := range st.Containers {
				st.Containers[i].ExitCode = 255
			}
		})
	}},
	{"what ends without an agent ended when the next one came", []string{"reopen/exit"}, func(r *tampered) {
		afterwards(r, func(st *rt.PodStatus) {
			for i := range st.Containers {
				if c := &st.Containers[i]; c.State == rt.StateExited && c.FinishedAt.Sub(c.StartedAt) > time.Second {
					c.FinishedAt = c.FinishedAt.Add(time.Minute)
				}
			}
		})
	}},
	{"the next agent takes attempts that are taken", []string{"reopen/attempts"}, func(r *tampered) {
		r.reopened = func() {
			r.createContainer = func(ctx context.Context, req rt.CreateContainerRequest) (string, error) {
				id, err := r.m.CreateContainer(ctx, req)
				return id, instead(err, rt.ErrExists, nil)
			}
		}
	}},
	{"removed records return with the next agent", []string{"reopen/removed"}, func(r *tampered) {
		removed := map[types.UID]rt.ContainerStatus{}
		r.removeContainer = func(ctx context.Context, req rt.RemoveContainerRequest) error {
			if p, _, ok := r.find(req.ContainerID); ok {
				for _, c := range r.m.SnapshotStatus(p.UID).Containers {
					if c.ID == req.ContainerID {
						removed[p.UID] = c
					}
				}
			}
			return r.m.RemoveContainer(ctx, req)
		}
		r.reopened = func() {
			statusThrough(r, func(st *rt.PodStatus) {
				if c, ok := removed[st.UID]; ok && len(st.Sandboxes) > 0 {
					st.Containers = append(st.Containers, c)
				}
			})
		}
	}},
	{"logs are lost with the agent", []string{"reopen/log"}, func(r *tampered) {
		r.reopened = func() {
			r.readLog = func(ctx context.Context, req rt.ReadLogRequest, w io.Writer) error {
				return errors.Join(r.m.ReadLog(ctx, req, io.Discard))
			}
		}
	}},
}
