package podsync_test

import (
	"context"
	"errors"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	v1 "k8s.io/api/core/v1"

	"github.com/podkeel/podkeel/podworkers"
	"github.com/podkeel/podkeel/podworkers/podsync"
	"github.com/podkeel/podkeel/runtime"
	"github.com/podkeel/podkeel/runtime/memory"
)

// creations records the requests that create containers.
type creations struct {
	*memory.Runtime
	requests []runtime.CreateContainerRequest
	err      error
}

func (c *creations) CreateContainer(ctx context.Context, req runtime.CreateContainerRequest) (string, error) {
	c.requests = append(c.requests, req)
	if c.err != nil {
		return "", c.err
	}
	return c.Runtime.CreateContainer(ctx, req)
}

// augmentScene is a pod with the container a, on a node with a Config.Augment that a test changes.
type augmentScene struct {
	t         *testing.T
	rt        *creations
	store     *store
	syncer    *podsync.Syncer
	pod       *v1.Pod
	additions podsync.Additions
	err       error
	panics    bool
	calls     int
}

func newAugmentScene(t *testing.T) *augmentScene {
	s := &augmentScene{t: t, rt: &creations{Runtime: memory.New(memory.Config{})}}
	s.pod = plainPod(func(p *v1.Pod) { p.Spec.Containers[0].Env = []v1.EnvVar{{Name: "A", Value: "pod"}} })
	s.additions = podsync.Additions{
		Devices:     []runtime.Device{{HostPath: "/dev/gpu0", ContainerPath: "/dev/gpu", Permissions: "rw"}},
		CDIDevices:  []string{"example.com/gpu=0"},
		Mounts:      []runtime.Mount{{HostPath: "/lib/gpu", ContainerPath: "/gpu", ReadOnly: true, Propagation: runtime.PropagationHostToContainer}},
		Env:         []runtime.EnvVar{{Name: "A", Value: "node"}, {Name: "B", Value: "node"}},
		Annotations: map[string]string{"example.com/gpu": "0"},
	}
	s.restartAgent()
	return s
}

// restartAgent replaces the syncer as after a restart of the agent.
func (s *augmentScene) restartAgent() {
	s.syncer, s.store = newQuietSyncer(s.t, s.rt, func(c *podsync.Config) {
		c.Augment = func(context.Context, *v1.Pod, *v1.Container) (podsync.Additions, error) {
			if s.calls++; s.panics {
				panic("boom")
			}
			return s.additions, s.err
		}
	})
}

func (s *augmentScene) syncPod() error {
	_, err := s.syncer.SyncPod(s.t.Context(), podworkers.SyncPodUpdate, s.pod, nil, readPodStatus(s.t, s.rt))
	return err
}

// exitNewest makes the newest container exit, so that the next sync creates the next attempt.
func (s *augmentScene) exitNewest() {
	require.NoError(s.t, s.rt.ExitContainer(readPodStatus(s.t, s.rt).Containers[0].ID, 1))
}

// checkRequest compares the last request with the additions of the scene.
func (s *augmentScene) checkRequest(requests int) {
	s.t.Helper()
	require.Len(s.t, s.rt.requests, requests)
	req := s.rt.requests[requests-1]
	assert.Equal(s.t, s.additions.Devices, req.Devices)
	assert.Equal(s.t, s.additions.CDIDevices, req.CDIDevices)
	assert.Equal(s.t, s.additions.Mounts, req.Mounts)
	assert.Equal(s.t, []runtime.EnvVar{{Name: "B", Value: "node"}, {Name: "A", Value: "pod"}}, req.Env)
	assert.Equal(s.t, "0", req.Annotations["example.com/gpu"])
	assert.Equal(s.t, 1, s.calls)
}

// HM-5: the additions are part of the request, and a variable of the pod has precedence. Augment is called once for the
// container, also if it restarts, and if the agent has restarted.
func TestAugment_HM5_Merged(t *testing.T) {
	s := newAugmentScene(t)
	require.NoError(t, s.syncPod())
	s.checkRequest(1)
	s.exitNewest()
	require.NoError(t, s.syncPod())
	s.checkRequest(2)
	s.restartAgent()
	s.exitNewest()
	require.NoError(t, s.syncPod())
	s.checkRequest(3)
}

// HM-5: after an error and after a panic the container is not created, and the next sync calls Augment again.
func TestAugment_HM5_Errors(t *testing.T) {
	s := newAugmentScene(t)
	s.err = errors.New("no device is free")
	require.ErrorContains(t, s.syncPod(), "the additions of the node: no device is free")
	waiting := s.store.statuses["u"].ContainerStatuses[0].State.Waiting
	assert.Equal(t, "CreateContainerConfigError", waiting.Reason)
	s.panics = true
	require.ErrorContains(t, s.syncPod(), "panicked: boom")
	assert.Empty(t, s.rt.requests)
	s.err, s.panics, s.calls = nil, false, 0
	require.NoError(t, s.syncPod())
	s.checkRequest(1)
}

