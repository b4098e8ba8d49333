package convert

import (
	"encoding/json"
	"fmt"
	"math"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	cri "k8s.io/cri-api/pkg/apis/runtime/v1"

	"github.com/podkeel/podkeel/runtime"
)

// full fills a value: one element in each slice and map, a value in each
// pointer, no flag set and no choice but the first made.
func full(v reflect.Value, name string) {
	switch v.Kind() {
	case reflect.Struct:
		for i := range v.NumField() {
			full(v.Field(i), v.Type().Field(i).Name)
		}
	case reflect.Pointer:
		v.Set(reflect.New(v.Type().Elem()))
		full(v.Elem(), name)
	case reflect.Slice:
		v.Set(reflect.MakeSlice(v.Type(), 1, 1))
		full(v.Index(0), name)
	case reflect.Map:
		key, value := reflect.New(v.Type().Key()).Elem(), reflect.New(v.Type().Elem()).Elem()
		full(key, name)
		full(value, name)
		v.Set(reflect.MakeMap(v.Type()))
		v.SetMapIndex(key, value)
	case reflect.String:
		words := map[string]string{"Type": "Localhost", "Protocol": "UDP", "StopSignal": "SIGUSR1"}
		v.SetString(words[name])
		if words[name] == "" {
			v.SetString(name)
		}
	case reflect.Int64, reflect.Int32, reflect.Int:
		v.SetInt(1)
		if v.Type() == reflect.TypeFor[time.Duration]() {
			v.SetInt(int64(time.Second))
		}
	case reflect.Uint64, reflect.Uint32:
		v.SetUint(1)
	}
}

// leaves calls f for everything in v that has no parts, with a function that
// changes it.
func leaves(v reflect.Value, path string, f func(path string, change func())) {
	switch v.Kind() {
	case reflect.Struct:
		for i := range v.NumField() {
			leaves(v.Field(i), strings.TrimPrefix(path+"."+v.Type().Field(i).Name, "."), f)
		}
	case reflect.Pointer:
		leaves(v.Elem(), path, f)
	case reflect.Slice:
		leaves(v.Index(0), path, f)
	case reflect.Map:
		f(path, func() { v.Set(reflect.Zero(v.Type())) })
	case reflect.String:
		f(path, func() { v.SetString(v.String() + "x") })
	case reflect.Bool:
		f(path, func() { v.SetBool(true) })
	case reflect.Int64, reflect.Int32, reflect.Int:
		f(path, func() { v.SetInt(2 * v.Int()) })
	case reflect.Uint64, reflect.Uint32, reflect.Uint8:
		f(path, func() { v.SetUint(v.Uint() + 1) })
	default:
		panic(fmt.Sprintf("%s is a %s", path, v.Kind()))
	}
}

// forgotten returns the fields of a request that do not affect the result.
func forgotten[Q any](t *testing.T, convert func(Q) any) []string {
	text := func(q Q) string {
		out, err := json.Marshal(convert(q))
		require.NoError(t, err)
		return string(out)
	}
	var base Q
	full(reflect.ValueOf(&base).Elem(), "")
	before := text(base)
	var paths []string
	leaves(reflect.ValueOf(&base).Elem(), "", func(path string, _ func()) { paths = append(paths, path) })
	var none []string
	for _, path := range paths {
		var q Q
		full(reflect.ValueOf(&q).Elem(), "")
		leaves(reflect.ValueOf(&q).Elem(), "", func(at string, change func()) {
			if at == path {
				change()
			}
		})
		if text(q) == before {
			none = append(none, path)
		}
	}
	return none
}

func TestRunSandbox_EveryFieldIsSaid(t *testing.T) {
	got := forgotten(t, func(q runtime.RunSandboxRequest) any { return RunSandbox(q, "me") })
	assert.Equal(t, []string{ // matters of containers, for which CRI has no field here
		"Security.Username", "Security.NoNewPrivileges", "Security.AddCapabilities", "Security.DropCapabilities",
		"Security.MaskedPaths", "Security.ReadOnlyPaths",
	}, got)
}

func TestCreateContainer_EveryFieldIsSaid(t *testing.T) {
	got := forgotten(t, func(q runtime.CreateContainerRequest) any { return CreateContainer(q, SandboxContext{}, 0, "me") })
	assert.Empty(t, got)
}

