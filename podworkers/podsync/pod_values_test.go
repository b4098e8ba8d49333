package podsync_test

import (
	"errors"
	"log/slog"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	"k8s.io/apimachinery/pkg/types"

	"github.com/podkeel/podkeel/podmanager/podresources"
	"github.com/podkeel/podkeel/podworkers"
	"github.com/podkeel/podkeel/podworkers/podsync"
	"github.com/podkeel/podkeel/runtime/memory"
)

// cgroupWithValues is a recordedCgroups whose SetUp gives the cgroup the values of the spec, and whose values can be read.
type cgroupWithValues struct {
	*recordedCgroups
	values  *podresources.PodValues
	readErr error
	reads   int
}

func (c *cgroupWithValues) ReadPodValues(types.UID) (values podresources.PodValues, found bool, err error) {
	if c.reads++; c.values == nil || c.readErr != nil {
		return values, false, c.readErr
	}
	return *c.values, true, nil
}

// TestSyncPod_RZ51_ResourcesOfCgroup: the status of a pod with resources of its own has the limits of its cgroup, also
// right after a resize that updates no container. Without a cgroup, and if its values cannot be read, it has the resources of
// the spec. The values of other pods are not read.
func TestSyncPod_RZ51_ResourcesOfCgroup(t *testing.T) {
	rec := &cgroupWithValues{recordedCgroups: &recordedCgroups{Runtime: memory.New(memory.Config{})}}
	var log strings.Builder
	syncer, store := newQuietSyncer(t, rec, func(c *podsync.Config) { c.Cgroups, c.Log = rec, slog.New(slog.NewTextHandler(&log, nil)) })
	sync := func(limit string) string {
		pod := plainPod(func(p *v1.Pod) {
			p.Spec.Containers[0].Resources.Limits = v1.ResourceList{v1.ResourceMemory: resource.MustParse("10Mi")}
			if limit != "" {
				p.Spec.Resources = &v1.ResourceRequirements{Limits: v1.ResourceList{v1.ResourceMemory: resource.MustParse(limit)}}
			}
		})
		rec.onSetUp = func() {
			if values := podresources.ValuesForPod(pod, podresources.Policy{}); rec.limitErr == nil && rec.values != nil {
				rec.values = &values
			}
		}
		_, err := syncer.SyncPod(t.Context(), podworkers.SyncPodUpdate, pod, nil, readPodStatus(t, rec))
		if rec.limitErr == nil {
			require.NoError(t, err)
		}
		status, found := store.statuses[pod.UID]
		require.True(t, found)
		if status.Resources == nil {
			return "none"
		}
		return status.Resources.Limits.Memory().String()
	}
	assert.Equal(t, "none", sync(""))
	assert.Equal(t, "none", sync(""))
	assert.Zero(t, rec.reads)
	assert.Equal(t, "100Mi", sync("100Mi"), "no cgroup")
	rec.values = &podresources.PodValues{}
	assert.Equal(t, "200Mi", sync("200Mi"))
	assert.Equal(t, "300Mi", sync("300Mi"), "the status after the resize, in the same sync")
	rec.limitErr = errors.New("memory in use")
	assert.Equal(t, "300Mi", sync("50Mi"), "the cgroup keeps its limit")
	rec.limitErr = nil
	assert.Equal(t, "50Mi", sync("50Mi"))

	rec.readErr = errors.New("no figures")
	assert.Equal(t, "60Mi", sync("60Mi"))
	assert.Equal(t, "70Mi", sync("70Mi"))
	assert.Equal(t, 1, strings.Count(log.String(), "cannot read the limits of the cgroup of a pod"))
}
