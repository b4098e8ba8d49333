package cri_test

import (
	"context"
	"errors"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	"k8s.io/apimachinery/pkg/types"
	criv1 "k8s.io/cri-api/pkg/apis/runtime/v1"

	"github.com/podkeel/podkeel/runtime"
	"github.com/podkeel/podkeel/runtime/cri"
)

var web = runtime.PodRef{UID: "u", Name: "web", Namespace: "default", Incarnation: 1}

func sandboxOf(ref runtime.PodRef) runtime.RunSandboxRequest {
	return runtime.RunSandboxRequest{Pod: ref}
}

func containerOf(ref runtime.PodRef, sandbox string) runtime.CreateContainerRequest {
	return runtime.CreateContainerRequest{Pod: ref, SandboxID: sandbox, Name: "main", Image: "busybox", Command: []string{"sleep", "inf"}}
}

// running is a pod that runs.
func running(t *testing.T, r *cri.Runtime, ref runtime.PodRef) (sandbox, container string) {
	_, err := r.PullImage(t.Context(), runtime.PullImageRequest{Image: "busybox"})
	require.NoError(t, err)
	sandbox, err = r.RunSandbox(t.Context(), sandboxOf(ref))
	require.NoError(t, err)
	container, err = r.CreateContainer(t.Context(), containerOf(ref, sandbox))
	require.NoError(t, err)
	require.NoError(t, r.StartContainer(t.Context(), runtime.StartContainerRequest{ContainerID: container}))
	return sandbox, container
}

func statusOf(t *testing.T, r *cri.Runtime, ref runtime.PodRef) *runtime.PodStatus {
	st, err := r.PodStatus(t.Context(), ref.UID)
	require.NoError(t, err)
	return st
}

func stop(t *testing.T, r *cri.Runtime, id string, grace time.Duration) error {
	return r.StopContainer(t.Context(), runtime.StopContainerRequest{ContainerID: id, Grace: grace})
}

// F53, F67, F73: while no runtime listens, every call fails at once. Soon after
// a runtime listens, calls succeed, and the handshake is repeated.
func TestConnection_F53_F67_F73(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newFake(t)
		s.stop()
		connected := 0
		r := s.client("me", func(c *cri.Config) {
			c.Hooks.Connected = func(name, _ string) { connected++; assert.Equal(t, "fake", name) }
		})
		for range 3 {
			_, err := r.ListPods(t.Context())
			require.ErrorIs(t, err, runtime.ErrNotReady)
			time.Sleep(10 * time.Minute)
		}
		for up := range 3 {
			s.start()
			time.Sleep(2 * time.Second)
			_, err := r.ListPods(t.Context())
			require.NoError(t, err)
			_, err = r.ListPods(t.Context())
			require.NoError(t, err)
			assert.Equal(t, up+1, connected)
			s.stop()
			_, err = r.ListPods(t.Context())
			require.ErrorIs(t, err, runtime.ErrNotReady)
		}
		_, err := r.ListPods(t.Context())
		require.ErrorIs(t, err, runtime.ErrNotReady)
	})
}

// What does not speak v1 is not spoken with.
func TestConnection_OtherVersionsAreUnsupported(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newFake(t)
		s.onAfter(func(method string, _, res any) (any, error) {
			if v, ok := res.(*criv1.VersionResponse); ok {
				v.RuntimeApiVersion = "v2"
			}
			return res, nil
		})
		_, err := s.client("me").ListPods(t.Context())
		require.ErrorIs(t, err, runtime.ErrUnsupported)
		assert.Zero(t, s.called("ListPodSandbox"))
	})
}

// F54: a call that hangs ends at its own deadline, or at its caller's.
func TestDeadline_F54(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newFake(t)
		r := s.client("me")
		s.onInstead(func(ctx context.Context, method string, _ any) (any, error) {
			if method == "Version" || method == "Status" {
				return nil, nil
			}
			<-ctx.Done()
			return nil, status.FromContextError(ctx.Err()).Err()
		})
		for _, c := range []struct {
			want time.Duration
			do   func(context.Context) error
		}{
			{30 * time.Second, func(ctx context.Context) error { _, err := r.ListPods(ctx); return err }},
			{4 * time.Minute, func(ctx context.Context) error { _, err := r.RunSandbox(ctx, sandboxOf(web)); return err }},
			{2 * time.Minute, func(ctx context.Context) error {
				return r.RemoveImage(ctx, runtime.RemoveImageRequest{Image: "x"})
			}},
			{time.Hour, func(ctx context.Context) error {
				_, err := r.PullImage(ctx, runtime.PullImageRequest{Image: "x"})
				return err
			}},
		} {
			began := time.Now()
			err := c.do(t.Context())
			require.Error(t, err)
			assert.NotErrorIs(t, err, context.DeadlineExceeded, "no deadline was set")
			assert.Equal(t, c.want, time.Since(began))
			began = time.Now()
			ctx, cancel := context.WithTimeout(t.Context(), time.Second)
			require.ErrorIs(t, c.do(ctx), context.DeadlineExceeded)
			assert.Equal(t, time.Second, time.Since(began))
			cancel()
		}
	})
}

