package volumestest_test

import (
	"context"
	"errors"
	"fmt"
	"path"
	"runtime"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/podkeel/podkeel/podworkers/podsync"
	"github.com/podkeel/podkeel/podworkers/podsync/volumes"
	"github.com/podkeel/podkeel/podworkers/podsync/volumes/inmemory"
	"github.com/podkeel/podkeel/podworkers/podsync/volumestest"
	rt "github.com/podkeel/podkeel/runtime"
)

func TestInMemory(t *testing.T) {
	volumestest.Run(t, func(*testing.T) volumestest.Harness {
		return volumestest.Harness{Volumes: inmemory.New(inmemory.Config{})}
	})
}

func TestDir(t *testing.T) {
	volumestest.Run(t, func(t *testing.T) volumestest.Harness { return onDisk(t) })
}

func onDisk(t *testing.T) volumestest.Harness {
	dir, err := volumes.New(volumes.Config{Root: t.TempDir()})
	require.NoError(t, err)
	return volumestest.Harness{Volumes: dir, OnDisk: true}
}

// broken is an implementation that breaks one promise, and the cases that must notice:
// these and no others.
type broken struct {
	how    string
	cases  []string
	tamper func(*tampered)
}

// tampered is an implementation with some of its calls replaced.
type tampered struct {
	podsync.Volumes
	problems func(*v1.Pod) []podsync.Problem
	setUp    func(context.Context, *v1.Pod) error
	mounts   func(context.Context, *v1.Pod, *v1.Container, func(string) (string, error)) ([]rt.Mount, error)
	tearDown func(context.Context, types.UID) error
	read     func(ctx context.Context, pod *v1.Pod, volume, path string, limit int) ([]byte, bool, error)
}

func (v *tampered) Problems(pod *v1.Pod) []podsync.Problem {
	if v.problems != nil {
		return v.problems(pod)
	}
	return v.Volumes.Problems(pod)
}

func (v *tampered) SetUp(ctx context.Context, pod *v1.Pod) error {
	if v.setUp != nil {
		return v.setUp(ctx, pod)
	}
	return v.Volumes.SetUp(ctx, pod)
}

func (v *tampered) Mounts(ctx context.Context, pod *v1.Pod, c *v1.Container, expand func(string) (string, error)) ([]rt.Mount, error) {
	if v.mounts != nil {
		return v.mounts(ctx, pod, c, expand)
	}
	return v.Volumes.Mounts(ctx, pod, c, expand)
}

func (v *tampered) TearDown(ctx context.Context, uid types.UID) error {
	if v.tearDown != nil {
		return v.tearDown(ctx, uid)
	}
	return v.Volumes.TearDown(ctx, uid)
}

func (v *tampered) ReadVolumeFile(ctx context.Context, pod *v1.Pod, volume, path string, limit int) ([]byte, bool, error) {
	if v.read != nil {
		return v.read(ctx, pod, volume, path, limit)
	}
	return v.Volumes.(podsync.VolumeFileReader).ReadVolumeFile(ctx, pod, volume, path, limit)
}

// mountsThrough changes the returned mounts.
func mountsThrough(v *tampered, f func(pod *v1.Pod, m []rt.Mount) []rt.Mount) {
	v.mounts = func(ctx context.Context, pod *v1.Pod, c *v1.Container, expand func(string) (string, error)) ([]rt.Mount, error) {
		m, err := v.Volumes.Mounts(ctx, pod, c, expand)
		return f(pod, m), err
	}
}

