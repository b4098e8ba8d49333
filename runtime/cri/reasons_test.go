package cri_test

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	criv1 "k8s.io/cri-api/pkg/apis/runtime/v1"

	"github.com/podkeel/podkeel/runtime"
	"github.com/podkeel/podkeel/runtime/cri"
)

// F54: each verb that makes, stops or removes something has its own deadline.
func TestDeadline_F54_OfEachVerb(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newFake(t)
		r := s.client("me", func(c *cri.Config) {
			c.Deadlines = cri.Deadlines{Read: time.Second, Make: 2 * time.Second, Remove: 3 * time.Second, Pull: 4 * time.Second}
		})
		sandbox, id := running(t, r, web)
		created := containerOf(web, sandbox)
		created.Attempt = 1
		next, err := r.CreateContainer(t.Context(), created)
		require.NoError(t, err)
		created.Attempt = 2
		for verb, c := range map[string]struct {
			want time.Duration
			do   func(context.Context) error
		}{
			"RunPodSandbox": {2 * time.Second, func(ctx context.Context) error {
				return errorOf(r.RunSandbox(ctx, sandboxOf(runtime.PodRef{UID: "v"})))
			}},
			"CreateContainer": {2 * time.Second, func(ctx context.Context) error { return errorOf(r.CreateContainer(ctx, created)) }},
			"StartContainer": {2 * time.Second, func(ctx context.Context) error {
				return r.StartContainer(ctx, runtime.StartContainerRequest{ContainerID: next})
			}},
			"StopContainer": {3*time.Second + 7*time.Second + time.Second, func(ctx context.Context) error {
				return r.StopContainer(ctx, runtime.StopContainerRequest{ContainerID: id, Grace: 7 * time.Second})
			}},
			"RemoveContainer": {3 * time.Second, func(ctx context.Context) error {
				return r.RemoveContainer(ctx, runtime.RemoveContainerRequest{ContainerID: next})
			}},
			"StopPodSandbox": {3 * time.Second, func(ctx context.Context) error {
				return r.StopSandbox(ctx, runtime.StopSandboxRequest{SandboxID: sandbox})
			}},
			"RemovePodSandbox": {3 * time.Second, func(ctx context.Context) error {
				return r.RemoveSandbox(ctx, runtime.RemoveSandboxRequest{SandboxID: sandbox})
			}},
			"PullImage": {4 * time.Second, func(ctx context.Context) error {
				return errorOf(r.PullImage(ctx, runtime.PullImageRequest{Image: "x"}))
			}},
		} {
			s.onInstead(func(ctx context.Context, method string, _ any) (any, error) {
				if method != verb {
					return nil, nil
				}
				<-ctx.Done()
				return nil, status.FromContextError(ctx.Err()).Err()
			})
			began := time.Now()
			require.Error(t, c.do(t.Context()), verb)
			assert.Equal(t, c.want, time.Since(began), verb)
		}
	})
}

// late is a context whose timer is slow: it does not end at its deadline.
type late struct {
	context.Context
	at time.Time
}

func (l late) Deadline() (time.Time, bool) { return l.at, true }

// F54: the time decides which deadline has passed, not the order of the errors. The runtime may answer a moment before
// the caller's context ends, or long before it, when only our own deadline has passed.
func TestDeadline_F54_Whose(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newFake(t)
		r := s.client("me")
		s.onInstead(func(ctx context.Context, method string, _ any) (any, error) {
			if method != "ListPodSandbox" {
				return nil, nil
			}
			<-ctx.Done()
			return nil, status.FromContextError(ctx.Err()).Err()
		})
		began := time.Now()
		_, err := r.ListPods(late{t.Context(), began.Add(time.Second)})
		assert.Equal(t, time.Second, time.Since(began))
		require.EqualError(t, err, "cri: ListPodSandbox: context deadline exceeded")
		require.ErrorIs(t, err, context.DeadlineExceeded)

		_, err = r.ListPods(late{t.Context(), time.Now().Add(time.Hour)})
		require.ErrorIs(t, err, runtime.ErrNotReady)
		require.NotErrorIs(t, err, context.DeadlineExceeded)
	})
}

// F56: a container's name may be taken by what no list shows yet, and by another
// attempt it is not.
func TestReserved_F56_Container(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newFake(t)
		r := s.client("me")
		sandbox, _ := running(t, r, web)
		next := containerOf(web, sandbox)
		next.Attempt = 1
		s.fails("CreateContainer", status.Error(codes.Unknown, `failed to reserve container name "a": name "a" is reserved for "b"`))
		require.ErrorIs(t, errorOf(r.CreateContainer(t.Context(), next)), runtime.ErrExists)
		s.fails("CreateContainer", status.Error(codes.Unknown, "something else"))
		err := errorOf(r.CreateContainer(t.Context(), next))
		require.EqualError(t, err, "cri: CreateContainer: Unknown: something else", "another attempt is there, not this one")
		next.Attempt = 0
		require.ErrorIs(t, errorOf(r.CreateContainer(t.Context(), next)), runtime.ErrExists)
	})
}

// Why a container could not be made is looked for: its image is not there, or its
// sandbox is not.
func TestCreateContainer_WhyNot(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newFake(t)
		r := s.client("me")
		sandbox, _ := running(t, r, web)
		next := containerOf(web, sandbox)
		next.Attempt, next.Image = 1, "never-pulled"
		s.fails("CreateContainer", status.Error(codes.Unknown, "failed"))
		err := errorOf(r.CreateContainer(t.Context(), next))
		require.ErrorIs(t, err, runtime.ErrNotFound)
		require.ErrorContains(t, err, "never-pulled")
		require.NoError(t, r.StopSandbox(t.Context(), runtime.StopSandboxRequest{SandboxID: sandbox}))
		require.ErrorIs(t, errorOf(r.CreateContainer(t.Context(), next)), runtime.ErrWrongState)
	})
}