func TestCreateContainer_EveryFieldOfThePlaceIsSaid(t *testing.T) {
	got := forgotten(t, func(p SandboxContext) any { return CreateContainer(runtime.CreateContainerRequest{}, p, 0, "me") })
	assert.Empty(t, got)
}

func TestPlace_ComesBackWhole(t *testing.T) {
	var req runtime.RunSandboxRequest
	full(reflect.ValueOf(&req).Elem(), "")
	req.Namespaces.SharePID, req.Security.Privileged = true, true
	got := SandboxContextFromAnnotations(RunSandbox(req, "me").Config.Annotations)
	assert.Equal(t, sandboxContext(&req), got)
	assert.False(t, reflect.ValueOf(got.Namespaces.Users).IsNil())
	assert.Equal(t, SandboxContext{}, SandboxContextFromAnnotations(map[string]string{AnnotationSandboxContext: "{"}))
	assert.Equal(t, SandboxContext{}, SandboxContextFromAnnotations(nil))
}

// The place is on sandboxes that outlive the agent: a newer one has to read what an
// older one has written, so its words must not change.
func TestPlace_WordsStay(t *testing.T) {
	place := SandboxContext{
		LogDir: "/logs", CgroupDir: "/pods", Hostname: "h", Privileged: true,
		Namespaces: runtime.Namespaces{
			HostNetwork: true, HostPID: true, HostIPC: true, SharePID: true,
			Users: &runtime.UserNamespace{UIDs: []runtime.IDMapping{{HostID: 1, ContainerID: 2, Length: 3}}},
		},
	}
	const written = `{"logDir":"/logs","cgroupDir":"/pods","hostname":"h","privileged":true,"namespaces":{"HostNetwork":true,"HostPID":true,` +
		`"HostIPC":true,"SharePID":true,"Users":{"UIDs":[{"ContainerID":2,"HostID":1,"Length":3}],"GIDs":null}}}`
	assert.Equal(t, place, SandboxContextFromAnnotations(map[string]string{AnnotationSandboxContext: written}))
	now, err := json.Marshal(place)
	require.NoError(t, err)
	assert.Equal(t, written, string(now))
}

func TestPullImage_EveryFieldIsSaid(t *testing.T) {
	got := forgotten(t, func(q runtime.PullImageRequest) any { return PullImage(q) })
	assert.Equal(t, []string{"Pod.Incarnation", "Volume"}, got, "an image is for all lives of a pod, and CRI has no field for volumes")
}

// zero are the fields of a result that have no value.
func zero(v reflect.Value, path string) (none []string) {
	switch {
	case v.IsZero():
		return []string{path}
	case v.Kind() == reflect.Struct && v.Type() != reflect.TypeFor[time.Time]():
		for i := range v.NumField() {
			none = append(none, zero(v.Field(i), strings.TrimPrefix(path+"."+v.Type().Field(i).Name, "."))...)
		}
	}
	return none
}

