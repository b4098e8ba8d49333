package memory_test

import (
	"context"
	"io/fs"
	"maps"
	"reflect"
	"slices"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/podkeel/podkeel/runtime"
	"github.com/podkeel/podkeel/runtime/memory"
)

// Pods with the same template share the stored part of their requests. An update of one container
// does not change another.
func TestRecords_AnUpdateIsOfOneContainer(t *testing.T) {
	r := memory.New(memory.Config{})
	create := func(uid string) (runtime.PodRef, string) {
		ref, sandbox := createSandbox(t, r, uid, nil)
		id, err := r.CreateContainer(t.Context(), runtime.CreateContainerRequest{
			Pod: ref, SandboxID: sandbox, Name: "main", Image: "busybox", Annotations: map[string]string{"k": "v"},
			Resources: runtime.Resources{CPUShares: 2, HugePages: map[string]uint64{"2Mi": 1}},
		})
		require.NoError(t, err)
		return ref, id
	}
	refA, a := create("a")
	refB, b := create("b")
	require.Equal(t, reflect.ValueOf(containerStatus(t, r, refA, a).Annotations).Pointer(),
		reflect.ValueOf(containerStatus(t, r, refB, b).Annotations).Pointer(), "equal values are stored once")

	update := runtime.UpdateContainerRequest{ContainerID: a, Resources: runtime.Resources{CPUShares: 7, HugePages: map[string]uint64{"2Mi": 9}}}
	require.NoError(t, r.UpdateContainer(t.Context(), update))
	assert.EqualValues(t, 7, containerStatus(t, r, refA, a).Resources.CPUShares, "a status that was read before is not shown again")
	of, _ := r.Resources(a)
	assert.Equal(t, runtime.Resources{CPUShares: 7, HugePages: map[string]uint64{"2Mi": 9}}, of)
	of, _ = r.Resources(b)
	assert.Equal(t, runtime.Resources{CPUShares: 2, HugePages: map[string]uint64{"2Mi": 1}}, of)
	_, c := create("c")
	of, _ = r.Resources(c)
	assert.Equal(t, runtime.Resources{CPUShares: 2, HugePages: map[string]uint64{"2Mi": 1}}, of, "nor of one that comes later")
}

// The caller may modify a request after the call. That changes no record.
func TestRecords_ShareNothingWithRequests(t *testing.T) {
	r := memory.New(memory.Config{})
	annotations := map[string]string{"k": "v"}
	ref, sandbox := createSandbox(t, r, "a", annotations)
	req := runtime.CreateContainerRequest{
		Pod: ref, SandboxID: sandbox, Name: "main", Image: "busybox", Annotations: maps.Clone(annotations),
		Command: []string{"env"}, Args: []string{"x"}, Env: []runtime.EnvVar{{Name: "A", Value: "1"}},
		Resources: runtime.Resources{HugePages: map[string]uint64{"2Mi": 1}},
	}
	id, err := r.CreateContainer(t.Context(), req)
	require.NoError(t, err)
	require.NoError(t, r.StartContainer(t.Context(), runtime.StartContainerRequest{ContainerID: id}))
	annotations["k"], req.Annotations["k"], req.Command[0], req.Args[0] = "w", "w", "false", "y"
	req.Env[0].Value, req.Resources.HugePages["2Mi"] = "2", 2

	assert.Equal(t, map[string]string{"k": "v"}, r.SnapshotPod(ref.UID).Sandboxes[0].Annotations)
	assert.Equal(t, map[string]string{"k": "v"}, containerStatus(t, r, ref, id).Annotations)
	resources, _ := r.Resources(id)
	assert.Equal(t, map[string]uint64{"2Mi": 1}, resources.HugePages)
	out, err := r.Exec(t.Context(), runtime.ExecRequest{ContainerID: id, Command: []string{"env"}})
	require.NoError(t, err)
	assert.Equal(t, "A=1\n", string(out.Output))
}

// The status of a container has the user that its request names. It has none if the image decides about the user.
func TestRecords_User(t *testing.T) {
	r := memory.New(memory.Config{})
	ref, sandbox := createSandbox(t, r, "a", nil)
	for name, c := range map[string]struct {
		request runtime.Security
		want    *runtime.LinuxContainerUser
	}{
		"none":     {runtime.Security{Group: new(int64(2)), SupplementalGroups: []int64{3}}, nil},
		"by-name":  {runtime.Security{Username: "web"}, nil},
		"root":     {runtime.Security{User: new(int64(0))}, &runtime.LinuxContainerUser{SupplementalGroups: []int64{0}}},
		"no-group": {runtime.Security{User: new(int64(1)), SupplementalGroups: []int64{3}}, &runtime.LinuxContainerUser{UID: 1, SupplementalGroups: []int64{0, 3}}},
		"all": {
			runtime.Security{User: new(int64(1)), Group: new(int64(2)), SupplementalGroups: []int64{4, 2, 3, 4}, StrictGroups: true},
			&runtime.LinuxContainerUser{UID: 1, GID: 2, SupplementalGroups: []int64{2, 4, 3}},
		},
	} {
		id, err := r.CreateContainer(t.Context(), runtime.CreateContainerRequest{Pod: ref, SandboxID: sandbox, Name: name, Image: "busybox", Security: c.request})
		require.NoError(t, err)
		assert.Equal(t, c.want, containerStatus(t, r, ref, id).User, name)
	}
}

// Containers with different requests have different records, also when there are many.
func TestRecords_OfDifferentRequests(t *testing.T) {
	r := memory.New(memory.Config{})
	ref, sandbox := createSandbox(t, r, "a", nil)
	var ids []string
	for attempt := range uint32(40) {
		id, err := r.CreateContainer(t.Context(), runtime.CreateContainerRequest{
			Pod: ref, SandboxID: sandbox, Name: "main", Attempt: attempt, Image: "busybox",
			Resources: runtime.Resources{CPUShares: uint64(attempt % 20)},
		})
		require.NoError(t, err)
		ids = append(ids, id)
	}
	for i, id := range slices.Backward(ids) {
		of, _ := r.Resources(id)
		assert.Equal(t, uint64(i%20), of.CPUShares)
	}
}

// A process reads the request of its container while the resources are updated. The race detector
// must find nothing.
func TestRecords_AnUpdateBesideAProcess(t *testing.T) {
	r := memory.New(memory.Config{})
	ref, sandbox := createSandbox(t, r, "a", nil)
	id := startContainer(t, r, ref, sandbox, "main", 0, "sleep", "inf")
	r.SetCommand(memory.Selector{}, "both", func(_ context.Context, p *memory.Process) int32 {
		updated := make(chan error)
		go func() {
			updated <- r.UpdateContainer(t.Context(), runtime.UpdateContainerRequest{ContainerID: id, Resources: runtime.Resources{CPUShares: 7}})
		}()
		_, err := p.ReadFile("none")
		assert.ErrorIs(t, err, fs.ErrNotExist)
		assert.NoError(t, <-updated)
		return 3
	})
	for range 50 {
		out, err := r.Exec(t.Context(), runtime.ExecRequest{ContainerID: id, Command: []string{"both"}})
		require.NoError(t, err)
		require.Equal(t, int32(3), out.ExitCode)
	}
}