// F57: a container that had ended before it was started has not failed to start; one
// that ended by it has, and keeps the runtime's reason.
func TestStart_F57_EndedBeforeOrByIt(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newFake(t)
		r := s.client("me")
		_, id := running(t, r, web)
		require.NoError(t, stop(t, r, id, 0))
		time.Sleep(time.Second)
		start := runtime.StartContainerRequest{ContainerID: id}
		s.fails("StartContainer", status.Error(codes.Unknown, "no such command"))
		require.ErrorIs(t, r.StartContainer(t.Context(), start), runtime.ErrWrongState)
		s.onAfter(func(_ string, _, res any) (any, error) {
			if c, ok := res.(*criv1.ContainerStatusResponse); ok {
				c.Status.FinishedAt = time.Now().Add(time.Millisecond).UnixNano()
			}
			return res, nil
		})
		require.EqualError(t, r.StartContainer(t.Context(), start), "cri: StartContainer: Unknown: no such command")
	})
}

// F58: a sandbox that is said to be stopped and is ready is an error, with nothing in
// it too.
func TestStop_F58_EmptySandbox(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newFake(t)
		r := s.client("me")
		sandbox, err := r.RunSandbox(t.Context(), sandboxOf(web))
		require.NoError(t, err)
		s.onInstead(func(_ context.Context, method string, _ any) (any, error) {
			if method == "StopPodSandbox" {
				return &criv1.StopPodSandboxResponse{}, nil
			}
			return nil, nil
		})
		err = r.StopSandbox(t.Context(), runtime.StopSandboxRequest{SandboxID: sandbox})
		require.ErrorIs(t, err, cri.ErrStillRuns)
		assert.Contains(t, err.Error(), "sandbox "+sandbox)
	})
}

// The codes of gRPC that have a name of ours.
func TestErrors_Codes(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newFake(t)
		r := s.client("me")
		_, id := running(t, r, web)
		for code, want := range map[codes.Code]error{
			codes.NotFound: runtime.ErrNotFound, codes.AlreadyExists: runtime.ErrExists, codes.FailedPrecondition: runtime.ErrWrongState,
			codes.Unavailable: runtime.ErrNotReady, codes.DeadlineExceeded: runtime.ErrNotReady, codes.Canceled: runtime.ErrNotReady,
			codes.Unimplemented: runtime.ErrUnsupported,
		} {
			s.fails("ExecSync", status.Error(code, "so"))
			require.ErrorIs(t, errorOf(r.Exec(t.Context(), runtime.ExecRequest{ContainerID: id, Command: []string{"x"}})), want, code)
		}
	})
}

// A runtime that answers without an ID has answered nothing.
func TestMalformed_F62_WithoutAnID(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newFake(t)
		r := s.client("me")
		sandbox, _ := running(t, r, web)
		next := containerOf(web, sandbox)
		next.Attempt = 1
		s.onInstead(func(_ context.Context, method string, _ any) (any, error) {
			switch method {
			case "RunPodSandbox":
				return &criv1.RunPodSandboxResponse{}, nil
			case "CreateContainer":
				return &criv1.CreateContainerResponse{}, nil
			}
			return nil, nil
		})
		require.ErrorIs(t, errorOf(r.RunSandbox(t.Context(), sandboxOf(runtime.PodRef{UID: "v"}))), cri.ErrMalformed)
		require.ErrorIs(t, errorOf(r.CreateContainer(t.Context(), next)), cri.ErrMalformed)
		assert.Equal(t, 2, r.Known())
	})
}

// F71: a network that is down is no reason for a pod that has the host's.
func TestRunSandbox_F71_HostNetwork(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newFake(t)
		r := s.client("me")
		s.fails("RunPodSandbox", status.Error(codes.Unknown, "no room"))
		s.onAfter(func(_ string, _, res any) (any, error) {
			if st, ok := res.(*criv1.StatusResponse); ok {
				st.Status.Conditions[1].Status = false
			}
			return res, nil
		})
		req := sandboxOf(web)
		req.Namespaces.HostNetwork = true
		require.EqualError(t, errorOf(r.RunSandbox(t.Context(), req)), "cri: RunPodSandbox: Unknown: no room")
	})
}

// F63, F74: lists in parts ask for one owner's records only.
func TestLists_F63_F74_PartsAreFiltered(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newFake(t)
		r := s.client("me")
		running(t, r, web)
		s.onInstead(func(_ context.Context, _ string, req any) (any, error) {
			switch q := req.(type) {
			case *criv1.ListPodSandboxRequest:
				assert.Equal(t, "me", q.Filter.LabelSelector["podkeel.dev/owner"])
				if q.Filter.State == nil {
					return nil, status.Error(codes.ResourceExhausted, "message larger than max")
				}
			case *criv1.ListContainersRequest:
				assert.Equal(t, "me", q.Filter.LabelSelector["podkeel.dev/owner"])
				if q.Filter.PodSandboxId == "" {
					return nil, status.Error(codes.ResourceExhausted, "message larger than max")
				}
			}
			return nil, nil
		})
		pods, err := r.ListPods(t.Context())
		require.NoError(t, err)
		assert.Len(t, pods, 1)
	})
}