// What comes back of a full message has every field of our words.
func TestResults_EveryFieldIsRead(t *testing.T) {
	marks := map[string]string{AnnotationIncarnation: "7", AnnotationImage: "asked"}
	labels := map[string]string{LabelOwner: "me", LabelPodUID: "u", LabelPodName: "n", LabelPodNamespace: "s"}
	pods, skipped := Pods(
		[]*cri.PodSandbox{{
			Id: "p", Metadata: &cri.PodSandboxMetadata{Name: "n", Namespace: "s", Uid: "u", Attempt: 2}, CreatedAt: 1, Labels: labels, Annotations: marks,
		}},
		[]*cri.Container{{
			Id: "c", PodSandboxId: "p", Metadata: &cri.ContainerMetadata{Name: "main", Attempt: 3}, State: cri.ContainerState_CONTAINER_EXITED, Labels: labels, Annotations: marks,
		}}, "me")
	require.Len(t, pods, 1)
	assert.Empty(t, skipped)
	assert.Empty(t, zero(reflect.ValueOf(pods[0]), ""))
	assert.Empty(t, zero(reflect.ValueOf(pods[0].Sandboxes[0]), ""))
	assert.Empty(t, zero(reflect.ValueOf(pods[0].Containers[0]), ""))

	s := SandboxStatus(pods[0].Sandboxes[0], &cri.PodSandboxStatus{
		CreatedAt: 1, Network: &cri.PodSandboxNetworkStatus{Ip: "1.2.3.4", AdditionalIps: []*cri.PodIP{{Ip: "1.2.3.4"}, {Ip: "::1"}, nil}},
	})
	assert.Equal(t, []string{"HostNetwork"}, zero(reflect.ValueOf(s), ""), "it has addresses of its own")
	assert.Equal(t, []string{"1.2.3.4", "::1"}, s.IPs)
	c := ContainerStatus(pods[0].Containers[0], &cri.ContainerStatus{
		State: cri.ContainerState_CONTAINER_RUNNING, CreatedAt: 1, StartedAt: 2, FinishedAt: 3, ExitCode: 4, ImageRef: "ref", Reason: "r", Message: "m", Annotations: marks,
		Resources: &cri.ContainerResources{Linux: &cri.LinuxContainerResources{CpuShares: 512, CpuPeriod: 100000, CpuQuota: 50000, MemoryLimitInBytes: 7}},
		Mounts:    []*cri.Mount{{HostPath: "/h"}, {Image: &cri.ImageSpec{Image: "i"}}, {Image: &cri.ImageSpec{}}},
		User:      &cri.ContainerUser{Linux: &cri.LinuxContainerUser{Uid: 1, Gid: 2, SupplementalGroups: []int64{4, 3}}},
	})
	assert.Equal(t, &runtime.LinuxContainerUser{UID: 1, GID: 2, SupplementalGroups: []int64{4, 3}}, c.User, "the groups in the order of the runtime")
	assert.Nil(t, ContainerStatus(runtime.Container{}, &cri.ContainerStatus{User: &cri.ContainerUser{}}).User)
	assert.Equal(t, []string{"i"}, c.MountedImages)
	assert.Equal(t, []string{"StartCancelled"}, zero(reflect.ValueOf(c), ""), "only an exited one has")
	assert.Equal(t, runtime.Resources{CPUShares: 512, CPUPeriod: 100 * time.Millisecond, CPUQuota: 50 * time.Millisecond, MemoryBytes: 7}, *c.Resources)
	for quota, want := range map[int64]time.Duration{-1: runtime.Unlimited, 0: 0, math.MaxInt64: 0} {
		r := reportedResources(&cri.LinuxContainerResources{CpuQuota: quota, MemoryLimitInBytes: -5, CpuShares: -1})
		assert.Equal(t, runtime.Resources{CPUQuota: want, MemoryBytes: runtime.Unlimited}, *r)
	}
	assert.Equal(t, "asked", c.Image)
	assert.Equal(t, runtime.StateRunning, c.State, "the status is newer than the list")

	i := Image(&cri.Image{Id: "i", RepoTags: []string{"t"}, RepoDigests: []string{"d"}, Size: 1, Uid: &cri.Int64Value{Value: 0}, Pinned: true})
	assert.Empty(t, zero(reflect.ValueOf(i), ""))
	assert.Equal(t, "0", i.User, "root is a user, too")
	assert.Equal(t, "web", Image(&cri.Image{Username: "web"}).User)

}

// TestContainerStatus_StartCancelled: the status distinguishes a start that containerd abandoned, because its caller
// had disconnected, from a start that failed.
func TestContainerStatus_StartCancelled(t *testing.T) {
	exited := cri.ContainerState_CONTAINER_EXITED
	for want, all := range map[bool][]*cri.ContainerStatus{
		true: {
			{State: exited, ExitCode: 128, Reason: "StartError", Message: "failed to create containerd task: context canceled"},
			{State: exited, ExitCode: 128, Reason: "StartError", Message: "failed to start containerd task \"x\": context canceled: unknown"},
		},
		false: {
			{},
			{State: exited, ExitCode: 128, Reason: "StartError", Message: "exec: \"nothing\": executable file not found in $PATH"},
			{State: exited, ExitCode: 1, Reason: "Error", Message: "context canceled"},
			{State: exited, ExitCode: 128, Reason: "Error", Message: "context canceled"},
			{State: cri.ContainerState_CONTAINER_RUNNING, ExitCode: 128, Reason: "StartError", Message: "context canceled"},
		},
	} {
		for _, s := range all {
			assert.Equal(t, want, ContainerStatus(runtime.Container{}, s).StartCancelled, "%v", s)
		}
	}
}