// HM-5: Augment is not called again if the runtime fails to create the container.
func TestAugment_HM5_CreationFails(t *testing.T) {
	s := newAugmentScene(t)
	s.rt.err = errors.New("no room")
	require.ErrorContains(t, s.syncPod(), "no room")
	s.rt.err = nil
	require.NoError(t, s.syncPod())
	s.checkRequest(2)
}

// HM-5: a conflict with the spec or between two additions is an error. An invalid or too large addition is one too.
// Augment is called again after it.
func TestAugment_HM5_Conflicts(t *testing.T) {
	device := runtime.Device{HostPath: "/dev/x", ContainerPath: "/dev/x"}
	mount := runtime.Mount{HostPath: "/x", ContainerPath: "/x"}
	for want, a := range map[string]podsync.Additions{
		"two devices at /dev/x":                  {Devices: []runtime.Device{device, {HostPath: "/dev/y", ContainerPath: "/dev/x/"}}},
		`device "x" of "/dev/x"`:                 {Devices: []runtime.Device{{HostPath: "/dev/x", ContainerPath: "x"}}},
		`device "/dev/x" of "x"`:                 {Devices: []runtime.Device{{HostPath: "x", ContainerPath: "/dev/x"}}},
		"two mounts at /x":                       {Mounts: []runtime.Mount{mount, mount}},
		`mount "x" of "/x"`:                      {Mounts: []runtime.Mount{{HostPath: "/x", ContainerPath: "x"}}},
		`mount "/x" of "x"`:                      {Mounts: []runtime.Mount{{HostPath: "x", ContainerPath: "/x"}}},
		`mount "/x" of "/i"`:                     {Mounts: []runtime.Mount{{HostPath: "/i", ContainerPath: "/x", Image: "i"}}},
		`CDI device "a/b=1" is empty`:            {CDIDevices: []string{"a/b=1", "a/b=1"}},
		`CDI device "" is empty`:                 {CDIDevices: []string{""}},
		"variable X is there twice":              {Env: []runtime.EnvVar{{Name: "X"}, {Name: "X"}}},
		`variable "X=Y" has no valid name`:       {Env: []runtime.EnvVar{{Name: "X=Y"}}},
		`variable "" has no valid name`:          {Env: []runtime.EnvVar{{Name: ""}}},
		"annotation \"io.kubernetes.container.r": {Annotations: map[string]string{"io.kubernetes.container.restartCount": "7"}},
		"annotation \"podkeel.dev/additions\"":   {Annotations: map[string]string{"podkeel.dev/additions": "{}"}},
		"bytes and 16384 are allowed":            {Annotations: map[string]string{"a": strings.Repeat("x", 20<<10)}},
	} {
		t.Run(want, func(t *testing.T) {
			s := newAugmentScene(t)
			good := s.additions
			s.additions = a
			require.ErrorContains(t, s.syncPod(), want)
			assert.Empty(t, s.rt.requests)
			s.additions, s.calls = good, 0
			require.NoError(t, s.syncPod())
			s.checkRequest(1)
		})
	}
}

// HM-5: a stored value that is damaged, or of another version, or of a former pod with the UID, is not used.
func TestAugment_HM5_NotUsable(t *testing.T) {
	for name, change := range map[string]func(*runtime.ContainerStatus){
		"damaged": func(c *runtime.ContainerStatus) { c.Annotations = map[string]string{"podkeel.dev/additions": "{"} },
		"version": func(c *runtime.ContainerStatus) {
			c.Annotations = map[string]string{"podkeel.dev/additions": `{"version":2,"env":[{"name":"OLD","value":"1"}]}`}
		},
		"other container": func(c *runtime.ContainerStatus) { c.Name = "b" },
		"former pod":      func(c *runtime.ContainerStatus) { c.Incarnation = 0 },
	} {
		t.Run(name, func(t *testing.T) {
			s := newAugmentScene(t)
			require.NoError(t, s.syncPod())
			s.exitNewest()
			s.restartAgent()
			status := readPodStatus(t, s.rt)
			status = new(*status)
			status.Containers = append([]runtime.ContainerStatus(nil), status.Containers...)
			change(&status.Containers[0])
			// An error is no matter: the runtime has attempt 0 of a container that the status does not show.
			_, _ = s.syncer.SyncPod(t.Context(), podworkers.SyncPodUpdate, s.pod, nil, status)
			assert.Equal(t, 2, s.calls)
		})
	}
}
