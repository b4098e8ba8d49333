//go:build linux

package e2e_test

import (
	"crypto/rand"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	cri "k8s.io/cri-api/pkg/apis/runtime/v1"

	"github.com/podkeel/podkeel/internal/e2e"
)

// kubelet has the files that a kubelet has left on the machine: logs under the UID of a pod that agents run, a link to
// a removed log, and a container whose image only it uses.
type kubelet struct {
	*scene
	log, link string
	image     string
	container string
}

func (s *scene) createKubeletRecords(uid string, strangers *strangers) *kubelet {
	s.Helper()
	dir := filepath.Join("/var/log/pods", "default_same-"+e2e.NodeName+"_"+uid)
	k := &kubelet{
		scene: s, log: filepath.Join(dir, "web", "5.log"), image: s.c.Registry.NextImage(),
		link: filepath.Join("/var/log/containers", "same-"+e2e.NodeName+"_default_web-"+uid+".log"),
	}
	require.NoError(s, os.MkdirAll(filepath.Dir(k.log), 0o755))
	require.NoError(s, os.WriteFile(k.log, []byte("of a kubelet\n"), 0o644))
	require.NoError(s, os.MkdirAll(filepath.Dir(k.link), 0o755))
	require.NoError(s, os.Symlink(filepath.Join(filepath.Dir(k.log), "4.log"), k.link))
	s.Cleanup(func() {
		_ = os.RemoveAll(dir)
		_ = os.Remove(k.link)
	})
	ctx, cancel := s.callContext()
	defer cancel()
	_, err := cri.NewImageServiceClient(s.c.Conn()).PullImage(ctx, &cri.PullImageRequest{Image: &cri.ImageSpec{Image: k.image}})
	require.NoError(s, err)
	created, err := s.cri.CreateContainer(ctx, &cri.CreateContainerRequest{
		PodSandboxId:  strangers.sandboxes["kubelets"],
		SandboxConfig: &cri.PodSandboxConfig{Metadata: &cri.PodSandboxMetadata{Name: "kubelets", Namespace: "default", Uid: "kubelets"}},
		Config: &cri.ContainerConfig{
			Metadata: &cri.ContainerMetadata{Name: "other"}, Image: &cri.ImageSpec{Image: k.image}, Command: []string{"sleep", "100000"},
			Linux: &cri.LinuxContainerConfig{},
		},
	})
	require.NoError(s, err)
	k.container = created.ContainerId
	return k
}

// requireUntouched requires that all records and files of the kubelet are unchanged.
func (k *kubelet) requireUntouched() {
	k.Helper()
	text, err := os.ReadFile(k.log)
	require.NoError(k, err)
	assert.Equal(k, "of a kubelet\n", string(text))
	entries, err := os.ReadDir(filepath.Dir(k.log))
	require.NoError(k, err)
	assert.Len(k, entries, 1, "nothing was written beside it")
	_, err = os.Lstat(k.link)
	require.NoError(k, err)
	assert.True(k, k.hasImage(k.image), "the image that only its container uses")
	assert.Equal(k, cri.ContainerState_CONTAINER_CREATED, k.containerStatus(k.container).State)
}

// hasImage reports whether the runtime has an image.
func (s *scene) hasImage(image string) bool {
	s.Helper()
	ctx, cancel := s.callContext()
	defer cancel()
	answer, err := cri.NewImageServiceClient(s.c.Conn()).ImageStatus(ctx, &cri.ImageStatusRequest{Image: &cri.ImageSpec{Image: image}})
	require.NoError(s, err)
	return answer.GetImage() != nil
}

// Two agents and the leftovers of a kubelet share one machine: its containerd, its images, /var/log/pods and
// /var/log/containers. All three have a pod of one name, and a pod of the kubelet had the UID of an agent's pod. Each
// agent removes only its own files, containers and images (I38, F74).
func TestNeighbours_I38_F74_KubeletsLeftovers(t *testing.T) {
	skipUnlessLong(t)
	shared := []string{"--log-dir", "/var/log/pods", "--image-max-age", "1s", "--image-min-age", "1ms"}
	runOnFamilies(t, func(t *testing.T, c *e2e.Containerd, a *e2e.Agent) {
		one, two := newScene(t, c, a), newScene(t, c, a.Beside(t, c, shared...))
		strangers := one.createStrangers()
		uid := strings.ToLower(rand.Text())
		kubelet := one.createKubeletRecords(uid, strangers)
		const spec = `
terminationGracePeriodSeconds: 2
containers:
- {name: web, image: IMAGE, command: [sh, -c, 'trap "exit 0" TERM; echo here; sleep 100000 & wait']}
`
		const repository = "podkeel/unused"
		c.Registry.PublishOther(repository)
		one.writePod("same", spec, "uid: "+uid)
		two.writePod("same", spec)
		paths := map[*scene]string{}
		for _, s := range []*scene{one, two} {
			p := s.awaitReady("same")
			s.waitFor("its log can be read", soon, func() bool { return s.readLog("same", "web") == "here\n" })
			_, id, _ := strings.Cut(statusOf(p, "web").ContainerID, "://")
			paths[s] = filepath.Dir(filepath.Dir(s.containerStatus(id).LogPath))
		}
		const prefix = "/var/log/pods/default_same-" + e2e.NodeName + "_"
		assert.Regexp(t, "^"+prefix+uid+`\.[a-z0-9]{8}$`, paths[one], "a kubelet has the usual one")
		assert.Equal(t, prefix+string(two.board.listPods()["same"].UID), paths[two])
		kubelet.requireUntouched()

		ctx, cancel := one.callContext()
		_, err := cri.NewImageServiceClient(c.Conn()).PullImage(ctx, &cri.PullImageRequest{Image: &cri.ImageSpec{Image: c.Registry.Reference(repository)}})
		cancel()
		require.NoError(t, err)
		require.True(t, one.hasImage(c.Registry.Reference(repository)))
		two.agent.Remove("same.yaml")
		two.waitFor("its logs have gone", soon, func() bool { _, err := os.Stat(paths[two]); return os.IsNotExist(err) })
		two.waitFor("an image that no container uses has gone", soon, func() bool { return !two.hasImage(c.Registry.Reference(repository)) })
		assert.True(t, one.hasImage(c.Registry.Image()), "the image of the other agent's container")
		assert.True(t, one.hasImage(c.Registry.Pause()), "the image of all sandboxes")
		kubelet.requireUntouched()
		strangers.requireUnharmed()
		assert.DirExists(t, paths[one])
		assert.Equal(t, "here\n", one.readLog("same", "web"))
		p := one.board.listPods()["same"]
		assert.True(t, isReady(p))
		assert.Zero(t, statusOf(p, "web").RestartCount)

		one.agent.Remove("same.yaml")
		one.waitFor("its logs have gone", soon, func() bool { _, err := os.Stat(paths[one]); return os.IsNotExist(err) })
		kubelet.requireUntouched()
		strangers.requireUnharmed()
	}, shared...)
}
