package request_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	v1 "k8s.io/api/core/v1"

	"github.com/podkeel/podkeel/podmanager"
	"github.com/podkeel/podkeel/podworkers/podsync/internal/environ"
	"github.com/podkeel/podkeel/podworkers/podsync/internal/request"
	"github.com/podkeel/podkeel/runtime"
)

func noEnvironment() *environ.Environment { return new(environ.Environment) }

// asked is the request for the first regular container of a pod.
func asked(n *request.Node, pod *v1.Pod) runtime.CreateContainerRequest {
	return n.ContainerRequest(request.Container{Pod: pod, Container: &pod.Spec.Containers[0], Environment: noEnvironment(), Attempt: 3})
}

// The request for a container has the values of its spec and the kubelet's labels.
func TestContainer(t *testing.T) {
	pod := named(func(s *v1.PodSpec) {
		s.Containers = []v1.Container{{
			Name: "a", Image: "img:1", WorkingDir: "/w", Command: []string{"run"}, Args: []string{"$(X)"}, Env: []v1.EnvVar{{Name: "X", Value: "1"}},
			Stdin: true, TTY: true,
			Lifecycle: &v1.Lifecycle{StopSignal: new(v1.Signal("SIGUSR1"))},
		}}
	})
	pod.UID, pod.Labels = "u", map[string]string{"app": "web"}
	env, _, err := environ.Resolve(environ.Input{Pod: pod, Container: &pod.Spec.Containers[0]})
	require.NoError(t, err)
	in := request.Container{
		Pod: pod, Ref: runtime.PodRef{UID: "u", Incarnation: 2}, Container: &pod.Spec.Containers[0], Attempt: 3, SandboxID: "s",
		Image: request.Image{Ref: "sha256:1", User: "7"}, Environment: &env, Mounts: []runtime.Mount{{ContainerPath: "/m"}},
		Security: runtime.Security{Privileged: true},
	}
	got := new(request.Node).ContainerRequest(in)
	assert.NotEmpty(t, got.Annotations[request.AnnotationSpecHash])
	delete(got.Annotations, request.AnnotationSpecHash)
	assert.Equal(t, runtime.CreateContainerRequest{
		Pod: in.Ref, SandboxID: "s", Name: "a", Attempt: 3, Image: "img:1", ImageRef: "sha256:1", Command: []string{"run"}, Args: []string{"1"},
		WorkingDir: "/w", Env: []runtime.EnvVar{{Name: "X", Value: "1"}}, Mounts: in.Mounts, Security: in.Security,
		Resources: runtime.Resources{CPUShares: 2, OOMScoreAdj: 1000}, Stdin: true, TTY: true, StopSignal: "SIGUSR1",
		Labels: map[string]string{
			request.LabelPodName: "web", request.LabelPodNamespace: "ns", request.LabelPodUID: "u", request.LabelContainerName: "a",
		},
		Annotations: map[string]string{request.AnnotationRestartCount: "3"},
	}, got)
	assert.Equal(t, "a/3.log", (&request.Node{LogRoot: "/logs"}).ContainerRequest(in).LogPath)
	pod.Spec.Containers[0].Lifecycle = &v1.Lifecycle{}
	pod.Spec.Containers[0].StdinOnce = true
	got = new(request.Node).ContainerRequest(in)
	assert.Empty(t, got.StopSignal)
	assert.True(t, got.StdinOnce)
}