// F62: nothing of a message need be there.
func TestResults_F62_NothingIsThere(t *testing.T) {
	pods, skipped := Pods([]*cri.PodSandbox{nil, {}, {Id: "a"}, {Id: "b", Metadata: &cri.PodSandboxMetadata{Uid: "u"}},
		{Id: "c", Metadata: &cri.PodSandboxMetadata{}, Labels: map[string]string{LabelOwner: "me"}}},
		[]*cri.Container{nil, {Id: "d"}}, "me")
	assert.Empty(t, pods)
	var reasons []string
	for _, s := range skipped {
		reasons = append(reasons, s.Kind+" "+s.ID+": "+s.Reason)
	}
	assert.Equal(t, []string{
		"sandbox : no ID", "sandbox : no ID", "sandbox a: no metadata", "sandbox b: another owner",
		"sandbox c: no pod UID", "container : no ID", "container d: no metadata",
	}, reasons)

	assert.Equal(t, runtime.SandboxStatus{Sandbox: runtime.Sandbox{Ready: true}}, SandboxStatus(runtime.Sandbox{}, nil), "ready is the zero of CRI")
	assert.Equal(t, runtime.ContainerStatus{Container: runtime.Container{State: runtime.StateCreated}}, ContainerStatus(runtime.Container{}, nil))
	assert.Equal(t, runtime.StateUnknown, State(99))
	assert.False(t, SandboxStatus(runtime.Sandbox{}, &cri.PodSandboxStatus{State: 99}).Ready)
	assert.Equal(t, runtime.Image{}, Image(nil))
	event, mine := Event(nil, "me")
	assert.Equal(t, runtime.Event{}, event)
	assert.True(t, mine, "no other owner is known")
	status := RuntimeStatus(nil)
	assert.False(t, status.RuntimeReady || status.NetworkReady)
	at, _ := Mountpoint([]*cri.FilesystemUsage{nil, {}})
	assert.Empty(t, at)
	assert.True(t, timeFromNanos(-1).IsZero())
}

// Records are sorted by attempt, not by time (F61), and pods by UID. A container whose sandbox was removed is kept
// (F69), and a container that is listed twice counts once.
func TestPods_F61_F69_Order(t *testing.T) {
	labels := func(uid string) map[string]string {
		return map[string]string{LabelOwner: "me", LabelPodUID: uid, LabelPodName: "n" + uid, LabelPodNamespace: "s"}
	}
	sandbox := func(id, uid string, attempt uint32, at int64) *cri.PodSandbox {
		return &cri.PodSandbox{Id: id, Metadata: &cri.PodSandboxMetadata{Uid: uid, Attempt: attempt}, CreatedAt: at, Labels: labels(uid)}
	}
	container := func(id, uid, name string, attempt uint32) *cri.Container {
		return &cri.Container{Id: id, Metadata: &cri.ContainerMetadata{Name: name, Attempt: attempt}, Labels: labels(uid), PodSandboxId: "gone"}
	}
	pods, skipped := Pods(
		[]*cri.PodSandbox{sandbox("1", "b", 0, 9), sandbox("2", "b", 1, 5), sandbox("2", "b", 1, 5)},
		[]*cri.Container{container("3", "b", "y", 0), container("4", "b", "x", 1), container("5", "b", "x", 2), container("6", "a", "x", 0)}, "me")
	assert.Empty(t, skipped)
	require.Len(t, pods, 2)
	assert.Equal(t, "na", pods[0].Name, "known by the labels of its container")
	var ids []string
	for _, s := range pods[1].Sandboxes {
		ids = append(ids, s.ID)
	}
	for _, c := range pods[1].Containers {
		ids = append(ids, c.ID)
	}
	assert.Equal(t, []string{"2", "1", "5", "4", "3"}, ids)
}

