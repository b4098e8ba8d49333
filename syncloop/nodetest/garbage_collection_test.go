package nodetest_test

import (
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/podkeel/podkeel/runtime"
	"github.com/podkeel/podkeel/syncloop/nodetest"
)

// GC-3, GC-10: a pod that crashes for an hour has its newest record and at most one more, never fewer.
// GC-6: no record of a removed pod is left.
func TestCollect_GC3_GC6_CrashLoop(t *testing.T) {
	b := nodetest.New(t, nodetest.Config{Seed: 1})
	b.Apply(podOf("crash", "run=1s exit=1"))
	b.Run(time.Second)
	for range 3600 {
		b.Run(time.Second)
		pod := b.Machine().SnapshotPod("crash")
		dead := 0
		for _, c := range pod.Containers {
			if c.State == runtime.StateExited {
				dead++
			}
		}
		assert.NotEmpty(t, pod.Containers)
		assert.LessOrEqual(t, dead, 2, "the one before goes a moment after the end of the next")
	}
	b.Run(time.Second)
	assert.LessOrEqual(t, len(b.Machine().SnapshotPod("crash").Containers), 2)
	assert.Contains(t, b.Transcript(), "restarts=15")
	b.Delete("crash")
	b.Run(time.Minute)
	assert.Empty(t, b.Machine().Snapshot())
	b.Stop()
}

// IG-1, 38 of part 4: on a disk that is always too full the images of existing pods stay, whether the
// pods run, crash or have terminated. Images of removed pods are removed. No image is removed between
// its pull and the creation of its container.
func TestCollect_IG1_FullDisk(t *testing.T) {
	b := nodetest.New(t, nodetest.Config{Seed: 1})
	b.Machine().SetImageFilesystem(1<<20, 1<<20)
	b.Apply(podOf("runs", "run=forever"))
	b.Apply(podOf("crashes", "run=3s exit=1"))
	over := podOf("over", "run=3s")
	over.Spec.RestartPolicy = v1.RestartPolicyNever
	b.Apply(over)
	for n := range 20 {
		name := "short" + strings.Repeat("x", n)
		b.Apply(podOf(name, "run=forever"))
		b.Run(time.Minute)
		b.Delete(types.UID(name))
		b.Run(time.Minute)
	}
	b.Run(10 * time.Minute)
	var left []string
	list, err := b.Machine().ListImages(t.Context())
	assert.NoError(t, err)
	for _, image := range list {
		left = append(left, image.Tags...)
	}
	assert.ElementsMatch(t, []string{"runs:1", "crashes:1", "over:1"}, left)
	assert.NotContains(t, b.Transcript(), "event Failed:")
	b.Stop()
}