var brokenVolumes = []broken{
	{"everything is a problem", []string{"problems/none"}, func(v *tampered) {
		v.problems = func(*v1.Pod) []podsync.Problem { return []podsync.Problem{{Field: "spec.volumes", Why: "no"}} }
	}},
	{"no mount is a problem", []string{"problems/no-such-volume"}, func(v *tampered) {
		v.problems = func(*v1.Pod) []podsync.Problem { return nil }
	}},
	{"a problem without a reason", []string{"problems/no-such-volume"}, func(v *tampered) {
		v.problems = func(pod *v1.Pod) []podsync.Problem {
			found := v.Volumes.Problems(pod)
			for i := range found {
				found[i].Why = ""
			}
			return found
		}
	}},
	{"problems that are forgotten", []string{"problems/pure"}, func(v *tampered) {
		asked := false
		v.problems = func(pod *v1.Pod) []podsync.Problem {
			if asked {
				return nil
			}
			asked = true
			return v.Volumes.Problems(pod)
		}
	}},
	{"a file is read to its end", []string{"files/read"}, func(v *tampered) {
		v.read = func(ctx context.Context, pod *v1.Pod, volume, path string, _ int) ([]byte, bool, error) {
			return v.Volumes.(podsync.VolumeFileReader).ReadVolumeFile(ctx, pod, volume, path, 1<<20)
		}
	}},
	{"a missing file is another error", []string{"files/missing"}, func(v *tampered) {
		v.read = func(ctx context.Context, pod *v1.Pod, volume, path string, limit int) ([]byte, bool, error) {
			data, more, err := v.Volumes.(podsync.VolumeFileReader).ReadVolumeFile(ctx, pod, volume, path, limit)
			if err != nil {
				err = errors.New("no")
			}
			return data, more, err
		}
	}},
	{"links are followed anywhere", []string{"files/outside"}, func(v *tampered) {
		v.read = func(ctx context.Context, pod *v1.Pod, volume, path string, limit int) ([]byte, bool, error) {
			if path == "etc/passwd" {
				return []byte("root"), true, nil
			}
			return v.Volumes.(podsync.VolumeFileReader).ReadVolumeFile(ctx, pod, volume, path, limit)
		}
	}},
	{"SetUp changes the pod", []string{"files/", "mounts/", "problems/pure", "setup/again", "setup/keeps", "setup/none", "teardown/again", "teardown/anew", "teardown/others", "teardown/removes"}, func(v *tampered) {
		v.setUp = func(ctx context.Context, pod *v1.Pod) error {
			pod.Annotations = map[string]string{"set": "up"}
			return v.Volumes.SetUp(ctx, pod)
		}
	}},
	{"SetUp knows no optional object", []string{"setup/absent-object"}, func(v *tampered) {
		v.setUp = func(ctx context.Context, pod *v1.Pod) error {
			if len(pod.Spec.Volumes) > 0 && pod.Spec.Volumes[0].ConfigMap != nil {
				return nil
			}
			return v.Volumes.SetUp(ctx, pod)
		}
	}},
	{"SetUp removes the old files", []string{"setup/keeps"}, func(v *tampered) {
		v.setUp = func(ctx context.Context, pod *v1.Pod) error {
			return errors.Join(v.Volumes.TearDown(ctx, pod.UID), v.Volumes.SetUp(ctx, pod))
		}
	}},
	{"mounts the other way round", []string{"mounts/order"}, func(v *tampered) {
		mountsThrough(v, func(_ *v1.Pod, m []rt.Mount) []rt.Mount {
			if len(m) == 3 {
				slices.Reverse(m)
			}
			return m
		})
	}},
	{"nothing is read-only", []string{"mounts/image", "mounts/order"}, func(v *tampered) {
		mountsThrough(v, func(_ *v1.Pod, m []rt.Mount) []rt.Mount {
			for i := range m {
				m[i].ReadOnly = false
			}
			return m
		})
	}},
	{"one path for all pods", []string{"files/outside", "files/read", "mounts/shared", "setup/keeps", "teardown/anew", "teardown/others", "teardown/removes"}, func(v *tampered) {
		mountsThrough(v, func(pod *v1.Pod, m []rt.Mount) []rt.Mount {
			for i := range m {
				m[i].HostPath = strings.ReplaceAll(m[i].HostPath, string(pod.UID), "pod")
			}
			return m
		})
	}},
	{"expand is not asked", []string{"mounts/not-expanded", "mounts/sub-path-expr"}, func(v *tampered) {
		v.mounts = func(ctx context.Context, pod *v1.Pod, c *v1.Container, _ func(string) (string, error)) ([]rt.Mount, error) {
			return v.Volumes.Mounts(ctx, pod, c, func(string) (string, error) { return ".", nil })
		}
	}},
	{"the error of expand is another one", []string{"mounts/not-expanded"}, func(v *tampered) {
		v.mounts = func(ctx context.Context, pod *v1.Pod, c *v1.Container, expand func(string) (string, error)) ([]rt.Mount, error) {
			m, err := v.Volumes.Mounts(ctx, pod, c, expand)
			if err != nil {
				err = fmt.Errorf("mounts: %v", err)
			}
			return m, err
		}
	}},
	{"a subPath leads anywhere", []string{"mounts/image", "mounts/outside"}, func(v *tampered) {
		v.mounts = func(ctx context.Context, pod *v1.Pod, c *v1.Container, expand func(string) (string, error)) ([]rt.Mount, error) {
			c = c.DeepCopy()
			sub := c.VolumeMounts
			var below string
			if len(sub) > 0 {
				below, sub[0].SubPath = sub[0].SubPath, ""
			}
			m, err := v.Volumes.Mounts(ctx, pod, c, expand)
			if len(m) > 0 {
				m[0].HostPath = path.Join(m[0].HostPath, below)
			}
			return m, err
		}
	}},
	{"any volume is there", []string{"mounts/no-such-volume"}, func(v *tampered) {
		v.mounts = func(ctx context.Context, pod *v1.Pod, c *v1.Container, expand func(string) (string, error)) ([]rt.Mount, error) {
			c = c.DeepCopy()
			for i := range c.VolumeMounts {
				if c.VolumeMounts[i].Name == "other" {
					c.VolumeMounts[i].Name = pod.Spec.Volumes[0].Name
				}
			}
			return v.Volumes.Mounts(ctx, pod, c, expand)
		}
	}},
	{"TearDown wants to know the pod", []string{"teardown/again", "teardown/unknown"}, func(v *tampered) {
		known := map[types.UID]bool{}
		v.setUp = func(ctx context.Context, pod *v1.Pod) error {
			known[pod.UID] = true
			return v.Volumes.SetUp(ctx, pod)
		}
		v.tearDown = func(ctx context.Context, uid types.UID) error {
			if !known[uid] && ctx.Done() != nil { // The bench may tear down anything at its end.
				return rt.ErrNotFound
			}
			delete(known, uid)
			return v.Volumes.TearDown(ctx, uid)
		}
	}},
	{"TearDown removes nothing", []string{"teardown/anew", "teardown/removes"}, func(v *tampered) {
		v.tearDown = func(context.Context, types.UID) error { return nil }
	}},
	{"TearDown removes everything", []string{"teardown/others"}, func(v *tampered) {
		var all []types.UID
		v.setUp = func(ctx context.Context, pod *v1.Pod) error {
			all = append(all, pod.UID)
			return v.Volumes.SetUp(ctx, pod)
		}
		v.tearDown = func(ctx context.Context, uid types.UID) error {
			for _, one := range all {
				uid = one
				if err := v.Volumes.TearDown(ctx, uid); err != nil {
					return err
				}
			}
			return nil
		}
	}},
}