// F55, F56, I37: a record whose reply was lost is ErrExists when it
// is asked for again, is seen by its labels, and is there once.
func TestLostReplies_F55_F56(t *testing.T) {
	for _, lost := range []codes.Code{codes.Unavailable, codes.DeadlineExceeded, codes.Canceled} {
		synctest.Test(t, func(t *testing.T) {
			s := newFake(t)
			r := s.client("me")
			_, err := r.PullImage(t.Context(), runtime.PullImageRequest{Image: "busybox"})
			require.NoError(t, err)
			s.loses("RunPodSandbox", status.Error(lost, "lost"))
			_, err = r.RunSandbox(t.Context(), sandboxOf(web))
			require.ErrorIs(t, err, runtime.ErrNotReady)
			_, err = r.RunSandbox(t.Context(), sandboxOf(web))
			require.ErrorIs(t, err, runtime.ErrExists)
			st := statusOf(t, r, web)
			require.Len(t, st.Sandboxes, 1)

			// An agent that knows nothing adopts it.
			r = s.client("me")
			s.loses("CreateContainer", status.Error(lost, "lost"))
			_, err = r.CreateContainer(t.Context(), containerOf(web, st.Sandboxes[0].ID))
			require.ErrorIs(t, err, runtime.ErrNotReady)
			_, err = r.CreateContainer(t.Context(), containerOf(web, st.Sandboxes[0].ID))
			require.ErrorIs(t, err, runtime.ErrExists)
			st = statusOf(t, r, web)
			require.Len(t, st.Containers, 1)
			assert.Equal(t, uint64(1), st.Containers[0].Incarnation)

			s.loses("StartContainer", status.Error(lost, "lost"))
			start := runtime.StartContainerRequest{ContainerID: st.Containers[0].ID}
			require.ErrorIs(t, r.StartContainer(t.Context(), start), runtime.ErrNotReady)
			require.NoError(t, r.StartContainer(t.Context(), start), "it runs")
		})
	}
}

// F56: a name may belong to a sandbox that no list shows yet, or to another owner. The error distinguishes the two.
func TestReserved_F56(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newFake(t)
		r := s.client("me")
		s.fails("RunPodSandbox", status.Error(codes.Unknown, `failed to reserve sandbox name "a": name "a" is reserved for "b"`))
		_, err := r.RunSandbox(t.Context(), sandboxOf(web))
		require.ErrorIs(t, err, runtime.ErrExists)
		s.fails("RunPodSandbox", status.Error(codes.Unknown, "something else"))
		_, err = r.RunSandbox(t.Context(), sandboxOf(web))
		require.NotErrorIs(t, err, runtime.ErrExists)
		s.onInstead(nil)
		sandbox, err := s.client("you").RunSandbox(t.Context(), sandboxOf(web))
		require.NoError(t, err)
		_, err = r.RunSandbox(t.Context(), sandboxOf(web))
		require.ErrorIs(t, err, cri.ErrForeign)
		assert.Contains(t, err.Error(), sandbox)
		assert.NotErrorIs(t, err, runtime.ErrExists)
	})
}

// F57: a failed start is not reported as a start of an exited container.
func TestStart_F57(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newFake(t)
		r := s.client("me")
		_, err := r.PullImage(t.Context(), runtime.PullImageRequest{Image: "busybox"})
		require.NoError(t, err)
		sandbox, err := r.RunSandbox(t.Context(), sandboxOf(web))
		require.NoError(t, err)
		id, err := r.CreateContainer(t.Context(), containerOf(web, sandbox))
		require.NoError(t, err)
		s.fails("StartContainer", status.Error(codes.Unknown, "no such command"))
		err = r.StartContainer(t.Context(), runtime.StartContainerRequest{ContainerID: id})
		require.Error(t, err)
		assert.NotErrorIs(t, err, runtime.ErrWrongState)
		assert.Contains(t, err.Error(), "no such command")
	})
}

// I37: a start that an agent sent before it died is under way. That is no failure,
// and not this one's either.
func TestStart_I37_UnderWay(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newFake(t)
		r := s.client("me")
		_, err := r.PullImage(t.Context(), runtime.PullImageRequest{Image: "busybox"})
		require.NoError(t, err)
		sandbox, err := r.RunSandbox(t.Context(), sandboxOf(web))
		require.NoError(t, err)
		id, err := s.client("me").CreateContainer(t.Context(), containerOf(web, sandbox))
		require.NoError(t, err)
		s.fails("StartContainer", status.Error(codes.Unknown, "container is already in starting state"))
		require.ErrorIs(t, r.StartContainer(t.Context(), runtime.StartContainerRequest{ContainerID: id}), runtime.ErrExists)
		s.onInstead(nil)
		require.NoError(t, r.StartContainer(t.Context(), runtime.StartContainerRequest{ContainerID: id}))
		assert.Equal(t, runtime.StateRunning, statusOf(t, r, web).Containers[0].State)
	})
}

// I37: an agent sends a start and dies. The next agent observes the start, even if it had inspected the container
// before the start. So it does not remove a container that ran as one that never started.
func TestRemove_I37_StartedMeanwhile(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newFake(t)
		former, r := s.client("me"), s.client("me")
		sandbox, exited := running(t, former, web)
		require.NoError(t, stop(t, former, exited, 0))
		next := containerOf(web, sandbox)
		next.Attempt = 1
		id, err := former.CreateContainer(t.Context(), next)
		require.NoError(t, err)
		st := statusOf(t, r, web)
		require.Equal(t, runtime.StateCreated, st.Containers[0].State)
		require.NoError(t, former.StartContainer(t.Context(), runtime.StartContainerRequest{ContainerID: id}))
		for _, ended := range []bool{false, true} {
			if ended {
				require.NoError(t, stop(t, former, id, 0))
			}
			err := r.RemoveContainer(t.Context(), runtime.RemoveContainerRequest{ContainerID: id, NeverRan: true})
			require.ErrorIs(t, err, runtime.ErrWrongState)
		}
		assert.Zero(t, s.called("RemoveContainer"))
		assert.Len(t, statusOf(t, r, web).Containers, 2)
	})
}

// F58: a container that runs after a successful stop is an error.
func TestStop_F58_Lies(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newFake(t)
		r := s.client("me")
		sandbox, id := running(t, r, web)
		s.onInstead(func(_ context.Context, method string, _ any) (any, error) {
			switch method {
			case "StopContainer":
				return &criv1.StopContainerResponse{}, nil
			case "StopPodSandbox":
				return &criv1.StopPodSandboxResponse{}, nil
			}
			return nil, nil
		})
		require.ErrorIs(t, stop(t, r, id, 0), cri.ErrStillRuns)
		err := r.StopSandbox(t.Context(), runtime.StopSandboxRequest{SandboxID: sandbox})
		require.ErrorIs(t, err, cri.ErrStillRuns)
		assert.Contains(t, err.Error(), "container "+id)
		s.onInstead(nil)
		require.NoError(t, r.StopSandbox(t.Context(), runtime.StopSandboxRequest{SandboxID: sandbox}))
	})
}

