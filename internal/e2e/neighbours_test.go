//go:build linux

package e2e_test

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	cri "k8s.io/cri-api/pkg/apis/runtime/v1"

	"github.com/podkeel/podkeel/internal/e2e"
)

// Two agents on one containerd do not affect each other, even if their pods have the same names. Neither removes
// containers of the other, and each continues when the other has exited (I38, F74).
func TestNeighbours(t *testing.T) {
	long(t)
	families(t, func(t *testing.T, c *e2e.Containerd, a *e2e.Agent) {
		one, two := newScene(t, c, a), newScene(t, c, a.Beside(t, c))
		const spec = `
terminationGracePeriodSeconds: 2
containers:
- {name: web, image: IMAGE, command: STAY}
`
		one.pod("mine", spec)
		two.pod("yours", spec)
		one.pod("same", spec)
		two.pod("same", spec)
		for _, s := range []*scene{one, two} {
			s.ready("same")
		}
		one.ready("mine")
		two.ready("yours")
		assert.Len(t, one.board.look(), 2)
		assert.Len(t, two.board.look(), 2)
		assert.Len(t, one.sandboxes("same"), 2)
		mine := one.running("mine", "web").Id

		two.remove("yours")
		two.agent.Remove("same.yaml")
		one.wait("one of two is left", soon, func() bool { return len(one.standing("same")) == 1 })
		assert.Equal(t, string(one.board.look()["same"].UID), one.standing("same")[0].Metadata.Uid)
		assert.Equal(t, mine, one.running("mine", "web").Id)
		p := one.board.look()["same"]
		assert.True(t, isReady(p))
		assert.Zero(t, statusOf(p, "web").RestartCount)
	})
}

// strangers are pods that no agent has made: without labels, with the kubelet's,
// and of another owner.
type strangers struct {
	*scene
	sandboxes, containers map[string]string // by name
}

func (s *scene) invite() *strangers {
	s.Helper()
	x := &strangers{scene: s, sandboxes: map[string]string{}, containers: map[string]string{}}
	ctx, cancel := s.bare()
	defer cancel()
	images := cri.NewImageServiceClient(s.c.Conn())
	_, err := images.PullImage(ctx, &cri.PullImageRequest{Image: &cri.ImageSpec{Image: s.c.Registry.Image()}})
	require.NoError(s, err)
	for name, labels := range map[string]map[string]string{
		"unlabelled": nil,
		"kubelets": {
			"io.kubernetes.pod.name": "kubelets", "io.kubernetes.pod.namespace": "default", "io.kubernetes.pod.uid": "kubelets",
			"io.kubernetes.container.name": "web",
		},
		"others": {
			"io.kubernetes.pod.name": "others", "io.kubernetes.pod.namespace": "default", "io.kubernetes.pod.uid": "others",
			"io.kubernetes.container.name": "web", "podkeel.dev/owner": "somebody-else",
		},
	} {
		sandbox := &cri.PodSandboxConfig{
			Metadata: &cri.PodSandboxMetadata{Name: name, Namespace: "default", Uid: name}, Labels: labels,
			Linux: &cri.LinuxPodSandboxConfig{},
		}
		p, err := s.cri.RunPodSandbox(ctx, &cri.RunPodSandboxRequest{Config: sandbox})
		require.NoError(s, err)
		x.sandboxes[name] = p.PodSandboxId
		c, err := s.cri.CreateContainer(ctx, &cri.CreateContainerRequest{PodSandboxId: p.PodSandboxId, SandboxConfig: sandbox, Config: &cri.ContainerConfig{
			Metadata: &cri.ContainerMetadata{Name: "web"}, Image: &cri.ImageSpec{Image: s.c.Registry.Image()},
			Command: []string{"sleep", "100000"}, Labels: labels, Linux: &cri.LinuxContainerConfig{},
		}})
		require.NoError(s, err)
		x.containers[name] = c.ContainerId
		_, err = s.cri.StartContainer(ctx, &cri.StartContainerRequest{ContainerId: c.ContainerId})
		require.NoError(s, err)
	}
	return x
}

// unharmed holds if they run as they did, and no agent has shown them (I38).
func (x *strangers) unharmed() {
	x.Helper()
	ctx, cancel := x.bare()
	defer cancel()
	for name, id := range x.sandboxes {
		p, err := x.cri.PodSandboxStatus(ctx, &cri.PodSandboxStatusRequest{PodSandboxId: id})
		require.NoError(x, err, name)
		assert.Equal(x, cri.PodSandboxState_SANDBOX_READY, p.Status.State, name)
		assert.Equal(x, cri.ContainerState_CONTAINER_RUNNING, x.status(x.containers[name]).State, name)
		assert.NotContains(x, x.board.look(), name)
	}
}
