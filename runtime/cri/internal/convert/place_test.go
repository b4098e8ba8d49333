package convert

import (
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	cri "k8s.io/cri-api/pkg/apis/runtime/v1"

	"github.com/podkeel/podkeel/runtime"
)

// users are mapped to others than their groups.
func users() (*runtime.UserNamespace, []*cri.IDMapping, []*cri.IDMapping) {
	u := &runtime.UserNamespace{
		UIDs: []runtime.IDMapping{{ContainerID: 1, HostID: 2, Length: 3}},
		GIDs: []runtime.IDMapping{{ContainerID: 4, HostID: 5, Length: 6}},
	}
	return u, []*cri.IDMapping{{ContainerId: 1, HostId: 2, Length: 3}}, []*cri.IDMapping{{ContainerId: 4, HostId: 5, Length: 6}}
}

// Each security field of the request has its own field in CRI: user and group, added and dropped capabilities, and each
// of the two profiles.
func TestSecurity_EachInItsPlace(t *testing.T) {
	asked := runtime.Security{
		User: new(int64(1)), Group: new(int64(2)), Username: "web", SupplementalGroups: []int64{3, 4},
		AddCapabilities: []string{"NET_ADMIN"}, DropCapabilities: []string{"ALL"},
		Seccomp: runtime.Profile{Type: "Localhost", Path: "calls.json"}, AppArmor: runtime.Profile{Type: "Unconfined"},
		SELinux:     &runtime.SELinux{User: "u", Role: "r", Type: "t", Level: "l"},
		MaskedPaths: []string{"/proc/kcore"}, ReadOnlyPaths: []string{"/proc/sys"},
	}
	of, uids, gids := users()
	selinux := &cri.SELinuxOption{User: "u", Role: "r", Type: "t", Level: "l"}
	seccomp := &cri.SecurityProfile{ProfileType: cri.SecurityProfile_Localhost, LocalhostRef: "calls.json"}
	apparmor := &cri.SecurityProfile{ProfileType: cri.SecurityProfile_Unconfined}
	own := &cri.NamespaceOption{
		Pid: cri.NamespaceMode_CONTAINER, UsernsOptions: &cri.UserNamespace{Mode: cri.NamespaceMode_POD, Uids: uids, Gids: gids},
	}
	in := runtime.Namespaces{Users: of}
	assert.Equal(t, &cri.LinuxContainerSecurityContext{
		NamespaceOptions: own, SelinuxOptions: selinux, Seccomp: seccomp, Apparmor: apparmor,
		RunAsUser: &cri.Int64Value{Value: 1}, RunAsGroup: &cri.Int64Value{Value: 2}, RunAsUsername: "web", SupplementalGroups: []int64{3, 4},
		Capabilities: &cri.Capability{AddCapabilities: []string{"NET_ADMIN"}, DropCapabilities: []string{"ALL"}},
		MaskedPaths:  []string{"/proc/kcore"}, ReadonlyPaths: []string{"/proc/sys"},
	}, toCRIContainerSecurity(&asked, in))
	assert.Equal(t, &cri.LinuxSandboxSecurityContext{
		NamespaceOptions: own, SelinuxOptions: selinux, Seccomp: seccomp, Apparmor: apparmor,
		RunAsUser: &cri.Int64Value{Value: 1}, RunAsGroup: &cri.Int64Value{Value: 2}, SupplementalGroups: []int64{3, 4},
	}, toCRISandboxSecurity(&asked, in))

	for _, c := range []struct {
		asked     runtime.Security
		container *cri.LinuxContainerSecurityContext
		sandbox   *cri.LinuxSandboxSecurityContext
	}{
		{runtime.Security{}, &cri.LinuxContainerSecurityContext{}, &cri.LinuxSandboxSecurityContext{}},
		{runtime.Security{Privileged: true}, &cri.LinuxContainerSecurityContext{Privileged: true}, &cri.LinuxSandboxSecurityContext{Privileged: true}},
		{runtime.Security{ReadOnlyRoot: true}, &cri.LinuxContainerSecurityContext{ReadonlyRootfs: true}, &cri.LinuxSandboxSecurityContext{ReadonlyRootfs: true}},
		{runtime.Security{NoNewPrivileges: true}, &cri.LinuxContainerSecurityContext{NoNewPrivs: true}, &cri.LinuxSandboxSecurityContext{}},
	} {
		c.container.NamespaceOptions = &cri.NamespaceOption{Pid: cri.NamespaceMode_CONTAINER}
		c.sandbox.NamespaceOptions = c.container.NamespaceOptions
		assert.Equal(t, c.container, toCRIContainerSecurity(&c.asked, runtime.Namespaces{}))
		assert.Equal(t, c.sandbox, toCRISandboxSecurity(&c.asked, runtime.Namespaces{}))
	}
}

