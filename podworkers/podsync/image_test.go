package podsync_test

import (
	"context"
	"errors"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	v1 "k8s.io/api/core/v1"

	"github.com/podkeel/podkeel/podworkers"
	"github.com/podkeel/podkeel/podworkers/podsync"
	"github.com/podkeel/podkeel/runtime"
	"github.com/podkeel/podkeel/runtime/memory"
)

// images is a runtime whose images are as the test says, and that runs any.
type images struct {
	*memory.Runtime
	image  runtime.Image
	err    error
	pulled []string
	refuse error // what a pull says
}

func (r *images) ImageStatus(context.Context, runtime.ImageStatusRequest) (runtime.Image, error) {
	return r.image, r.err
}

func (r *images) PullImage(_ context.Context, req runtime.PullImageRequest) (string, error) {
	r.pulled = append(r.pulled, req.Image)
	return "pulled", r.refuse
}

func (*images) CreateContainer(context.Context, runtime.CreateContainerRequest) (string, error) {
	return "created", nil
}

func (*images) StartContainer(context.Context, runtime.StartContainerRequest) error { return nil }

// syncImage syncs a new pod once.
func syncImage(t *testing.T, rt *images, pod *v1.Pod) error {
	t.Helper()
	rt.Runtime = memory.New(memory.Config{})
	syncer, _ := quiet(t, rt)
	_, err := syncer.SyncPod(t.Context(), podworkers.SyncPodCreate, pod, nil, nil)
	return err
}

// IM-1: a name has the tag that goes without saying, or no registry could have
// it.
func TestImageName_IM1(t *testing.T) {
	digest := "@sha256:" + strings.Repeat("0", 64)
	for image, want := range map[string]string{ // empty: refused
		"img":                  "img:latest",
		"img:1":                "img:1",
		"img" + digest:         "img" + digest,
		"img:1" + digest:       "img:1" + digest,
		"host:5000/img":        "host:5000/img:latest",
		"host:5000/some/img:1": "host:5000/some/img:1",
		"HOST/img":             "HOST/img:latest",
		"":                     "",
		":1":                   "",
		"img:":                 "",
		"img@":                 "",
		"img@sha256":           "",
		"host/":                "",
		"host/:1":              "",
		"host//img":            "",
		"Img":                  "",
		"host/Img:1":           "",
		"img 1":                "",
		"img\x00":              "",
		"img\x7f":              "",
		"bild:größe":           "",
	} {
		rt := new(images)
		err := syncImage(t, rt, plainPod(func(p *v1.Pod) {
			p.Spec.Containers[0].Image, p.Spec.Containers[0].ImagePullPolicy = image, v1.PullAlways
		}))
		if want == "" {
			assert.ErrorIs(t, err, podsync.ErrInvalidImageName, "%q", image)
			assert.Empty(t, rt.pulled, "%q", image)
			continue
		}
		require.NoError(t, err, "%q", image)
		assert.Equal(t, []string{want}, rt.pulled)
	}
}

// IM-2: a runtime that cannot tell whether an image is there is no reason to
// pull it.
func TestImage_CannotTell(t *testing.T) {
	rt := &images{err: errors.New("disk is on fire")}
	err := syncImage(t, rt, plainPod())
	require.ErrorIs(t, err, podsync.ErrImageInspect)
	require.ErrorContains(t, err, "disk is on fire")
	assert.Empty(t, rt.pulled)
}

// KC-7: the user of the image counts where the spec names none, of an image
// that was there as of one that had to be pulled.
func TestSecurity_KC7_ImageUser(t *testing.T) {
	for _, policy := range []v1.PullPolicy{v1.PullIfNotPresent, v1.PullAlways} {
		for user, want := range map[string]string{ // empty: may be started
			"1000": "", "1000:0": "", "": "runs as root", "0": "runs as root", "0:1000": "runs as root", "www": `runs as "www"`,
		} {
			rt := &images{image: runtime.Image{ID: "there", User: user}}
			err := syncImage(t, rt, plainPod(func(p *v1.Pod) {
				p.Spec.SecurityContext = &v1.PodSecurityContext{RunAsNonRoot: new(true)}
				p.Spec.Containers[0].ImagePullPolicy = policy
			}))
			if want == "" {
				assert.NoError(t, err, "%s %q", policy, user)
				continue
			}
			require.ErrorIs(t, err, podsync.ErrCreateContainerConfig, "%s %q", policy, user)
			assert.ErrorContains(t, err, want)
		}
	}
}

// ... and if nobody can tell which it is, the container is not started.
func TestSecurity_KC7_UserUnknown(t *testing.T) {
	err := syncImage(t, &images{err: errors.New("gone")}, plainPod(func(p *v1.Pod) {
		p.Spec.Containers[0].ImagePullPolicy = v1.PullAlways
		p.Spec.Containers[0].SecurityContext = &v1.SecurityContext{RunAsNonRoot: new(true)}
	}))
	require.ErrorIs(t, err, podsync.ErrImageInspect)
}

// IM-5: the delay grows while pulls fail; one that succeeds ends that.
func TestPull_IM5_Delays(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		down := errors.New("registry is down")
		rt := &images{Runtime: memory.New(memory.Config{}), refuse: down}
		syncer, _ := quiet(t, rt)
		pod := plainPod(func(p *v1.Pod) { p.Spec.Containers[0].ImagePullPolicy = v1.PullAlways })
		sync := func() error {
			_, err := syncer.SyncPod(t.Context(), podworkers.SyncPodSync, pod, nil, look(t, rt))
			return err
		}
		waits := func(d time.Duration) {
			t.Helper()
			require.ErrorIs(t, sync(), podsync.ErrImagePull)
			time.Sleep(d - 1)
			require.ErrorIs(t, sync(), podsync.ErrImagePullBackOff)
			require.ErrorIs(t, sync(), down, "why it failed is not forgotten")
			time.Sleep(1)
		}
		waits(10 * time.Second)
		waits(20 * time.Second)
		rt.refuse = nil
		require.NoError(t, sync())
		rt.refuse = down
		waits(10 * time.Second)
	})
}