// F59, F72: a stop that failed and stopped is one; a sandbox that cannot be
// stopped is an error.
func TestStop_F59_F72(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newFake(t)
		r := s.client("me")
		sandbox, id := running(t, r, web)
		s.loses("StopContainer", status.Error(codes.Unknown, "shim is confused"))
		require.NoError(t, stop(t, r, id, 0))
		s.fails("StopPodSandbox", status.Error(codes.Unknown, "device or resource busy"))
		require.ErrorContains(t, r.StopSandbox(t.Context(), runtime.StopSandboxRequest{SandboxID: sandbox}), "busy")
	})
}

// Graces are in whole seconds, rounded up: none means no asking.
func TestStop_Grace(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newFake(t)
		r := s.client("me")
		_, id := running(t, r, web)
		require.NoError(t, stop(t, r, id, 0))
		for grace, want := range map[time.Duration]int64{
			0: 0, -time.Second: 0, time.Nanosecond: 1, time.Second: 1, 1500 * time.Millisecond: 2, math.MaxInt64: math.MaxInt64/int64(time.Second) + 1,
		} {
			require.NoError(t, stop(t, r, id, grace))
			assert.Equal(t, want, last[*criv1.StopContainerRequest](s.fake).Timeout, "%s", grace)
		}
	})
}

// F62: malformed records are skipped and told of, unknown states are unknown, a
// status of something else is none.
func TestMalformed_F62(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newFake(t)
		var skipped []cri.Skipped
		r := s.client("me", func(c *cri.Config) { c.Hooks.Skipped = func(k cri.Skipped) { skipped = append(skipped, k) } })
		_, id := running(t, r, web)
		s.onAfter(func(_ string, _, res any) (any, error) {
			switch l := res.(type) {
			case *criv1.ListPodSandboxResponse:
				l.Items = append(l.Items, &criv1.PodSandbox{Id: "nameless"}, &criv1.PodSandbox{})
			case *criv1.ListContainersResponse:
				for _, c := range l.Containers {
					c.State = 77
				}
				l.Containers = append(l.Containers, &criv1.Container{Id: "foreign", Metadata: &criv1.ContainerMetadata{Name: "x"}})
			}
			return res, nil
		})
		pods, err := r.ListPods(t.Context())
		require.NoError(t, err)
		require.Len(t, pods, 1)
		require.Len(t, pods[0].Containers, 1)
		assert.Equal(t, runtime.StateUnknown, pods[0].Containers[0].State)
		assert.Equal(t, []cri.Skipped{
			{Kind: "sandbox", ID: "nameless", Reason: "no metadata"}, {Kind: "sandbox", Reason: "no ID"},
			{Kind: "container", ID: "foreign", Reason: "another owner"},
		}, skipped)
		for _, answer := range []*criv1.ContainerStatus{nil, {Id: "another"}} {
			s.onAfter(func(_ string, _, res any) (any, error) {
				if c, ok := res.(*criv1.ContainerStatusResponse); ok {
					c.Status = answer
				}
				return res, nil
			})
			_, err = r.PodStatus(t.Context(), web.UID)
			require.ErrorIs(t, err, cri.ErrMalformed)
			require.ErrorIs(t, stop(t, r, id, 0), cri.ErrMalformed)
		}
	})
}

// A record that goes between the list and its status has gone.
func TestPodStatus_GoneMeanwhile(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newFake(t)
		r := s.client("me")
		running(t, r, web)
		s.fails("ContainerStatus", status.Error(codes.NotFound, "gone"))
		st := statusOf(t, r, web)
		assert.Len(t, st.Sandboxes, 1)
		assert.Empty(t, st.Containers)
		s.fails("ContainerStatus", status.Error(codes.Unknown, "disk"))
		_, err := r.PodStatus(t.Context(), web.UID)
		require.Error(t, err, "not absent")
	})
}

// A runtime that is not ready is not believed that anything is absent.
func TestLists_NotReady(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newFake(t)
		r := s.client("me")
		s.onAfter(func(_ string, _, res any) (any, error) {
			if st, ok := res.(*criv1.StatusResponse); ok {
				st.Status.Conditions = []*criv1.RuntimeCondition{{Type: criv1.RuntimeReady, Message: "recovering"}}
			}
			return res, nil
		})
		_, err := r.ListPods(t.Context())
		require.ErrorIs(t, err, runtime.ErrNotReady)
		require.ErrorContains(t, err, "recovering")
		_, err = r.PodStatus(t.Context(), web.UID)
		require.ErrorIs(t, err, runtime.ErrNotReady)
	})
}