// A mount is of the host's path at the container's, a device too.
func TestCreateContainer_EachInItsPlace(t *testing.T) {
	of, uids, gids := users()
	got := CreateContainer(runtime.CreateContainerRequest{
		Command: []string{"command"}, Args: []string{"args"}, Env: []runtime.EnvVar{{Name: "name", Value: "value"}},
		Mounts: []runtime.Mount{
			{HostPath: "/host", ContainerPath: "/container", Propagation: runtime.PropagationHostToContainer},
			{HostPath: "/a", ContainerPath: "/b", ReadOnly: true, Propagation: runtime.PropagationBidirectional},
			{HostPath: "/a", ContainerPath: "/c", ReadOnly: true, RecursiveReadOnly: runtime.RecursiveReadOnlyEnabled},
			{Image: "sha256:1", ImageSubPath: "a/b", ContainerPath: "/d", ReadOnly: true},
		},
		CDIDevices: []string{"vendor.com/gpu=0"},
		Devices:    []runtime.Device{{HostPath: "/dev/host", ContainerPath: "/dev/container", Permissions: "r"}},
	}, SandboxContext{Namespaces: runtime.Namespaces{Users: of}}, 0, "me").Config
	assert.Equal(t, []string{"command"}, got.Command)
	assert.Equal(t, []string{"args"}, got.Args)
	require.Len(t, got.Envs, 1)
	assert.Equal(t, "name=value", fmt.Sprintf("%s=%s", got.Envs[0].Key, got.Envs[0].Value))
	assert.Equal(t, []*cri.Mount{
		{HostPath: "/host", ContainerPath: "/container", Propagation: cri.MountPropagation_PROPAGATION_HOST_TO_CONTAINER, UidMappings: uids, GidMappings: gids},
		{HostPath: "/a", ContainerPath: "/b", Readonly: true, Propagation: cri.MountPropagation_PROPAGATION_BIDIRECTIONAL, UidMappings: uids, GidMappings: gids},
		{HostPath: "/a", ContainerPath: "/c", Readonly: true, RecursiveReadOnly: true, UidMappings: uids, GidMappings: gids},
		{Image: &cri.ImageSpec{Image: "sha256:1"}, ImageSubPath: "a/b", ContainerPath: "/d", Readonly: true, UidMappings: uids, GidMappings: gids},
	}, got.Mounts)
	require.Len(t, got.CDIDevices, 1)
	assert.Equal(t, "vendor.com/gpu=0", got.CDIDevices[0].Name)
	assert.Equal(t, []*cri.Device{{HostPath: "/dev/host", ContainerPath: "/dev/container", Permissions: "r"}}, got.Devices)
}

// PIDTarget only applies if the container would have its own PID namespace.
func TestCreateContainer_PIDTarget(t *testing.T) {
	pid := func(n runtime.Namespaces) *cri.NamespaceOption {
		got := CreateContainer(runtime.CreateContainerRequest{PIDTarget: "id"}, SandboxContext{Namespaces: n}, 0, "me")
		return got.Config.Linux.SecurityContext.NamespaceOptions
	}
	assert.Equal(t, &cri.NamespaceOption{Pid: cri.NamespaceMode_TARGET, TargetId: "id"}, pid(runtime.Namespaces{}))
	assert.Equal(t, &cri.NamespaceOption{Pid: cri.NamespaceMode_POD}, pid(runtime.Namespaces{SharePID: true}))
	assert.Equal(t, &cri.NamespaceOption{Pid: cri.NamespaceMode_NODE}, pid(runtime.Namespaces{HostPID: true}))
}

// Ports, names and settings of a sandbox.
func TestRunSandbox_EachInItsPlace(t *testing.T) {
	got := RunSandbox(runtime.RunSandboxRequest{
		DNS: runtime.DNS{Servers: []string{"192.0.2.53"}, Searches: []string{"example"}, Options: []string{"ndots:2"}},
		Ports: []runtime.PortMapping{
			{ContainerPort: 80, HostPort: 8080, HostIP: "192.0.2.1", Protocol: "TCP"}, {ContainerPort: 53, HostPort: 5353, Protocol: "udp"},
			{ContainerPort: 9, HostPort: 99, Protocol: "SCTP"},
		},
		Sysctls: map[string]string{"net.ipv4.ip_forward": "1"},
	}, "me").Config
	assert.Equal(t, &cri.DNSConfig{Servers: []string{"192.0.2.53"}, Searches: []string{"example"}, Options: []string{"ndots:2"}}, got.DnsConfig)
	assert.Equal(t, []*cri.PortMapping{
		{ContainerPort: 80, HostPort: 8080, HostIp: "192.0.2.1", Protocol: cri.Protocol_TCP}, {ContainerPort: 53, HostPort: 5353, Protocol: cri.Protocol_UDP},
		{ContainerPort: 9, HostPort: 99, Protocol: cri.Protocol_SCTP},
	}, got.PortMappings)
	assert.Equal(t, map[string]string{"net.ipv4.ip_forward": "1"}, got.Linux.Sysctls)
}

// Each field of a container's status is read from its own CRI field. The image is the requested image, which our
// annotation has, because runtimes report another name.
func TestContainerStatus_EachFromItsPlace(t *testing.T) {
	marks := map[string]string{AnnotationImage: "asked:1"}
	listed := runtime.Container{ID: "c", Name: "main"}
	image := &cri.ImageSpec{Image: "sha256:1", UserSpecifiedImage: "specified:1"}
	got := ContainerStatus(listed, &cri.ContainerStatus{
		State: cri.ContainerState_CONTAINER_EXITED, CreatedAt: 1, StartedAt: 2, FinishedAt: 3, ExitCode: 4,
		Image: image, ImageRef: "ref", ImageId: "id", Reason: "reason", Message: "message", Annotations: marks,
	})
	listed.State = runtime.StateExited
	assert.Equal(t, runtime.ContainerStatus{
		Container: listed, Image: "asked:1", ImageRef: "ref", CreatedAt: time.Unix(0, 1), StartedAt: time.Unix(0, 2), FinishedAt: time.Unix(0, 3),
		ExitCode: 4, Reason: "reason", Message: "message", Annotations: marks,
	}, got)
	assert.Equal(t, "specified:1", ContainerStatus(listed, &cri.ContainerStatus{Image: image}).Image)
	assert.Equal(t, "id", ContainerStatus(listed, &cri.ContainerStatus{ImageId: "id"}).ImageRef)
}
