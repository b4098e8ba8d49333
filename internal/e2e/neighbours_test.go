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
	skipUnlessLong(t)
	runOnFamilies(t, func(t *testing.T, c *e2e.Containerd, a *e2e.Agent) {
		one, two := newScene(t, c, a), newScene(t, c, a.Beside(t, c))
		const spec = `
terminationGracePeriodSeconds: 2
containers:
- {name: web, image: IMAGE, command: STAY}
`
		one.writePod("mine", spec)
		two.writePod("yours", spec)
		one.writePod("same", spec)
		two.writePod("same", spec)
		for _, s := range []*scene{one, two} {
			s.awaitReady("same")
		}
		one.awaitReady("mine")
		two.awaitReady("yours")
		assert.Len(t, one.board.listPods(), 2)
		assert.Len(t, two.board.listPods(), 2)
		assert.Len(t, one.listSandboxes("same"), 2)
		mine := one.runningContainer("mine", "web").Id

		two.removePod("yours")
		two.agent.Remove("same.yaml")
		one.waitFor("one of two is left", soon, func() bool { return len(one.readySandboxes("same")) == 1 })
		assert.Equal(t, string(one.board.listPods()["same"].UID), one.readySandboxes("same")[0].Metadata.Uid)
		assert.Equal(t, mine, one.runningContainer("mine", "web").Id)
		p := one.board.listPods()["same"]
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

func (s *scene) createStrangers() *strangers {
	s.Helper()
	x := &strangers{scene: s, sandboxes: map[string]string{}, containers: map[string]string{}}
	ctx, cancel := s.callContext()
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

// requireUnharmed requires that the strangers run as before, and that no agent lists them (I38).
func (x *strangers) requireUnharmed() {
	x.Helper()
	ctx, cancel := x.callContext()
	defer cancel()
	for name, id := range x.sandboxes {
		p, err := x.cri.PodSandboxStatus(ctx, &cri.PodSandboxStatusRequest{PodSandboxId: id})
		require.NoError(x, err, name)
		assert.Equal(x, cri.PodSandboxState_SANDBOX_READY, p.Status.State, name)
		assert.Equal(x, cri.ContainerState_CONTAINER_RUNNING, x.containerStatus(x.containers[name]).State, name)
		assert.NotContains(x, x.board.listPods(), name)
	}
}
