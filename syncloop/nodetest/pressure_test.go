package nodetest_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"

	"github.com/podkeel/podkeel/syncloop/eviction"
	"github.com/podkeel/podkeel/syncloop/node"
	"github.com/podkeel/podkeel/syncloop/nodetest"
)

const mebi = 1 << 20

// hungryPod returns a pod that uses memory and runs until the end of its grace period when it is stopped.
func hungryPod(name string, mebibytes, grace int64) *v1.Pod {
	p := podOf(name, fmt.Sprintf("run=forever ignore-term memory=%dMi", mebibytes))
	p.Spec.TerminationGracePeriodSeconds = &grace
	return p
}

// describePods returns the phases and reasons of the pods and the conditions of the node.
func describePods(s *nodetest.Simulation) string {
	var all []string
	for _, pod := range s.Node().Pods() {
		text := pod.Name + " " + string(pod.Status.Phase)
		if pod.Status.Reason != "" {
			text += " " + pod.Status.Reason
		}
		for _, c := range pod.Status.Conditions {
			if c.Type == v1.DisruptionTarget {
				text += " DisruptionTarget"
			}
		}
		all = append(all, text)
	}
	for _, c := range []v1.NodeConditionType{v1.NodeMemoryPressure, v1.NodeDiskPressure, v1.NodePIDPressure, eviction.NodeSignalsUnobserved} {
		if s.Node().Health().Pressure[c] {
			all = append(all, string(c))
		}
	}
	return strings.Join(all, ", ")
}

// statusMessage returns the message of a pod's status.
func statusMessage(s *nodetest.Simulation, name string) string {
	for _, pod := range s.Node().Pods() {
		if pod.Name == name {
			return pod.Status.Message
		}
	}
	return ""
}

func hardMemory(value string) eviction.Settings {
	return eviction.Settings{Hard: map[string]string{"memory.available": value}}
}

// TestPressure_EV22_CriticalPodsStay: the critical pod uses the most memory. The largest other pod is evicted within
// a second, and the next one stays, because its memory is enough.
func TestPressure_EV22_CriticalPodsStay(t *testing.T) {
	p := &nodetest.Pressure{MemoryBytes: 1000 * mebi}
	s := nodetest.New(t, nodetest.Config{Seed: 1, Configure: p.Configure(hardMemory("100Mi"), eviction.Policy{})})
	critical := hungryPod("critical", 500, 30)
	critical.Spec.Priority = new(int32(2_000_000_000))
	for _, pod := range []*v1.Pod{critical, hungryPod("large", 250, 30), hungryPod("small", 100, 30)} {
		s.Apply(pod)
	}
	s.Run(15 * time.Second)
	assert.Equal(t, "critical Running, large Running, small Running", describePods(s))
	p.SetOther(eviction.MemoryAvailable, 100*mebi)
	s.Run(12 * time.Second)
	assert.Equal(t, "critical Running, large Failed Evicted DisruptionTarget, small Running, MemoryPressure", describePods(s))
	assert.Equal(t, "The node was low on resource: memory. Threshold quantity: 100Mi, available: 50Mi. "+
		"Container c was using 250Mi, request is 0, has larger consumption of memory. ", statusMessage(s, "large"))
	s.Run(4 * time.Minute)
	assert.Contains(t, describePods(s), "MemoryPressure")
	s.Run(2 * time.Minute)
	assert.Equal(t, "critical Running, large Failed Evicted DisruptionTarget, small Running", describePods(s))
}

// TestPressure_EV26_GraceIsShortened: the pod with the most memory was deleted with a grace period of ten minutes. A
// hard threshold ends it within seconds, and no other pod is evicted.
func TestPressure_EV26_GraceIsShortened(t *testing.T) {
	p := &nodetest.Pressure{MemoryBytes: 1000 * mebi}
	s := nodetest.New(t, nodetest.Config{Seed: 1, Configure: p.Configure(hardMemory("100Mi"), eviction.Policy{})})
	s.Apply(hungryPod("large", 500, 600))
	s.Apply(hungryPod("small", 100, 30))
	s.Run(15 * time.Second)
	s.Delete("large")
	s.Run(15 * time.Second)
	require.Contains(t, describePods(s), "large Running")
	p.SetOther(eviction.MemoryAvailable, 350*mebi)
	s.Run(13 * time.Second)
	assert.Equal(t, "small Running, MemoryPressure", describePods(s))
}

