package podsync_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	v1 "k8s.io/api/core/v1"
	k8sruntime "k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/clock"

	"github.com/podkeel/podkeel/podmanager/podstatus"
	"github.com/podkeel/podkeel/podworkers"
	"github.com/podkeel/podkeel/podworkers/podsync"
	"github.com/podkeel/podkeel/podworkers/podsync/images"
	"github.com/podkeel/podkeel/runtime"
	"github.com/podkeel/podkeel/runtime/faulty"
	"github.com/podkeel/podkeel/runtime/memory"
)

// fakeImages is a runtime whose images the test sets. It creates containers of any image.
type fakeImages struct {
	*memory.Runtime
	image  runtime.Image
	err    error
	pulled []string
	refuse error // what a pull says

	created runtime.CreateContainerRequest
	sandbox runtime.RunSandboxRequest
}

func (r *fakeImages) ImageStatus(context.Context, runtime.ImageStatusRequest) (runtime.Image, error) {
	return r.image, r.err
}

func (r *fakeImages) PullImage(_ context.Context, req runtime.PullImageRequest) (string, error) {
	r.pulled = append(r.pulled, req.Image)
	return "pulled", r.refuse
}

func (r *fakeImages) CreateContainer(_ context.Context, req runtime.CreateContainerRequest) (string, error) {
	r.created = req
	return "created", nil
}

func (r *fakeImages) RunSandbox(ctx context.Context, req runtime.RunSandboxRequest) (string, error) {
	r.sandbox = req
	return r.Runtime.RunSandbox(ctx, req)
}

func (*fakeImages) StartContainer(context.Context, runtime.StartContainerRequest) error { return nil }

// syncImage syncs a new pod once.
func syncImage(t *testing.T, rt *fakeImages, pod *v1.Pod) error {
	t.Helper()
	rt.Runtime = memory.New(memory.Config{})
	syncer, _ := newQuietSyncer(t, rt)
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
		rt := new(fakeImages)
		err := syncImage(t, rt, plainPod(func(p *v1.Pod) {
			p.Spec.Containers[0].Image, p.Spec.Containers[0].ImagePullPolicy = image, v1.PullAlways
		}))
		if want == "" {
			assert.ErrorIs(t, err, podstatus.ReasonInvalidImageName, "%q", image)
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
	rt := &fakeImages{err: errors.New("disk is on fire")}
	err := syncImage(t, rt, plainPod())
	require.ErrorIs(t, err, podstatus.ReasonImageInspectError)
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
			rt := &fakeImages{image: runtime.Image{ID: "there", User: user}}
			err := syncImage(t, rt, plainPod(func(p *v1.Pod) {
				p.Spec.SecurityContext = &v1.PodSecurityContext{RunAsNonRoot: new(true)}
				p.Spec.Containers[0].ImagePullPolicy = policy
			}))
			if want == "" {
				assert.NoError(t, err, "%s %q", policy, user)
				continue
			}
			require.ErrorIs(t, err, podstatus.ReasonCreateContainerConfigError, "%s %q", policy, user)
			assert.ErrorContains(t, err, want)
		}
	}
}

// Runtimes reject a group without a user. So, as in the kubelet, a container with a group gets the user
// of its image. A sandbox has no such image and gets no group.
func TestSecurity_GroupWithoutUser(t *testing.T) {
	for user, want := range map[string]string{
		"": "0", "1000": "1000", "1000:7": "1000", "www": "www", "www:www": "www",
	} {
		rt := &fakeImages{image: runtime.Image{ID: "there", User: user}}
		require.NoError(t, syncImage(t, rt, plainPod(func(p *v1.Pod) {
			p.Spec.SecurityContext = &v1.PodSecurityContext{RunAsGroup: new(int64(5))}
		})))
		got := rt.created.Security.Username
		if id := rt.created.Security.User; id != nil {
			got += strconv.FormatInt(*id, 10)
		}
		assert.Equal(t, want, got, "%q", user)
		assert.Equal(t, new(int64(5)), rt.created.Security.Group)
		assert.Nil(t, rt.sandbox.Security.Group)
	}
	rt := &fakeImages{image: runtime.Image{ID: "there", User: "www"}}
	require.NoError(t, syncImage(t, rt, plainPod(func(p *v1.Pod) {
		p.Spec.SecurityContext = &v1.PodSecurityContext{RunAsUser: new(int64(4)), RunAsGroup: new(int64(5))}
	})))
	assert.Equal(t, new(int64(4)), rt.created.Security.User)
	assert.Equal(t, new(int64(5)), rt.created.Security.Group)
	assert.Equal(t, runtime.Security{User: new(int64(4)), Group: new(int64(5))}, rt.sandbox.Security)

	err := syncImage(t, &fakeImages{err: errors.New("gone")}, plainPod(func(p *v1.Pod) {
		p.Spec.Containers[0].ImagePullPolicy = v1.PullAlways
		p.Spec.Containers[0].SecurityContext = &v1.SecurityContext{RunAsGroup: new(int64(5))}
	}))
	require.ErrorIs(t, err, podstatus.ReasonImageInspectError)
}