// F63, F64: lists that are too long for a message come in parts, by whatever
// way there is.
func TestLists_F63_F64_TooLong(t *testing.T) {
	tooLong := status.Error(codes.ResourceExhausted, "message larger than max")
	whole := func(req any) bool {
		switch q := req.(type) {
		case *criv1.ListPodSandboxRequest:
			return q.Filter.State == nil
		case *criv1.ListContainersRequest:
			return q.Filter.State == nil
		}
		return false
	}
	for name, c := range map[string]struct {
		parts bool
		inOne bool // the stream has but one part, which is too long as well
		long  func(req any) bool
	}{
		"a stream":        {parts: true, long: whole},
		"a stream of one": {inOne: true, long: whole},
		"of one, by sandbox": {inOne: true, long: func(req any) bool {
			q, ok := req.(*criv1.ListContainersRequest)
			return whole(req) || ok && q.Filter.PodSandboxId == ""
		}},
		"by state": {long: whole},
		"by sandbox": {long: func(req any) bool {
			q, ok := req.(*criv1.ListContainersRequest)
			return whole(req) || ok && q.Filter.PodSandboxId == ""
		}},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				s := newFake(t)
				r := s.client("me")
				running(t, r, web)
				running(t, r, runtime.PodRef{UID: "v", Name: "other"})
				running(t, s.client("you"), runtime.PodRef{UID: "w", Name: "foreign"})
				want, err := r.ListPods(t.Context())
				require.NoError(t, err)
				s.mu.Lock()
				s.parts, s.longParts = c.parts, c.inOne
				s.mu.Unlock()
				s.onInstead(func(_ context.Context, _ string, req any) (any, error) {
					if c.long(req) {
						return nil, tooLong
					}
					return nil, nil
				})
				for range 2 {
					got, err := r.ListPods(t.Context())
					require.NoError(t, err)
					assert.Equal(t, want, got)
				}
				streams := s.called("StreamPodSandboxes") + s.called("StreamContainers")
				switch {
				case c.parts:
					assert.Equal(t, 4, streams)
				case !c.inOne:
					assert.LessOrEqual(t, streams, 2, "who cannot is asked the first time only")
				}
			})
		})
	}
}

// F63: the limit is ours, too.
func TestLists_F63_OwnLimit(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newFake(t)
		r := s.client("me", func(c *cri.Config) { c.MaxMessageBytes = 4096 })
		for i := range 20 {
			ref := web
			ref.UID = types.UID(fmt.Sprintf("u-%d", i))
			_, err := r.RunSandbox(t.Context(), sandboxOf(ref))
			require.NoError(t, err)
		}
		_, err := r.ListPods(t.Context())
		require.Error(t, err, "neither whole nor by state")
		s.mu.Lock()
		s.parts = true
		s.mu.Unlock()
		s.stop()
		s.start()
		_, _ = r.ListPods(t.Context()) // This one finds the connection lost.
		time.Sleep(2 * time.Second)
		_, _ = r.ListPods(t.Context())
		pods, err := r.ListPods(t.Context())
		require.NoError(t, err, "a runtime that can, as was found out on the new connection")
		assert.Len(t, pods, 20)
	})
}

// F63: a list of images can only be read in parts as a stream. Otherwise the error says that it is too long.
func TestListImages_F63_TooLong(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newFake(t)
		r := s.client("me")
		s.fails("ListImages", status.Error(codes.ResourceExhausted, "message larger than max"))
		_, err := r.ListImages(t.Context())
		require.EqualError(t, err, "cri: ListImages: ResourceExhausted: message larger than max")
	})
}

// F64, F65: if the runtime has no event stream, Events returns ErrUnsupported, and asks again at the next call. A
// stream that breaks is an error, and works when it is opened again. Repeated events and events of other owners do no
// harm.
func TestEvents_F64_F65_F66(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newFake(t)
		r := s.client("me")
		sandbox, id := running(t, r, web)
		var seen []runtime.Event
		open := func() error {
			seen = nil
			return r.Events(t.Context(), func(e runtime.Event) { seen = append(seen, e) })
		}
		s.fails("GetContainerEvents", status.Error(codes.Unimplemented, "no"))
		require.ErrorIs(t, open(), runtime.ErrUnsupported)
		s.onInstead(nil)

		mine := &criv1.PodSandboxStatus{Id: sandbox, Metadata: &criv1.PodSandboxMetadata{Uid: "u"}, Labels: map[string]string{"podkeel.dev/owner": "me"}}
		theirs := &criv1.PodSandboxStatus{Id: "x", Metadata: &criv1.PodSandboxMetadata{Uid: "v"}, Labels: map[string]string{"podkeel.dev/owner": "you"}}
		send := func(err error) {
			s.mu.Lock()
			defer s.mu.Unlock()
			s.events = func(stream grpc.ServerStreamingServer[criv1.ContainerEventResponse]) error {
				for _, e := range []*criv1.ContainerEventResponse{
					{ContainerId: id, CreatedAt: math.MaxInt64, PodSandboxStatus: mine}, {ContainerId: id, CreatedAt: -5, PodSandboxStatus: mine},
					{ContainerId: "x", PodSandboxStatus: theirs}, {ContainerId: "nobody's"}, {}, {ContainerId: sandbox},
				} {
					if err := stream.Send(e); err != nil {
						return err
					}
				}
				return err
			}
		}
		for _, end := range []error{status.Error(codes.Unavailable, "going down"), nil, errors.New("broken")} {
			send(end)
			require.Error(t, open())
			require.Len(t, seen, 3)
			assert.Equal(t, runtime.Event{UID: "u", ContainerID: id}, runtime.Event{UID: seen[0].UID, ContainerID: seen[0].ContainerID})
			assert.True(t, seen[1].At.IsZero())
			assert.Equal(t, "u", string(seen[2].UID), "by its ID alone")
		}
	})
}

// I38, F74: two agents on one runtime do not see each other, and touch nothing
// that is not theirs.
func TestOwners_I38_F74(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newFake(t)
		me, you := s.client("me"), s.client("you")
		sandbox, id := running(t, you, web)
		pods, err := me.ListPods(t.Context())
		require.NoError(t, err)
		assert.Empty(t, pods)
		assert.Equal(t, &runtime.PodStatus{UID: web.UID}, statusOf(t, me, web))
		before := statusOf(t, you, web)
		ctx := t.Context()
		for verb, err := range map[string]error{
			"StopPodSandbox":           me.StopSandbox(ctx, runtime.StopSandboxRequest{SandboxID: sandbox}),
			"RemovePodSandbox":         me.RemoveSandbox(ctx, runtime.RemoveSandboxRequest{SandboxID: sandbox}),
			"StopContainer":            stop(t, me, id, 0),
			"RemoveContainer":          me.RemoveContainer(ctx, runtime.RemoveContainerRequest{ContainerID: id}),
			"UpdateContainerResources": me.UpdateContainer(ctx, runtime.UpdateContainerRequest{ContainerID: id, Resources: runtime.Resources{CPUShares: 2}}),
			"ReopenContainerLog":       me.ReopenContainerLog(ctx, id),
			"ExecSync":                 errorOf(me.Exec(ctx, runtime.ExecRequest{ContainerID: id, Command: []string{"true"}})),
		} {
			require.ErrorIs(t, err, cri.ErrForeign, verb)
			assert.Zero(t, s.called(verb), verb)
		}
		require.ErrorIs(t, me.StartContainer(ctx, runtime.StartContainerRequest{ContainerID: id}), cri.ErrForeign)
		_, err = me.CreateContainer(ctx, containerOf(web, sandbox))
		require.ErrorIs(t, err, cri.ErrForeign)
		assert.Equal(t, before, statusOf(t, you, web))
	})
}