// The request for a sandbox. The pod itself does not change.
func TestSandbox(t *testing.T) {
	node := &request.Node{LogRoot: "/logs", SeccompRoot: "/profiles", Handlers: map[string]string{"kata": "qemu"}}
	pod := named(func(s *v1.PodSpec) {
		s.DNSPolicy, s.RuntimeClassName = v1.DNSDefault, new("kata")
		s.HostPID, s.ShareProcessNamespace = true, new(true)
		s.SecurityContext = &v1.PodSecurityContext{Sysctls: []v1.Sysctl{{Name: "a", Value: "1"}, {Name: "b", Value: "2"}}}
		s.InitContainers = []v1.Container{
			{Name: "i", Ports: []v1.ContainerPort{{ContainerPort: 1, HostPort: 1}}},
			{Name: "s", RestartPolicy: new(v1.ContainerRestartPolicyAlways), Ports: []v1.ContainerPort{{ContainerPort: 2, HostPort: 2, Protocol: v1.ProtocolUDP}}},
		}
		s.Containers = []v1.Container{{Name: "a", Ports: []v1.ContainerPort{{ContainerPort: 3, HostPort: 4, HostIP: "192.0.2.3"}, {ContainerPort: 5}}}}
	})
	pod.UID, pod.Labels, pod.Annotations = "u", map[string]string{"app": "web"}, map[string]string{"note": "n"}
	got, warnings, err := node.SandboxRequest(pod, runtime.PodRef{UID: "u"}, 2, host)
	require.NoError(t, err)
	assert.Empty(t, warnings)
	assert.NotEmpty(t, got.Annotations[request.AnnotationPodHash])
	delete(got.Annotations, request.AnnotationPodHash)
	assert.Equal(t, runtime.RunSandboxRequest{
		Pod: runtime.PodRef{UID: "u"}, Attempt: 2, Hostname: "web", DNS: host, Handler: "qemu", LogDir: "/logs/ns_web_u",
		Labels: map[string]string{"app": "web", request.LabelPodName: "web", request.LabelPodNamespace: "ns", request.LabelPodUID: "u"},
		Annotations: map[string]string{"note": "n", request.AnnotationClaim: `{"requests":{"pods":"1"},"hostPorts":[` +
			`{"ip":"0.0.0.0","protocol":"UDP","port":2},{"ip":"192.0.2.3","protocol":"TCP","port":4}]}`},
		Namespaces: runtime.Namespaces{HostPID: true, SharePID: true},
		Ports:      []runtime.PortMapping{{ContainerPort: 2, HostPort: 2, Protocol: "UDP"}, {ContainerPort: 3, HostPort: 4, HostIP: "192.0.2.3", Protocol: "TCP"}},
		Sysctls:    map[string]string{"a": "1", "b": "2"},
		Resources:  runtime.Resources{CPUShares: 2},
	}, got)
	assert.Equal(t, map[string]string{"note": "n"}, pod.Annotations)
	assert.Equal(t, map[string]string{"app": "web"}, pod.Labels)
}

// Long labels and annotations of a pod are left out of its sandbox, because a runtime lists all
// sandboxes in one message. The annotation of the source is never left out.
func TestSandbox_MetadataIsBounded(t *testing.T) {
	size := func(m map[string]string) (n int) {
		for key, value := range m {
			n += len(key) + len(value)
		}
		return n
	}
	const ours = 300 // bytes
	many := map[string]string{podmanager.ConfigSourceAnnotation: "file"}
	for i := range 10_000 {
		many[fmt.Sprint("key-", i)] = "0123456789012345678901234567890123456789"
	}
	for _, all := range []map[string]string{many, {podmanager.ConfigSourceAnnotation: "file", "long": strings.Repeat("x", 250<<10)}} {
		pod := named(func(*v1.PodSpec) {})
		pod.Labels, pod.Annotations = all, all
		got, _, err := new(request.Node).SandboxRequest(pod, runtime.PodRef{}, 0, host)
		require.NoError(t, err)
		assert.Equal(t, "file", got.Annotations[podmanager.ConfigSourceAnnotation])
		for _, kept := range []map[string]string{got.Labels, got.Annotations} {
			assert.LessOrEqual(t, size(kept), 16<<10+ours)
			assert.NotContains(t, kept, "long")
		}
		if len(all) > 2 {
			assert.Greater(t, size(got.Annotations), 15<<10, "no more than needed is left out")
		}
	}
}

// A pod in the host network publishes no ports, and unset fields stay empty.
func TestSandbox_Host(t *testing.T) {
	pod := named(func(s *v1.PodSpec) {
		s.HostNetwork, s.HostIPC, s.ShareProcessNamespace, s.SecurityContext = true, true, new(false), &v1.PodSecurityContext{}
		s.Containers = []v1.Container{{Name: "a", Ports: []v1.ContainerPort{{ContainerPort: 3, HostPort: 3}}}}
	})
	got, _, err := new(request.Node).SandboxRequest(pod, runtime.PodRef{}, 0, runtime.DNS{})
	require.NoError(t, err)
	assert.Empty(t, got.Ports)
	assert.Empty(t, got.Hostname)
	assert.Empty(t, got.LogDir)
	assert.Empty(t, got.Handler)
	assert.Nil(t, got.Sysctls)
	assert.Equal(t, runtime.Namespaces{HostNetwork: true, HostIPC: true}, got.Namespaces)
	pod.Spec.ShareProcessNamespace = nil
	got, _, err = new(request.Node).SandboxRequest(pod, runtime.PodRef{}, 0, runtime.DNS{})
	require.NoError(t, err)
	assert.False(t, got.Namespaces.SharePID)
}