// If the user is not known, the container is not started.
func TestSecurity_KC7_UserUnknown(t *testing.T) {
	err := syncImage(t, &fakeImages{err: errors.New("gone")}, plainPod(func(p *v1.Pod) {
		p.Spec.Containers[0].ImagePullPolicy = v1.PullAlways
		p.Spec.Containers[0].SecurityContext = &v1.SecurityContext{RunAsNonRoot: new(true)}
	}))
	require.ErrorIs(t, err, podstatus.ReasonImageInspectError)
}

// IM-5: the delay grows while pulls fail; one that succeeds ends that.
func TestPull_IM5_Delays(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		down := errors.New("registry is down")
		rt := &fakeImages{Runtime: memory.New(memory.Config{}), refuse: down}
		syncer, _ := newQuietSyncer(t, rt)
		pod := plainPod(func(p *v1.Pod) { p.Spec.Containers[0].ImagePullPolicy = v1.PullAlways })
		sync := func() error {
			_, err := syncer.SyncPod(t.Context(), podworkers.SyncPodSync, pod, nil, readPodStatus(t, rt))
			return err
		}
		waits := func(d time.Duration) {
			t.Helper()
			require.ErrorIs(t, sync(), podstatus.ReasonErrImagePull)
			time.Sleep(d - 1)
			require.ErrorIs(t, sync(), podstatus.ReasonImagePullBackOff)
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

// vault is an Objects with Secrets.
type vault map[string]*v1.Secret

func (vault) ConfigMap(context.Context, string, string) (*v1.ConfigMap, error) {
	return nil, runtime.ErrNotFound
}

func (o vault) Secret(_ context.Context, namespace, name string) (*v1.Secret, error) {
	if s, ok := o[namespace+"/"+name]; ok {
		return s, nil
	}
	return nil, runtime.ErrNotFound
}

// guarded is a registry that lets one user in.
type guarded struct {
	*memory.Runtime
	tried []string
}

func (g *guarded) PullImage(ctx context.Context, req runtime.PullImageRequest) (string, error) {
	user := "nobody"
	if req.Auth != nil {
		user = req.Auth.Username
	}
	g.tried = append(g.tried, user)
	if user != "bob" {
		return "", runtime.ErrImage
	}
	return g.Runtime.PullImage(ctx, req)
}

// The credentials in the Secrets of a pod are tried, the most specific first. A missing Secret does not
// prevent the pull. An event names it only if the pull fails.
func TestPull_Secrets(t *testing.T) {
	secret := &v1.Secret{Type: v1.SecretTypeDockerConfigJson, Data: map[string][]byte{v1.DockerConfigJsonKey: []byte(
		`{"auths": {"host.io": {"username": "bob"}, "host.io/team": {"username": "ann"}, "other.io": {"username": "eve"}}}`)}}
	unreadable := &v1.Secret{Type: v1.SecretTypeDockercfg, Data: map[string][]byte{v1.DockerConfigKey: nil}}
	for name, tc := range map[string]struct {
		objects podsync.Objects
		tried   []string
		told    []string
		works   bool
	}{
		"all there":   {vault{"ns/a": secret, "ns/b": secret}, []string{"ann", "bob"}, nil, true},
		"one missing": {vault{"ns/a": secret}, []string{"ann", "bob"}, nil, true},
		"no objects": {nil, []string{"nobody"}, []string{
			"Unable to retrieve some image pull secrets (a, b); attempting to pull the image may not succeed."}, false},
		"not readable": {vault{"ns/a": secret, "ns/b": unreadable}, []string{"ann", "bob"}, nil, true},
		"none is of use": {vault{"ns/b": unreadable}, []string{"nobody"}, []string{
			"Unable to retrieve some image pull secrets (a); attempting to pull the image may not succeed.",
			`Not all credentials for image "host.io/team/app:1" can be used: secret : not a docker configuration`}, false},
	} {
		t.Run(name, func(t *testing.T) {
			rt := &guarded{Runtime: memory.New(memory.Config{})}
			heard := new(told)
			syncer, _ := newQuietSyncer(t, rt, func(c *podsync.Config) { c.Objects, c.Recorder = tc.objects, heard })
			_, err := syncer.SyncPod(t.Context(), podworkers.SyncPodCreate, plainPod(func(p *v1.Pod) {
				p.Spec.Containers[0].Image = "host.io/team/app:1"
				p.Spec.ImagePullSecrets = []v1.LocalObjectReference{{Name: "a"}, {Name: "b"}, {}}
			}), nil, nil)
			assert.Equal(t, tc.works, err == nil, "%v", err)
			assert.Equal(t, tc.tried, rt.tried)
			assert.Equal(t, tc.told, heard.messagesFor("FailedToRetrieveImagePullSecret"))
		})
	}
}

// told has the reasons and messages of recorded events, also of concurrent syncs.
type told struct {
	mu   sync.Mutex
	list [][2]string
}

func (l *told) Event(_ k8sruntime.Object, _, reason, message string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.list = append(l.list, [2]string{reason, message})
}

func (l *told) Eventf(o k8sruntime.Object, kind, reason, format string, args ...any) {
	l.Event(o, kind, reason, fmt.Sprintf(format, args...))
}

func (l *told) messagesFor(reason string) (messages []string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, e := range l.list {
		if e[0] == reason {
			messages = append(messages, e[1])
		}
	}
	return messages
}

// IM-8: the time of the pull, that with waiting, and the size. Two pods that
// want one image share the pull.
func TestPull_IM8_TimesAndSize(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		faults, err := faulty.New(faulty.Config{})
		require.NoError(t, err)
		_, err = faults.Add(faulty.Rule{Verb: faulty.PullImage, Latency: 3 * time.Second})
		require.NoError(t, err)
		heard := new(told)
		mem := memory.New(memory.Config{})
		syncer, _ := newQuietSyncer(t, faults.Wrap(mem, clock.RealClock{}), func(c *podsync.Config) { c.Recorder = heard })
		done := make(chan error, 2)
		for _, uid := range []types.UID{"u", "w"} {
			go func() {
				_, err := syncer.SyncPod(t.Context(), podworkers.SyncPodCreate, plainPod(func(p *v1.Pod) { p.UID = uid }), nil, nil)
				done <- err
			}()
			time.Sleep(time.Second)
		}
		require.NoError(t, <-done)
		require.NoError(t, <-done)
		messages := heard.messagesFor("Pulled")
		slices.Sort(messages)
		assert.Equal(t, []string{
			`Successfully pulled image "img:1" in 3s (2s including waiting). Image size: 1048576 bytes.`,
			`Successfully pulled image "img:1" in 3s (3s including waiting). Image size: 1048576 bytes.`,
		}, messages)
	})
}