func errorOf[R any](_ R, err error) error { return err }

// A cached record costs no second call; a removed record leaves the cache.
func TestRecords(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newFake(t)
		r := s.client("me")
		sandbox, id := running(t, r, web)
		require.NoError(t, stop(t, r, id, 0))
		assert.Zero(t, s.called("ListContainers")+s.called("ListPodSandbox"))
		again := s.client("me")
		_, err := again.ListPods(t.Context())
		require.NoError(t, err)
		lists := s.called("ListContainers")
		require.NoError(t, stop(t, again, id, 0))
		assert.Equal(t, lists, s.called("ListContainers"), "a list makes known")
		require.NoError(t, r.RemoveSandbox(t.Context(), runtime.RemoveSandboxRequest{SandboxID: sandbox}))
		stops := s.called("StopContainer")
		require.ErrorIs(t, stop(t, r, id, 0), runtime.ErrNotFound)
		assert.Equal(t, stops, s.called("StopContainer"), "its containers went with it")
		assert.Equal(t, 2, r.Known(), "for events that come late")
		for range 2 {
			_, err = r.ListPods(t.Context())
			require.NoError(t, err)
		}
		assert.Zero(t, r.Known())
	})
}

// I37: while something is being made it is not asked for again.
func TestMaking_I37(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newFake(t)
		r := s.client("me")
		sandbox, _ := running(t, r, web)
		other := runtime.PodRef{UID: "v", Name: "other"}
		next := containerOf(web, sandbox)
		next.Attempt = 1
		s.onInstead(func(ctx context.Context, method string, _ any) (any, error) {
			if method == "RunPodSandbox" || method == "CreateContainer" {
				<-ctx.Done()
				return nil, status.FromContextError(ctx.Err()).Err()
			}
			return nil, nil
		})
		for verb, make := range map[string]func() error{
			"RunPodSandbox":   func() error { _, err := r.RunSandbox(t.Context(), sandboxOf(other)); return err },
			"CreateContainer": func() error { _, err := r.CreateContainer(t.Context(), next); return err },
		} {
			calls := s.called(verb)
			go func() { assert.ErrorIs(t, make(), runtime.ErrNotReady) }()
			synctest.Wait()
			require.ErrorIs(t, make(), runtime.ErrExists)
			assert.Equal(t, calls+1, s.called(verb))
			time.Sleep(time.Hour)
			require.ErrorIs(t, make(), runtime.ErrNotReady, "not for ever")
		}
	})
}

// A part of an ID is none, whatever the runtime takes it for.
func TestRecords_PartOfAnID(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newFake(t)
		r := s.client("me")
		sandbox, id := running(t, r, web)
		s.onInstead(func(ctx context.Context, _ string, req any) (any, error) {
			switch q := req.(type) {
			case *criv1.ListContainersRequest:
				return s.ListContainers(ctx, &criv1.ListContainersRequest{Filter: &criv1.ContainerFilter{LabelSelector: q.Filter.LabelSelector}})
			case *criv1.ListPodSandboxRequest:
				return s.ListPodSandbox(ctx, &criv1.ListPodSandboxRequest{Filter: &criv1.PodSandboxFilter{LabelSelector: q.Filter.LabelSelector}})
			}
			return nil, nil
		})
		for _, part := range []string{"", id[:1]} {
			require.ErrorIs(t, stop(t, r, part, 0), runtime.ErrNotFound)
		}
		for _, part := range []string{"", sandbox[:1]} {
			require.ErrorIs(t, r.StopSandbox(t.Context(), runtime.StopSandboxRequest{SandboxID: part}), runtime.ErrNotFound)
		}
		assert.Zero(t, s.called("StopContainer")+s.called("StopPodSandbox"))
		require.NoError(t, r.RemoveContainer(t.Context(), runtime.RemoveContainerRequest{}), "there is none")
		lists := s.called("ListPodSandbox")
		require.NoError(t, r.StopSandbox(t.Context(), runtime.StopSandboxRequest{SandboxID: sandbox}))
		assert.Equal(t, lists, s.called("ListPodSandbox"), "the sandbox is still known")
	})
}

// F70, F71: an image or a network that cannot be had is no sick runtime.
func TestNames_F70_F71(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newFake(t)
		r := s.client("me")
		for _, code := range []codes.Code{codes.NotFound, codes.Unavailable, codes.Unknown, codes.Unauthenticated} {
			s.fails("PullImage", status.Error(code, "registry"))
			_, err := r.PullImage(t.Context(), runtime.PullImageRequest{Image: "x"})
			require.ErrorIs(t, err, runtime.ErrImage)
			assert.NotErrorIs(t, err, runtime.ErrNotReady)
			assert.NotErrorIs(t, err, runtime.ErrNotFound)
		}
		s.fails("RunPodSandbox", status.Error(codes.Unknown, "cni plugin not initialized"))
		s.onAfter(func(_ string, _, res any) (any, error) {
			if st, ok := res.(*criv1.StatusResponse); ok {
				st.Status.Conditions[1].Status = false
			}
			return res, nil
		})
		_, err := r.RunSandbox(t.Context(), sandboxOf(web))
		require.ErrorIs(t, err, runtime.ErrNetworkNotReady)
		s.stop()
		_, err = r.PullImage(t.Context(), runtime.PullImageRequest{Image: "x"})
		require.ErrorIs(t, err, runtime.ErrNotReady)
		assert.NotErrorIs(t, err, runtime.ErrImage)
	})
}