// TestPressure_EV13_HardBeforeSoft: a soft eviction gives its victim five minutes. When the hard threshold is met too,
// the same pod is killed, and the other pod stays.
func TestPressure_EV13_HardBeforeSoft(t *testing.T) {
	p := &nodetest.Pressure{MemoryBytes: 1000 * mebi}
	settings := hardMemory("100Mi")
	settings.Soft, settings.SoftGracePeriod = map[string]string{"memory.available": "200Mi"}, map[string]string{"memory.available": "20s"}
	s := nodetest.New(t, nodetest.Config{Seed: 1, Configure: p.Configure(settings, eviction.Policy{MaxPodGraceSeconds: 300})})
	s.Apply(hungryPod("large", 500, 600))
	s.Apply(hungryPod("small", 100, 30))
	s.Run(15 * time.Second)
	p.SetOther(eviction.MemoryAvailable, 250*mebi)
	s.Run(45 * time.Second)
	require.Equal(t, "large Running, small Running, MemoryPressure", describePods(s), "the victim of the soft threshold has 5 minutes")
	require.Contains(t, s.Transcript(), "40s  event Evicted")
	p.SetOther(eviction.MemoryAvailable, 350*mebi)
	s.Run(13 * time.Second)
	assert.Equal(t, "large Failed Evicted DisruptionTarget, small Running, MemoryPressure", describePods(s))
}

// TestPressure_EV17_ReclaimClearsOneSignal: the file system of images and the one of logs are both full. The removal of
// an unused image clears the first one. The evicted pod is the one with large logs, not the one with a large layer.
func TestPressure_EV17_ReclaimClearsOneSignal(t *testing.T) {
	p := &nodetest.Pressure{DiskBytes: 1000 * mebi, ImageDiskBytes: 1000 * mebi}
	settings := eviction.Settings{Hard: map[string]string{"imagefs.available": "10%", "nodefs.available": "10%"}}
	s := nodetest.New(t, nodetest.Config{Seed: 1, Configure: p.Configure(settings, eviction.Policy{})})
	s.Apply(podOf("layer", "run=forever disk=300Mi"))
	s.Apply(podOf("logs", "run=forever"))
	s.Run(15 * time.Second)
	images, err := s.Machine().ListImages(t.Context())
	require.NoError(t, err)
	require.Len(t, images, 2)
	s.Apply(podOf("unused", "run=1s exit=0"))
	s.Run(5 * time.Second)
	s.Delete("unused")
	s.Run(5 * time.Minute)
	p.SetLogs("logs", "c", 950*mebi)
	s.Run(15 * time.Second)
	assert.Equal(t, "layer Running, logs Failed Evicted DisruptionTarget, DiskPressure", describePods(s))
}

// TestPressure_EV27_LocalLimits: pods above limits of their own are evicted in one pass, without the condition
// DisruptionTarget.
func TestPressure_EV27_LocalLimits(t *testing.T) {
	p := &nodetest.Pressure{DiskBytes: 1 << 40}
	s := nodetest.New(t, nodetest.Config{Seed: 1, Configure: p.Configure(eviction.Settings{}, eviction.Policy{})})
	dir := podOf("dir", "run=forever")
	dir.Spec.Volumes = []v1.Volume{{Name: "data", VolumeSource: v1.VolumeSource{EmptyDir: &v1.EmptyDirVolumeSource{SizeLimit: new(resource.MustParse("1Gi"))}}}}
	dir.Spec.Containers[0].VolumeMounts = []v1.VolumeMount{{Name: "data", MountPath: "/data"}}
	layer := podOf("layer", "run=forever disk=2Gi")
	layer.Spec.Containers[0].Resources.Limits = v1.ResourceList{v1.ResourceEphemeralStorage: resource.MustParse("1Gi")}
	s.Apply(dir)
	s.Apply(layer)
	s.Apply(podOf("other", "run=forever disk=2Gi"))
	p.SetVolume("dir", "data", 2<<30)
	s.Run(15 * time.Second)
	assert.Equal(t, "dir Failed Evicted, layer Failed Evicted, other Running", describePods(s))
	assert.Equal(t, `Usage of EmptyDir volume "data" exceeds the limit "1Gi". `, statusMessage(s, "dir"))
	assert.Equal(t, "Pod ephemeral local storage usage exceeds the total limit of containers 1Gi. ", statusMessage(s, "layer"))
}