// A field that cannot be honoured is an error, and the warnings of the DNS configuration are returned.
// A claim that is too long is left out.
func TestSandbox_Errors(t *testing.T) {
	node := &request.Node{SeccompRoot: "/profiles"}
	for want, change := range map[string]func(*v1.PodSpec){
		"spec.hostname":       func(s *v1.PodSpec) { s.Hostname = "A b" },
		"spec.dnsPolicy":      func(s *v1.PodSpec) { s.DNSPolicy = "Some" },
		"the seccomp profile": func(s *v1.PodSpec) { s.SecurityContext = &v1.PodSecurityContext{SeccompProfile: localhost("../x")} },
	} {
		got, _, err := node.SandboxRequest(named(change), runtime.PodRef{UID: "u"}, 0, host)
		assert.ErrorContains(t, err, want)
		assert.Empty(t, got.Pod, want)
	}
	_, warnings, err := node.SandboxRequest(named(func(s *v1.PodSpec) { s.DNSPolicy = v1.DNSClusterFirstWithHostNet }), runtime.PodRef{}, 0, host)
	require.NoError(t, err)
	assert.Len(t, warnings, 1)

	claim := func(ports int) string {
		got, _, err := node.SandboxRequest(named(func(s *v1.PodSpec) {
			s.Containers = []v1.Container{{Name: "a"}}
			for range ports {
				s.Containers[0].Ports = append(s.Containers[0].Ports, v1.ContainerPort{HostPort: 80})
			}
		}), runtime.PodRef{}, 0, host)
		require.NoError(t, err)
		return got.Annotations[request.AnnotationClaim]
	}
	one, two := claim(1), claim(2)
	each := len(two) - len(one)
	fit := 1 + (16<<10-len(one))/each
	assert.Len(t, claim(fit), len(one)+(fit-1)*each)
	assert.Empty(t, claim(fit+1))
}

// A claim of exactly the limit is written.
func TestSandbox_ClaimAtTheLimit(t *testing.T) {
	claim := func(name int) string {
		got, _, err := new(request.Node).SandboxRequest(named(func(s *v1.PodSpec) {
			s.Containers = []v1.Container{{Name: "a", Ports: []v1.ContainerPort{{HostPort: 80, HostIP: strings.Repeat("x", name)}}}}
		}), runtime.PodRef{}, 0, host)
		require.NoError(t, err)
		return got.Annotations[request.AnnotationClaim]
	}
	rest := 16<<10 - len(claim(1))
	assert.Len(t, claim(1+rest), 16<<10)
	assert.Empty(t, claim(2+rest))
}

// HasMountAt for the paths of volumeMounts, and the path of the termination message.
func TestMounts(t *testing.T) {
	c := &v1.Container{VolumeMounts: []v1.VolumeMount{{MountPath: "/a"}, {MountPath: "etc/hosts/"}}}
	assert.True(t, request.HasMountAt(c, "/a"))
	assert.True(t, request.HasMountAt(c, "/etc/hosts"))
	assert.False(t, request.HasMountAt(c, "/etc"))
	assert.False(t, request.HasMountAt(&v1.Container{}, "/a"))
	assert.Equal(t, "/dev/termination-log", request.TerminationMessagePath(&v1.Container{}))
	assert.Equal(t, "/log", request.TerminationMessagePath(&v1.Container{TerminationMessagePath: "log/"}))
}