// What an older runtime would pass over is refused here.
func TestUnsupported(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newFake(t)
		r := s.client("me")
		sandbox, _ := running(t, r, web)
		req := containerOf(web, sandbox)
		req.Attempt = 1
		req.Mounts = []runtime.Mount{{ContainerPath: "/a", HostPath: "/b", ReadOnly: true, RecursiveReadOnly: runtime.RecursiveReadOnlyEnabled}}
		_, err := r.CreateContainer(t.Context(), req)
		require.ErrorIs(t, err, runtime.ErrUnsupported)
		req.Mounts[0].RecursiveReadOnly = runtime.RecursiveReadOnlyIfPossible
		_, err = r.CreateContainer(t.Context(), req)
		require.NoError(t, err)
		assert.False(t, last[*criv1.CreateContainerRequest](s.fake).Config.Mounts[0].RecursiveReadOnly, "it is not possible")
		req.Attempt, req.StopSignal = 2, "SIGNONSENSE"
		_, err = r.CreateContainer(t.Context(), req)
		require.ErrorIs(t, err, runtime.ErrUnsupported)
		logs := t.TempDir()
		placed := sandboxOf(runtime.PodRef{UID: "w", Name: "logs"})
		placed.LogDir = filepath.Join(logs, "pod")
		sandbox, err = r.RunSandbox(t.Context(), placed)
		require.NoError(t, err)
		for _, path := range []string{"../0.log", "/0.log", "a/../../b/0.log"} {
			req = containerOf(placed.Pod, sandbox)
			req.LogPath = path
			_, err = r.CreateContainer(t.Context(), req)
			require.ErrorIs(t, err, runtime.ErrUnsupported, path)
		}
		outside, err := filepath.Glob(filepath.Join(logs, "*"))
		require.NoError(t, err)
		assert.Equal(t, []string{placed.LogDir}, outside, "nothing is made elsewhere")
		mapped := sandboxOf(runtime.PodRef{UID: "v"})
		mapped.Namespaces.Users = &runtime.UserNamespace{}
		_, err = r.RunSandbox(t.Context(), mapped)
		require.ErrorIs(t, err, runtime.ErrUnsupported)
	})
}

// What a sandbox was made with is said again for its containers, by an agent
// that has not made it, too.
func TestCreateContainer_SaysThePlaceAgain(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newFake(t)
		logs := filepath.Join(t.TempDir(), "logs")
		req := sandboxOf(web)
		req.LogDir, req.CgroupDir, req.Attempt, req.Security.Privileged, req.Namespaces.HostPID = logs, "/pods", 3, true, true
		_, err := s.client("me").RunSandbox(t.Context(), req)
		require.NoError(t, err)
		r := s.client("me")
		_, _ = r.PullImage(t.Context(), runtime.PullImageRequest{Image: "busybox"})
		_, err = r.CreateContainer(t.Context(), containerOf(web, statusOf(t, r, web).Sandboxes[0].ID))
		require.NoError(t, err)
		got := last[*criv1.CreateContainerRequest](s.fake)
		again := got.SandboxConfig
		assert.Equal(t, []any{logs, "/pods", uint32(3), "u", true}, []any{
			again.LogDirectory, again.Linux.CgroupParent, again.Metadata.Attempt, again.Metadata.Uid, again.Linux.SecurityContext.Privileged,
		})
		assert.Equal(t, criv1.NamespaceMode_NODE, got.Config.Linux.SecurityContext.NamespaceOptions.Pid)
	})
}

// Directories for logs are made, as CRI leaves them to the client; without them
// nothing is made (KC-3).
func TestMake_LogDirectories(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s, file := newFake(t), filepath.Join(t.TempDir(), "file")
		r := s.client("me")
		_, _ = r.PullImage(t.Context(), runtime.PullImageRequest{Image: "busybox"})
		req := sandboxOf(web)
		require.NoError(t, os.WriteFile(file, nil, 0o600))
		req.LogDir = file
		_, err := r.RunSandbox(t.Context(), req)
		require.Error(t, err)
		require.NoError(t, os.Remove(file))
		_, err = r.RunSandbox(t.Context(), req)
		require.NoError(t, err)
		create := containerOf(web, statusOf(t, r, web).Sandboxes[0].ID)
		create.LogPath = "web/3.log"
		require.NoError(t, os.WriteFile(filepath.Join(file, "web"), nil, 0o600))
		_, err = r.CreateContainer(t.Context(), create)
		require.Error(t, err)
		assert.Empty(t, statusOf(t, r, web).Containers)
		require.NoError(t, os.Remove(filepath.Join(file, "web")))
		_, err = r.CreateContainer(t.Context(), create)
		require.NoError(t, err)
		info, err := os.Stat(filepath.Join(file, "web"))
		require.NoError(t, err)
		assert.True(t, info.IsDir())
	})
}