// Each broken implementation fails the cases that are about what it breaks, and no others.
func TestBroken(t *testing.T) {
	for _, br := range brokenVolumes {
		t.Run(strings.ReplaceAll(br.how, " ", "-"), func(t *testing.T) {
			for _, c := range volumestest.Cases() {
				if c.Name == "setup/concurrent" {
					continue // The broken implementations are not safe for concurrent calls.
				}
				h := onDisk(t)
				v := &tampered{Volumes: h.Volumes}
				br.tamper(v)
				h.Volumes = v
				want := slices.ContainsFunc(br.cases, func(name string) bool {
					return name == c.Name || strings.HasSuffix(name, "/") && strings.HasPrefix(c.Name, name)
				})
				failed := run(t, c, h)
				assert.Equal(t, want, len(failed) > 0, "%s: %s", c.Name, failed)
			}
		})
	}
}

// recorder is a T that notes failures.
type recorder struct {
	*testing.T
	failed []string
}

func (r *recorder) Errorf(format string, args ...any) {
	r.failed = append(r.failed, fmt.Sprintf(format, args...))
}
func (r *recorder) FailNow()             { runtime.Goexit() }
func (r *recorder) Skipf(string, ...any) {}

// run runs one case in a goroutine of its own, which FailNow ends.
func run(t *testing.T, c volumestest.Case, h volumestest.Harness) []string {
	rec, done := &recorder{T: t}, make(chan struct{})
	go func() {
		defer close(done)
		c.Run(rec, h)
	}()
	<-done
	return rec.failed
}

func TestRun_NoVolumes(t *testing.T) {
	assert.Equal(t, []string{"volumestest: the harness has no Volumes"}, run(t, volumestest.Cases()[0], volumestest.Harness{}))
}

// The names of cases differ, and every promise is a sentence.
func TestCases(t *testing.T) {
	seen := map[string]bool{}
	for _, c := range volumestest.Cases() {
		assert.False(t, seen[c.Name], c.Name)
		assert.Regexp(t, "^[A-Z].*[.]$", c.Promise)
		seen[c.Name] = true
	}
}