// I38, F74: what a pod says of itself does not make it another's.
func TestLabels_I38_OursAreOverThePods(t *testing.T) {
	forged := map[string]string{LabelOwner: "you", LabelPodUID: "x", LabelPodName: "x", LabelPodNamespace: "x", LabelContainerName: "x", "app": "web"}
	ref := runtime.PodRef{UID: "u", Name: "n", Namespace: "s", Incarnation: 3}
	said := map[string]string{AnnotationIncarnation: "9", AnnotationSandboxContext: "x", AnnotationImage: "x", "note": "y"}
	s := RunSandbox(runtime.RunSandboxRequest{Pod: ref, Labels: forged, Annotations: said}, "me").Config
	assert.Equal(t, map[string]string{
		LabelOwner: "me", LabelPodUID: "u", LabelPodName: "n", LabelPodNamespace: "s", LabelContainerName: "x", "app": "web",
	}, s.Labels)
	assert.Equal(t, uint64(3), incarnationFromAnnotations(s.Annotations))
	assert.Equal(t, "y", s.Annotations["note"])
	c := CreateContainer(runtime.CreateContainerRequest{Pod: ref, Name: "main", Image: "i", Labels: forged, Annotations: said}, SandboxContext{}, 0, "me").Config
	assert.Equal(t, "me", c.Labels[LabelOwner])
	assert.Equal(t, "main", c.Labels[LabelContainerName])
	assert.Equal(t, "i", c.Annotations[AnnotationImage])
	assert.Equal(t, "you", forged[LabelOwner], "the request is not written to")
}

func TestNamespaces(t *testing.T) {
	const pod, container, node = cri.NamespaceMode_POD, cri.NamespaceMode_CONTAINER, cri.NamespaceMode_NODE
	for _, c := range []struct {
		n    runtime.Namespaces
		want *cri.NamespaceOption
	}{
		{runtime.Namespaces{}, &cri.NamespaceOption{Network: pod, Pid: container, Ipc: pod}},
		{runtime.Namespaces{SharePID: true}, &cri.NamespaceOption{Network: pod, Pid: pod, Ipc: pod}},
		{runtime.Namespaces{HostPID: true, SharePID: true}, &cri.NamespaceOption{Network: pod, Pid: node, Ipc: pod}},
		{runtime.Namespaces{HostNetwork: true, HostIPC: true}, &cri.NamespaceOption{Network: node, Pid: container, Ipc: node}},
	} {
		got := toCRINamespaces(c.n)
		assert.Equal(t, []any{c.want.Network, c.want.Pid, c.want.Ipc}, []any{got.Network, got.Pid, got.Ipc}, "%+v", c.n)
		assert.Nil(t, got.UsernsOptions)
	}
	req := runtime.RunSandboxRequest{Hostname: "h", Namespaces: runtime.Namespaces{HostNetwork: true}}
	assert.Empty(t, RunSandbox(req, "me").Config.Hostname, "with the host's network it has the host's name")
}

func TestResources(t *testing.T) {
	assert.Nil(t, Resources(runtime.Resources{}))
	r := Resources(runtime.Resources{
		CPUShares: 512, CPUPeriod: 100 * time.Millisecond, CPUQuota: 50 * time.Millisecond, MemoryBytes: 100, SwapBytes: 20,
		CPUSet: "0-1", MemorySet: "0", OOMScoreAdj: -997, HugePages: map[string]uint64{"2MB": 4, "1GB": 8}, PIDs: 9,
	})
	assert.Equal(t, []any{int64(512), int64(100_000), int64(50_000), int64(100), int64(120), "0-1", "0", int64(-997)},
		[]any{r.CpuShares, r.CpuPeriod, r.CpuQuota, r.MemoryLimitInBytes, r.MemorySwapLimitInBytes, r.CpusetCpus, r.CpusetMems, r.OomScoreAdj})
	assert.Equal(t, "1GB", r.HugepageLimits[0].PageSize)
	assert.Equal(t, map[string]string{"pids.max": "9"}, r.Unified)
	assert.Equal(t, int64(math.MaxInt64), Resources(runtime.Resources{MemoryBytes: math.MaxInt64, SwapBytes: math.MaxInt64}).MemorySwapLimitInBytes)
}