// F13: at most 8 containers of one sandbox are stopped at once. The next
// one follows when the runtime has answered, so that a fast runtime sets the pace itself,
// and after 0.4 s if it has not: a container that uses its grace delays no signal.
func TestStopContainer_F13_PaceFollowsTheRuntime(t *testing.T) {
	for _, c := range []struct {
		name   string
		answer time.Duration   // how long the runtime takes for each stop
		calls  []time.Duration // when the calls of each eight reach it
	}{
		{"at once", 0, []time.Duration{0, 0, 0, 0, 0}},
		{"fast", 10 * time.Millisecond, []time.Duration{0, 10, 20, 30, 40}},
		{"slow", 300 * time.Millisecond, []time.Duration{0, 300, 600, 900, 1200}},
		{"uses the grace", 30 * time.Second, []time.Duration{0, 400, 800, 1200, 1600}},
	} {
		t.Run(c.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				s := newFake(t)
				r := s.client("me")
				ids := crowd(t, r, 40)
				var began time.Time
				var mu sync.Mutex
				var calls []time.Duration
				s.onInstead(func(_ context.Context, method string, _ any) (any, error) {
					if method == "StopContainer" {
						mu.Lock()
						calls = append(calls, time.Since(began))
						mu.Unlock()
						time.Sleep(c.answer)
					}
					return nil, nil
				})
				began = time.Now()
				var wg sync.WaitGroup
				for _, id := range ids {
					wg.Go(func() { assert.NoError(t, stop(t, r, id, time.Minute)) })
				}
				wg.Wait()
				var want []time.Duration
				for _, at := range c.calls {
					want = append(want, slices.Repeat([]time.Duration{at * time.Millisecond}, 8)...)
				}
				assert.Equal(t, want, calls)
				assert.Equal(t, want[39]+c.answer, time.Since(began))
			})
		})
	}
}

// F13: a stop does not wait for stops of another sandbox, and one that is given up while
// it waits is not sent and lets the next one go on.
func TestStopContainer_F13_PlacesAreOfOneSandbox(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newFake(t)
		r := s.client("me")
		_, other := running(t, r, runtime.PodRef{UID: "v", Name: "other"})
		ids := crowd(t, r, 10)
		s.onInstead(func(_ context.Context, method string, req any) (any, error) {
			if stop, ok := req.(*criv1.StopContainerRequest); ok && stop.ContainerId != other {
				time.Sleep(time.Minute)
			}
			return nil, nil
		})
		began := time.Now()
		var wg sync.WaitGroup
		for _, id := range ids[:8] {
			wg.Go(func() { assert.NoError(t, stop(t, r, id, time.Hour)) })
		}
		synctest.Wait()
		ctx, cancel := context.WithTimeout(t.Context(), 10*time.Millisecond)
		defer cancel()
		wg.Go(func() {
			assert.ErrorIs(t, r.StopContainer(ctx, runtime.StopContainerRequest{ContainerID: ids[8]}), context.DeadlineExceeded)
			assert.Equal(t, 10*time.Millisecond, time.Since(began))
		})
		synctest.Wait()
		wg.Go(func() { assert.NoError(t, stop(t, r, ids[9], time.Hour)) })
		require.NoError(t, stop(t, r, other, time.Hour))
		assert.Zero(t, time.Since(began), "another sandbox")
		assert.Equal(t, 9, s.called("StopContainer"))
		wg.Wait()
		assert.Equal(t, 10, s.called("StopContainer"), "the cancelled stop is not sent")
		assert.Equal(t, time.Minute+400*time.Millisecond, time.Since(began))
		assert.Zero(t, r.Lanes(), "nothing is kept of it")
	})
}

// F13: stops and removals of one sandbox reach the runtime one after the other. If containerd gets two at once, one of
// them fails, because the other has taken down the network. Calls for another sandbox do not wait. A call whose context
// ends while it waits is not sent.
func TestStopSandbox_F13_OneAtATime(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newFake(t)
		r := s.client("me")
		sandbox, _ := running(t, r, web)
		other, _ := running(t, r, runtime.PodRef{UID: "v", Name: "other"})
		began := time.Now()
		var mu sync.Mutex
		var calls []string
		s.onInstead(func(_ context.Context, method string, req any) (any, error) {
			var id string
			switch req := req.(type) {
			case *criv1.StopPodSandboxRequest:
				id = req.PodSandboxId
			case *criv1.RemovePodSandboxRequest:
				id = req.PodSandboxId
			default:
				return nil, nil
			}
			mu.Lock()
			calls = append(calls, fmt.Sprint(method, " ", map[string]string{sandbox: "web", other: "other"}[id], " ", time.Since(began)))
			mu.Unlock()
			time.Sleep(time.Second)
			return nil, nil
		})
		stopSandbox := func(ctx context.Context, id string) error {
			return r.StopSandbox(ctx, runtime.StopSandboxRequest{SandboxID: id})
		}
		var wg sync.WaitGroup
		for range 2 {
			wg.Go(func() { assert.NoError(t, stopSandbox(t.Context(), sandbox)) })
			synctest.Wait()
		}
		wg.Go(func() {
			ctx, cancel := context.WithTimeout(t.Context(), time.Millisecond)
			defer cancel()
			assert.ErrorIs(t, stopSandbox(ctx, sandbox), context.DeadlineExceeded)
		})
		synctest.Wait()
		wg.Go(func() {
			assert.NoError(t, r.RemoveSandbox(t.Context(), runtime.RemoveSandboxRequest{SandboxID: sandbox}))
		})
		synctest.Wait()
		wg.Go(func() { assert.NoError(t, stopSandbox(t.Context(), other)) })
		wg.Wait()
		assert.Equal(t, []string{
			"StopPodSandbox web 0s", "StopPodSandbox other 0s", "StopPodSandbox web 1s", "RemovePodSandbox web 2s",
		}, calls)
		assert.Zero(t, r.Lanes(), "nothing is kept of it")
	})
}

// crowd runs n containers in one sandbox.
func crowd(t *testing.T, r *cri.Runtime, n int) (ids []string) {
	t.Helper()
	sandbox, _ := running(t, r, web)
	for i := range n {
		create := containerOf(web, sandbox)
		create.Name = fmt.Sprint("c", i)
		id, err := r.CreateContainer(t.Context(), create)
		require.NoError(t, err)
		require.NoError(t, r.StartContainer(t.Context(), runtime.StartContainerRequest{ContainerID: id}))
		ids = append(ids, id)
	}
	return ids
}

