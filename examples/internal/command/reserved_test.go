package command

import (
	goruntime "runtime"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"

	"github.com/podkeel/podkeel/syncloop/node"
)

// TestReserved: both flags add up. A resource without a capacity gets the machine's, and other resources get none.
func TestReserved(t *testing.T) {
	var r Reserved
	require.NoError(t, r.SetSystem("cpu=500m, memory=1Gi,"))
	require.NoError(t, r.SetKube("memory=1Gi,ephemeral-storage=1Mi"))
	given := v1.ResourceList{v1.ResourceMemory: resource.MustParse("4Gi"), "example.com/gpu": resource.MustParse("1")}
	c := node.Config{Scheduling: node.SchedulingConfig{Capacity: given}}
	require.NoError(t, r.Configure(&c, t.TempDir()))
	left := c.Allocatable()
	machine := Capacity()
	cpu := machine.Cpu().MilliValue() - 500
	disk := CapacityWithDisk(t.TempDir())[v1.ResourceEphemeralStorage]
	disk.Sub(resource.MustParse("1Mi"))
	assert.Equal(t, []int64{cpu, 2 << 30, disk.Value()}, []int64{left.Cpu().MilliValue(), left.Memory().Value(), left.StorageEphemeral().Value()})
	assert.Len(t, left, 4)
	assert.Len(t, given, 2, "the list of the caller is not changed")
	assert.Zero(t, c.Cgroups.MaxTotalPIDs)
	assert.Equal(t, map[string]any{
		"systemReserved": map[string]string{"cpu": "500m", "memory": "1Gi"}, "kubeReserved": map[string]string{"memory": "1Gi", "ephemeral-storage": "1Mi"},
	}, r.Fields())
	n, err := node.New(c)
	require.NoError(t, err)
	left = n.Scheduling().Allocatable()
	assert.Equal(t, cpu, left.Cpu().MilliValue())
}

// TestReserved_None: without flags nothing changes.
func TestReserved_None(t *testing.T) {
	var r Reserved
	var c node.Config
	require.NoError(t, r.Configure(&c, t.TempDir()))
	assert.Empty(t, c.Scheduling.Reserved)
	assert.Empty(t, c.Scheduling.Capacity)
	assert.Empty(t, r.Fields())
}

// TestReserved_PIDs: reserved process IDs limit the processes of all pods together.
func TestReserved_PIDs(t *testing.T) {
	if goruntime.GOOS != "linux" {
		t.Skip("no number of processes here")
	}
	var r Reserved
	var c node.Config
	require.NoError(t, r.SetKube("pid=1000"))
	most, err := maxPIDs()
	require.NoError(t, err)
	require.NoError(t, r.Configure(&c, t.TempDir()))
	assert.Equal(t, most-1000, c.Cgroups.MaxTotalPIDs)
	assert.Empty(t, c.Scheduling.Reserved)
	require.NoError(t, r.SetKube("pid=1000000000000"))
	assert.ErrorContains(t, r.Configure(&c, t.TempDir()), "pid of 1T is more than the capacity of ")
	require.NoError(t, r.SetKube("pid=10E"), "more than an int64 can hold")
	require.ErrorContains(t, r.Configure(&c, t.TempDir()), "is more than the capacity")
}

// TestReserved_Faults: each fault names the resource.
func TestReserved_Faults(t *testing.T) {
	var r Reserved
	for text, want := range map[string]string{
		"gpu=1":                 `"gpu" cannot be reserved: expected cpu, memory, ephemeral-storage or pid`,
		"cpu":                   "cpu: expected a quantity, such as cpu=500",
		"memory=-1Gi":           "memory=-1Gi: expected a quantity, such as memory=500",
		"cpu=1,cpu=2":           "cpu is given twice",
		"memory=1e999999999999": "memory=1e999999999999: expected a quantity, such as memory=500",
	} {
		assert.EqualError(t, r.SetSystem(text), want)
	}
	require.NoError(t, r.SetSystem("cpu=1,memory=3Gi"))
	c := node.Config{Scheduling: node.SchedulingConfig{Capacity: v1.ResourceList{v1.ResourceMemory: resource.MustParse("2Gi"), v1.ResourceCPU: resource.MustParse("500m")}}}
	assert.EqualError(t, r.Configure(&c, t.TempDir()), "--system-reserved and --kube-reserved: cpu of 1 is more than the capacity of 500m\n"+
		"--system-reserved and --kube-reserved: memory of 3Gi is more than the capacity of 2Gi")
}