// TestPressure_EV23_SoftGrace: without a maximum a soft eviction has one second.
func TestPressure_EV23_SoftGrace(t *testing.T) {
	p := &nodetest.Pressure{MemoryBytes: 1000 * mebi}
	settings := eviction.Settings{Soft: map[string]string{"memory.available": "200Mi"}, SoftGracePeriod: map[string]string{"memory.available": "20s"}}
	s := nodetest.New(t, nodetest.Config{Seed: 1, Configure: p.Configure(settings, eviction.Policy{})})
	s.Apply(hungryPod("large", 900, 600))
	s.Run(19 * time.Second)
	require.Equal(t, "large Running, MemoryPressure", describePods(s))
	s.Run(15 * time.Second)
	assert.Equal(t, "large Failed Evicted DisruptionTarget, MemoryPressure", describePods(s))
}

// TestPressure_EV30_Admission: under memory pressure a BestEffort pod is rejected, and a pod with a request runs.
func TestPressure_EV30_Admission(t *testing.T) {
	p := &nodetest.Pressure{MemoryBytes: 1000 * mebi}
	s := nodetest.New(t, nodetest.Config{Seed: 1, Configure: p.Configure(hardMemory("100Mi"), eviction.Policy{})})
	p.SetOther(eviction.MemoryAvailable, 950*mebi)
	s.Run(11 * time.Second)
	s.Apply(podOf("besteffort", "run=forever"))
	burstable := podOf("burstable", "run=forever")
	burstable.Spec.Containers[0].Resources.Requests = v1.ResourceList{v1.ResourceMemory: resource.MustParse("1Mi")}
	s.Apply(burstable)
	s.Run(2 * time.Second)
	assert.Equal(t, "besteffort Failed Evicted, burstable Running, MemoryPressure", describePods(s))
	assert.Equal(t, "Pod was rejected: The node had condition: [MemoryPressure]. ", statusMessage(s, "besteffort"))
}

// TestPressure_EV12_Blind: while the node cannot be measured, nothing is evicted, and a condition says so.
func TestPressure_EV12_Blind(t *testing.T) {
	p := &nodetest.Pressure{MemoryBytes: 1000 * mebi}
	s := nodetest.New(t, nodetest.Config{Seed: 1, Configure: p.Configure(hardMemory("100Mi"), eviction.Policy{})})
	s.Apply(hungryPod("large", 950, 30))
	p.SetBlind(true)
	s.Run(time.Minute)
	assert.Equal(t, "large Running, EvictionSignalsUnobserved", describePods(s))
	p.SetBlind(false)
	s.Run(13 * time.Second)
	assert.Equal(t, "large Failed Evicted DisruptionTarget, MemoryPressure", describePods(s))
}

// TestPressure_Stats: the stats of the node have the last measurements of its signals. A signal without a capacity is absent.
// A node that evicts nothing reports no file system.
func TestPressure_Stats(t *testing.T) {
	p := &nodetest.Pressure{MemoryBytes: 1000 * mebi, DiskBytes: 100 * mebi, Processes: 50}
	s := nodetest.New(t, nodetest.Config{Seed: 1, Configure: p.Configure(hardMemory("100Mi"), eviction.Policy{})})
	s.Apply(hungryPod("a", 250, 1))
	p.SetOther(eviction.NodeFsAvailable, 30*mebi)
	p.SetOther(eviction.PIDAvailable, 9)
	s.Run(15 * time.Second)
	stats, err := s.Node().Containers().NodeStats(t.Context())
	require.NoError(t, err)
	assert.EqualValues(t, 750*mebi, *stats.Memory.AvailableBytes)
	require.NotNil(t, stats.Filesystem)
	assert.EqualValues(t, 100*mebi, *stats.Filesystem.CapacityBytes)
	assert.EqualValues(t, 69*mebi, *stats.Filesystem.AvailableBytes, "the image has 1Mi")
	assert.EqualValues(t, 31*mebi, *stats.Filesystem.UsedBytes)
	assert.Nil(t, stats.Filesystem.Inodes)
	require.NotNil(t, stats.Processes)
	assert.EqualValues(t, 50, stats.Processes.Max)
	assert.GreaterOrEqual(t, stats.Processes.Running, int64(9))

	without := nodetest.New(t, nodetest.Config{Seed: 1})
	without.Run(time.Second)
	stats, err = without.Node().Containers().NodeStats(t.Context())
	require.NoError(t, err)
	assert.Nil(t, stats.Filesystem)
	assert.Nil(t, stats.Processes)
}

// TestPressure_NoRuntime: a configuration without a runtime has nothing to measure, and panics with one sentence.
func TestPressure_NoRuntime(t *testing.T) {
	configure := (&nodetest.Pressure{}).Configure(eviction.Settings{}, eviction.Policy{})
	assert.PanicsWithValue(t, "nodetest: Pressure: Config.Runtime of the node is nil: set it before Pressure configures the node, which measures the pods of this runtime", func() { configure(&node.Config{}) })
}