// F14: a path longer than any valid one is not sent to a runtime, which might never
// come back from it.
func TestPaths_F14(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newFake(t)
		r := s.client("me")
		sandbox, id := running(t, r, web)
		long, most := strings.Repeat("x", 4097), strings.Repeat("x", 4096)
		const name = "the name of the program has 4097 bytes, more than the 4096 of a path"
		_, err := r.Exec(t.Context(), runtime.ExecRequest{ContainerID: id, Command: []string{long}})
		require.EqualError(t, err, "cri: ExecSync: "+name)
		_, err = r.ExecStream(t.Context(), runtime.ExecStreamRequest{ContainerID: id, Command: []string{long}}, runtime.Streams{})
		require.EqualError(t, err, "cri: Exec: "+name)
		_, err = r.Exec(t.Context(), runtime.ExecRequest{ContainerID: id, Command: []string{most, long}})
		require.NoError(t, err, "arguments may be longer")
		for want, change := range map[string]func(*runtime.CreateContainerRequest){
			name: func(q *runtime.CreateContainerRequest) { q.Command = []string{long} },
			"the working directory has 4097 bytes, more than the 4096 of a path": func(q *runtime.CreateContainerRequest) { q.WorkingDir = long },
			"the path of a mount has 4097 bytes, more than the 4096 of a path": func(q *runtime.CreateContainerRequest) {
				q.Mounts = []runtime.Mount{{ContainerPath: "/a"}, {ContainerPath: long}}
			},
		} {
			create := containerOf(web, sandbox)
			create.Name = "other"
			change(&create)
			_, err = r.CreateContainer(t.Context(), create)
			require.EqualError(t, err, "cri: CreateContainer: "+want)
		}
		create := containerOf(web, sandbox)
		create.Name, create.Command, create.Args, create.WorkingDir = "other", nil, []string{long}, most
		_, err = r.CreateContainer(t.Context(), create)
		require.NoError(t, err, "the image may name the program")
	})
}

// Exec tells the runtime in whole seconds how long it has; output is cut over
// both streams.
func TestExec(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newFake(t)
		r := s.client("me")
		_, id := running(t, r, web)
		s.onInstead(func(_ context.Context, method string, _ any) (any, error) {
			if method == "ExecSync" {
				return &criv1.ExecSyncResponse{Stdout: []byte("abc"), Stderr: []byte("def"), ExitCode: 4}, nil
			}
			return nil, nil
		})
		for limit, want := range map[int]string{0: "abcdef", 2: "ab", 3: "abc", 4: "abcd", 9: "abcdef"} {
			res, err := r.Exec(t.Context(), runtime.ExecRequest{ContainerID: id, Command: []string{"x"}, OutputLimit: limit})
			require.NoError(t, err)
			assert.Equal(t, runtime.ExecResult{ExitCode: 4, Output: []byte(want)}, res)
		}
		assert.Zero(t, last[*criv1.ExecSyncRequest](s.fake).Timeout)
		for d, want := range map[time.Duration]int64{time.Millisecond: 1, time.Second: 1, 1001 * time.Millisecond: 2} {
			ctx, cancel := context.WithTimeout(t.Context(), d)
			_, _ = r.Exec(ctx, runtime.ExecRequest{ContainerID: id, Command: []string{"x"}})
			cancel()
			assert.Equal(t, want, last[*criv1.ExecSyncRequest](s.fake).Timeout, "%s", d)
		}
		s.fails("ExecSync", status.Error(codes.DeadlineExceeded, "timeout 1s exceeded"))
		ctx, cancel := context.WithTimeout(t.Context(), time.Hour)
		defer cancel()
		_, err := r.Exec(ctx, runtime.ExecRequest{ContainerID: id, Command: []string{"x"}})
		require.ErrorIs(t, err, context.DeadlineExceeded)
	})
}

// An update that asks for nothing is not sent.
func TestUpdate_NothingIsNotSent(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newFake(t)
		r := s.client("me")
		_, id := running(t, r, web)
		require.NoError(t, r.UpdateContainer(t.Context(), runtime.UpdateContainerRequest{ContainerID: id}))
		assert.Zero(t, s.called("UpdateContainerResources"))
		require.NoError(t, r.UpdateContainer(t.Context(), runtime.UpdateContainerRequest{ContainerID: id, Resources: runtime.Resources{CPUShares: 9}}))
		assert.Equal(t, int64(9), last[*criv1.UpdateContainerResourcesRequest](s.fake).Linux.CpuShares)
	})
}

// The file system of images is as full as the kernel says, if it can be seen.
func TestImageFilesystem(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newFake(t)
		r := s.client("me")
		usage, err := r.ImageFilesystem(t.Context())
		require.NoError(t, err)
		assert.Equal(t, runtime.FilesystemUsage{UsedBytes: 7}, usage, "there is no such directory")
		s.onAfter(func(_ string, _, res any) (any, error) {
			if fs, ok := res.(*criv1.ImageFsInfoResponse); ok {
				fs.ImageFilesystems[0].FsId.Mountpoint = "/"
			}
			return res, nil
		})
		usage, err = r.ImageFilesystem(t.Context())
		require.NoError(t, err)
		assert.Greater(t, usage.CapacityBytes, usage.UsedBytes)
		assert.Greater(t, usage.UsedBytes, uint64(7))
	})
}

// The end of a closed client is an error like any other.
func TestClose(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newFake(t)
		r, err := cri.New(cri.Config{Endpoint: "/x", Owner: "me", DialContext: s.dial})
		require.NoError(t, err)
		require.NoError(t, r.Close())
		_, err = r.ListPods(t.Context())
		require.Error(t, err)
	})
}

func TestConfig_SaysAllThatIsWrong(t *testing.T) {
	_, err := cri.New(cri.Config{Endpoint: "tcp://x", Owner: "a b", Deadlines: cri.Deadlines{Read: -1, Pull: -1}, Parallel: -1})
	require.Error(t, err)
	assert.Len(t, strings.Split(err.Error(), "\n"), 5, err)
	for _, endpoint := range []string{"", "relative", "unix://relative", "unix:///" + strings.Repeat("x", 108)} {
		_, err = cri.New(cri.Config{Endpoint: endpoint, Owner: "me"})
		assert.Error(t, err, endpoint)
	}
}