// leases checks that an image is leased when a container is created.
type leases struct {
	*memory.Runtime
	manager *images.Manager
	seen    []bool
	fail    error
}

func (r *leases) recordLease() {
	r.seen = append(r.seen, r.manager.InUse(runtime.Image{Tags: []string{"img:1"}}))
}

func (r *leases) PullImage(ctx context.Context, req runtime.PullImageRequest) (string, error) {
	r.recordLease()
	return r.Runtime.PullImage(ctx, req)
}

func (r *leases) CreateContainer(ctx context.Context, req runtime.CreateContainerRequest) (string, error) {
	r.recordLease()
	if r.fail != nil {
		return "", r.fail
	}
	return r.Runtime.CreateContainer(ctx, req)
}

func (r *leases) StartContainer(ctx context.Context, req runtime.StartContainerRequest) error {
	r.recordLease()
	return r.Runtime.StartContainer(ctx, req)
}

// Part 4, 38: the image is leased from before the pull until the container is created. After that, or
// after an error, there is no lease.
func TestImage_LeasedUntilCreated(t *testing.T) {
	for name, fail := range map[string]error{"": nil, "create fails": errors.New("no")} {
		t.Run(name, func(t *testing.T) {
			rt := &leases{Runtime: memory.New(memory.Config{}), fail: fail}
			var err error
			rt.manager, err = images.New(images.Config{Images: rt})
			require.NoError(t, err)
			syncer, _ := newQuietSyncer(t, rt, func(c *podsync.Config) { c.Images = rt.manager })
			_, err = syncer.SyncPod(t.Context(), podworkers.SyncPodCreate, plainPod(), nil, nil)
			assert.ErrorIs(t, err, fail)
			want := []bool{true, true, false}
			if fail != nil {
				want = want[:2]
			}
			assert.Equal(t, want, rt.seen)
			assert.False(t, rt.manager.InUse(runtime.Image{Tags: []string{"img:1"}}))
		})
	}
}