// Any negative number is no limit, and no limit of memory is none of memory and swap.
func TestResources_Unlimited(t *testing.T) {
	for _, n := range []int64{runtime.Unlimited, -1000, math.MinInt64} {
		for _, c := range []struct {
			asked runtime.Resources
			want  *cri.LinuxContainerResources
		}{
			{runtime.Resources{CPUQuota: time.Duration(n)}, &cri.LinuxContainerResources{CpuQuota: -1}},
			{runtime.Resources{MemoryBytes: n}, &cri.LinuxContainerResources{MemoryLimitInBytes: -1}},
			{runtime.Resources{MemoryBytes: n, SwapBytes: 5}, &cri.LinuxContainerResources{MemoryLimitInBytes: -1, MemorySwapLimitInBytes: -1}},
			{runtime.Resources{MemoryBytes: 7, SwapBytes: n}, &cri.LinuxContainerResources{MemoryLimitInBytes: 7, MemorySwapLimitInBytes: -1}},
			{runtime.Resources{PIDs: n}, &cri.LinuxContainerResources{Unified: map[string]string{"pids.max": "max"}}},
		} {
			assert.Equal(t, c.want.String(), Resources(c.asked).String(), "%+v", c.asked)
		}
	}
}

func TestStopSignal(t *testing.T) {
	for name, want := range map[string]string{
		"": "RUNTIME_DEFAULT", "SIGTERM": "SIGTERM", "usr1": "SIGUSR1",
		"SIGRTMIN+3": "SIGRTMINPLUS3", "SIGRTMAX-2": "SIGRTMAXMINUS2", "SIGRTMINPLUS3": "SIGRTMINPLUS3",
	} {
		got, ok := StopSignal(name)
		assert.True(t, ok, name)
		assert.Equal(t, want, strings.TrimPrefix(got.String(), "SIGNAL_"), "%s; the names have the prefix since k8s.io/cri-api 0.37", name)
	}
	_, ok := StopSignal("SIGNONSENSE")
	assert.False(t, ok)
}

func TestProfile_UnknownIsNeverNone(t *testing.T) {
	assert.Nil(t, toCRIProfile(runtime.Profile{}))
	assert.Equal(t, cri.SecurityProfile_Unconfined, toCRIProfile(runtime.Profile{Type: "Unconfined"}).ProfileType)
	assert.Equal(t, cri.SecurityProfile_RuntimeDefault, toCRIProfile(runtime.Profile{Type: "RuntimeDefault"}).ProfileType)
	assert.Equal(t, cri.SecurityProfile_RuntimeDefault, toCRIProfile(runtime.Profile{Type: "New"}).ProfileType)
	local := toCRIProfile(runtime.Profile{Type: "Localhost", Path: "p"})
	assert.Equal(t, "p", local.LocalhostRef)
	assert.Equal(t, cri.SecurityProfile_Localhost, local.ProfileType)
}

func TestEvent(t *testing.T) {
	status := &cri.PodSandboxStatus{Id: "s", Metadata: &cri.PodSandboxMetadata{Uid: "u"}, Labels: map[string]string{LabelOwner: "me"}}
	e, mine := Event(&cri.ContainerEventResponse{ContainerId: "c", CreatedAt: 1, PodSandboxStatus: status}, "me")
	assert.True(t, mine)
	assert.Equal(t, runtime.Event{UID: "u", ContainerID: "c", At: time.Unix(0, 1)}, e)
	e, _ = Event(&cri.ContainerEventResponse{ContainerId: "s", PodSandboxStatus: status}, "me")
	assert.Empty(t, e.ContainerID, "a sandbox is no container")
	_, mine = Event(&cri.ContainerEventResponse{ContainerId: "c", PodSandboxStatus: status}, "you")
	assert.False(t, mine)
	e, mine = Event(&cri.ContainerEventResponse{ContainerId: "c", ContainersStatuses: []*cri.ContainerStatus{
		nil, {Labels: map[string]string{LabelOwner: "you", LabelPodUID: "v"}},
	}}, "me")
	assert.False(t, mine)
	assert.Equal(t, "v", string(e.UID))
}

func TestRuntimeStatus(t *testing.T) {
	got := RuntimeStatus(&cri.StatusResponse{Status: &cri.RuntimeStatus{Conditions: []*cri.RuntimeCondition{
		nil, {Type: cri.RuntimeReady, Status: true, Message: "fine"}, {Type: cri.NetworkReady, Reason: "NoCNI", Message: "no plugin"}, {Type: "Other"},
	}}, RuntimeHandlers: []*cri.RuntimeHandler{
		{Name: "runc", Features: &cri.RuntimeHandlerFeatures{UserNamespaces: true}}, nil,
		{Name: "kata", Features: &cri.RuntimeHandlerFeatures{RecursiveReadOnlyMounts: true}},
	}})
	assert.Equal(t, runtime.RuntimeStatus{RuntimeReady: true, NetworkMessage: "NoCNI: no plugin", Handlers: []runtime.RuntimeHandler{
		{Name: "runc", UserNamespaces: true}, {}, {Name: "kata", RecursiveReadOnlyMounts: true},
	}}, got)
}