// Probes see the literal values of the spec, and the pod that has them is not changed.
func TestProbes(t *testing.T) {
	exec := func(command string) *v1.Probe {
		return &v1.Probe{ProbeHandler: v1.ProbeHandler{Exec: &v1.ExecAction{Command: []string{"sh", command}}}}
	}
	env := []v1.EnvVar{{Name: "X", Value: "1"}}
	assert.False(t, request.HasProbes(named(func(s *v1.PodSpec) { s.Containers = []v1.Container{{Name: "a"}} })))
	for _, where := range []func(*v1.Container, *v1.Probe){
		func(c *v1.Container, p *v1.Probe) { c.LivenessProbe = p },
		func(c *v1.Container, p *v1.Probe) { c.ReadinessProbe = p },
		func(c *v1.Container, p *v1.Probe) { c.StartupProbe = p },
	} {
		pod := named(func(s *v1.PodSpec) {
			s.InitContainers, s.Containers = []v1.Container{{Name: "s", Env: env}}, []v1.Container{{Name: "a", Env: env}}
			where(&s.Containers[0], exec("plain"))
		})
		assert.True(t, request.HasProbes(pod))
		assert.Same(t, pod, request.ExpandProbes(pod), "there is nothing to expand")
		where(&pod.Spec.Containers[0], &v1.Probe{})
		assert.Same(t, pod, request.ExpandProbes(pod), "there is no command")
		where(&pod.Spec.Containers[0], exec("$(X)"))
		where(&pod.Spec.InitContainers[0], exec("$(X) $(Y)"))
		before := pod.DeepCopy()
		got := request.ExpandProbes(pod)
		assert.Equal(t, before, pod)
		where(&before.Spec.Containers[0], exec("1"))
		where(&before.Spec.InitContainers[0], exec("1 $(Y)"))
		assert.Equal(t, before, got)
	}
}

// Which containers need the pod's addresses before they are created.
func TestTellsAddresses(t *testing.T) {
	field := func(path string) []v1.EnvVar {
		return []v1.EnvVar{{Name: "plain"}, {Name: "object", ValueFrom: &v1.EnvVarSource{}}, {Name: "F", ValueFrom: &v1.EnvVarSource{FieldRef: &v1.ObjectFieldSelector{FieldPath: path}}}}
	}
	for why, c := range map[string]struct {
		container v1.Container
		want      bool
	}{
		"nothing":      {v1.Container{}, false},
		"hostIP":       {v1.Container{Env: field("status.hostIP")}, false},
		"podIP":        {v1.Container{Env: field("status.podIP")}, true},
		"podIPs":       {v1.Container{Env: field("status.podIPs")}, true},
		"a hook":       {v1.Container{Lifecycle: &v1.Lifecycle{PostStart: &v1.LifecycleHandler{HTTPGet: &v1.HTTPGetAction{}}}}, true},
		"a command":    {v1.Container{Lifecycle: &v1.Lifecycle{PostStart: &v1.LifecycleHandler{}}}, false},
		"preStop only": {v1.Container{Lifecycle: &v1.Lifecycle{PreStop: &v1.LifecycleHandler{HTTPGet: &v1.HTTPGetAction{}}}}, false},
	} {
		assert.Equal(t, c.want, request.NeedsPodIPs(named(func(s *v1.PodSpec) { s.Containers = []v1.Container{{}, c.container} })), why)
		assert.Equal(t, c.want, request.NeedsPodIPs(named(func(s *v1.PodSpec) { s.InitContainers = []v1.Container{c.container} })), why)
	}
	assert.True(t, request.NeedsPodIPs(named(func(s *v1.PodSpec) { s.EphemeralContainers = make([]v1.EphemeralContainer, 1) })))
}

// TestPIDTarget: an ephemeral container sees the processes of its target, unless it sees them anyway.
func TestPIDTarget(t *testing.T) {
	spec := func(change func(*v1.PodSpec)) *v1.Pod {
		pod := &v1.Pod{Spec: v1.PodSpec{Containers: []v1.Container{{Name: "a"}}, EphemeralContainers: []v1.EphemeralContainer{
			{EphemeralContainerCommon: v1.EphemeralContainerCommon{Name: "e"}, TargetContainerName: "a"},
			{EphemeralContainerCommon: v1.EphemeralContainerCommon{Name: "f"}},
		}}}
		change(&pod.Spec)
		return pod
	}
	none := spec(func(*v1.PodSpec) {})
	assert.Equal(t, "a", request.PIDTargetContainer(none, "e"))
	assert.Empty(t, request.PIDTargetContainer(none, "f"))
	assert.Empty(t, request.PIDTargetContainer(none, "a"))
	assert.Equal(t, "a", request.PIDTargetContainer(spec(func(s *v1.PodSpec) { s.ShareProcessNamespace = new(false) }), "e"))
	assert.Empty(t, request.PIDTargetContainer(spec(func(s *v1.PodSpec) { s.ShareProcessNamespace = new(true) }), "e"))
	assert.Empty(t, request.PIDTargetContainer(spec(func(s *v1.PodSpec) { s.HostPID = true }), "e"))
}