func TestSandboxStatus_HostNetworkHasNoAddress(t *testing.T) {
	s := SandboxStatus(runtime.Sandbox{}, &cri.PodSandboxStatus{
		Network: &cri.PodSandboxNetworkStatus{Ip: "192.0.2.1"},
		Linux:   &cri.LinuxPodSandboxStatus{Namespaces: &cri.Namespace{Options: &cri.NamespaceOption{Network: cri.NamespaceMode_NODE}}},
	})
	assert.True(t, s.HostNetwork)
	assert.Empty(t, s.IPs)
}

// The fields of CRI's requests that we leave empty, so that new ones are seen
// when the API is raised.
func TestRequests_WhatIsNotSaid(t *testing.T) {
	var s runtime.RunSandboxRequest
	full(reflect.ValueOf(&s).Elem(), "")
	var c runtime.CreateContainerRequest
	full(reflect.ValueOf(&c).Elem(), "")
	assert.Equal(t, []string{"Windows"}, exported(zeroMessage(reflect.ValueOf(RunSandbox(s, "me").Config), "")))
	got := exported(zeroMessage(reflect.ValueOf(CreateContainer(c, SandboxContext{}, 0, "me").Config), ""))
	assert.Equal(t, []string{"Image.Annotations", "Image.RuntimeHandler", "Image.ImageRef", "Stdin", "StdinOnce", "Tty", "Windows"}, got)
}

func exported(paths []string) []string {
	return slices.DeleteFunc(paths, func(p string) bool { // details that flags and choices decide
		return strings.Contains(p, "SecurityContext") || strings.Contains(p, "Metadata") || strings.Contains(p, "Resources")
	})
}

// zeroMessage reports whether a generated struct is zero. It follows pointers.
func zeroMessage(v reflect.Value, path string) (none []string) {
	if v.IsZero() {
		return []string{path}
	}
	if v.Kind() != reflect.Pointer || v.Elem().Kind() != reflect.Struct {
		return nil
	}
	for i := range v.Elem().NumField() {
		if f := v.Elem().Type().Field(i); f.IsExported() {
			none = append(none, zeroMessage(v.Elem().Field(i), strings.TrimPrefix(path+"."+f.Name, "."))...)
		}
	}
	return none
}

// The kernel names the files of huge pages by other units than pods do.
func TestResources_HugePages(t *testing.T) {
	got := map[string]uint64{}
	for _, l := range Resources(runtime.Resources{HugePages: map[string]uint64{"2Mi": 1, "2048Ki": 2, "1Gi": 3, "64Ki": 4, "1024Gi": 5, "odd": 6}}).HugepageLimits {
		got[l.PageSize] += l.Limit
	}
	assert.Equal(t, map[string]uint64{"2MB": 3, "1GB": 3, "64KB": 4, "1024GB": 5, "odd": 6}, got)
}

// TestPods_F97_NameOfTheNewestSandbox: a UID that was used again under another name has records of
// both names. The pod has the name of the newest sandbox, in whatever order the runtime lists them.
func TestPods_F97_NameOfTheNewestSandbox(t *testing.T) {
	box := func(id, name string, attempt uint32) *cri.PodSandbox {
		return &cri.PodSandbox{Id: id, Metadata: &cri.PodSandboxMetadata{Uid: "u", Name: name, Namespace: "ns-" + name, Attempt: attempt}}
	}
	old, renamed, newest := box("a", "db", 0), box("b", "other", 1), box("c", "last", 2)
	for _, order := range [][]*cri.PodSandbox{{old, renamed, newest}, {newest, renamed, old}, {renamed, newest, old}, {old, newest, renamed}} {
		pods, _ := Pods(order, nil, "")
		require.Len(t, pods, 1)
		assert.Equal(t, "last ns-last", pods[0].Name+" "+pods[0].Namespace)
	}
}
