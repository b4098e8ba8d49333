package podsync_test

import (
	"context"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/podkeel/podkeel/podmanager"
	"github.com/podkeel/podkeel/podmanager/podresources"
	"github.com/podkeel/podkeel/podmanager/podstatus"
	"github.com/podkeel/podkeel/podworkers/podsync"
	"github.com/podkeel/podkeel/runtime"
	"github.com/podkeel/podkeel/runtime/memory"
)

// recordRequests syncs a pod once and returns what the runtime was asked for, with
// the error of the sync.
func recordRequests(t *testing.T, pod *v1.Pod, cfg podsync.Config) (*tap, error) {
	t.Helper()
	write := func(string) {}
	seen := &tap{Runtime: memory.New(memory.Config{}), now: time.Now, write: write, names: map[string]string{}}
	cfg.Runtime, cfg.Status = seen, &store{write: write, statuses: map[types.UID]v1.PodStatus{}}
	syncer, err := podsync.New(cfg)
	require.NoError(t, err)
	_, err = syncer.SyncPod(context.Background(), 0, pod, nil, nil)
	return seen, err
}

func plainPod(change ...func(*v1.Pod)) *v1.Pod {
	pod := &v1.Pod{
		ObjectMeta: metav1.ObjectMeta{Name: "web", Namespace: "ns", UID: "u", Labels: map[string]string{"app": "web"}},
		Spec:       v1.PodSpec{Containers: []v1.Container{{Name: "a", Image: "img:1"}}},
	}
	for _, f := range change {
		f(pod)
	}
	return pod
}

func TestSandboxRequest(t *testing.T) {
	pod := plainPod(func(p *v1.Pod) {
		p.Annotations = map[string]string{"kubernetes.io/config.source": "file", "x": "y"}
		p.Spec.ShareProcessNamespace = new(true)
		p.Spec.DNSPolicy = v1.DNSNone
		p.Spec.DNSConfig = &v1.PodDNSConfig{
			Nameservers: []string{"192.0.2.53"}, Options: []v1.PodDNSConfigOption{{Name: "ndots", Value: new("2")}, {Name: "edns0"}},
		}
		p.Spec.SecurityContext = &v1.PodSecurityContext{
			RunAsUser: new(int64(7)), Sysctls: []v1.Sysctl{{Name: "net.a", Value: "1"}},
		}
		p.Spec.Containers[0].Ports = []v1.ContainerPort{{ContainerPort: 80, HostPort: 8080}, {ContainerPort: 81}}
	})
	seen, err := recordRequests(t, pod, podsync.Config{LogRoot: "/var/log/pods"})
	require.NoError(t, err)
	req := seen.sandbox
	assert.Equal(t, runtime.PodRef{UID: "u", Name: "web", Namespace: "ns", Incarnation: 1}, req.Pod)
	assert.Equal(t, "web", req.Labels["app"])
	assert.Equal(t, "web", req.Labels[podsync.LabelPodName])
	assert.Equal(t, "u", req.Labels[podsync.LabelPodUID])
	assert.Equal(t, "y", req.Annotations["x"])
	assert.Equal(t, "file", req.Annotations[podmanager.ConfigSourceAnnotation], "an agent that is started again asks for it")
	assert.NotContains(t, pod.Annotations, podsync.AnnotationPodHash, "the pod belongs to others")
	assert.Equal(t, runtime.Namespaces{SharePID: true}, req.Namespaces)
	assert.Equal(t, runtime.DNS{Servers: []string{"192.0.2.53"}, Options: []string{"ndots:2", "edns0"}}, req.DNS)
	assert.Equal(t, []runtime.PortMapping{{ContainerPort: 80, HostPort: 8080, Protocol: "TCP"}}, req.Ports)
	assert.Equal(t, map[string]string{"net.a": "1"}, req.Sysctls)
	assert.Equal(t, int64(7), *req.Security.User)
	assert.Equal(t, "web", req.Hostname)
	assert.Equal(t, "/var/log/pods/ns_web_u", req.LogDir)
}

func TestSandboxRequest_HostNetwork(t *testing.T) {
	seen, err := recordRequests(t, plainPod(func(p *v1.Pod) {
		p.Spec.HostNetwork = true
		p.Spec.Containers[0].Ports = []v1.ContainerPort{{ContainerPort: 80, HostPort: 80}}
	}), podsync.Config{})
	require.NoError(t, err)
	assert.Empty(t, seen.sandbox.Hostname)
	assert.Empty(t, seen.sandbox.Ports)
	assert.True(t, seen.sandbox.Namespaces.HostNetwork)
}

// The host ports of sidecars and regular containers are published. Host ports of ordinary init containers are not.
func TestSandboxRequest_Ports(t *testing.T) {
	init := func(name string, port int32) v1.Container {
		return v1.Container{Name: name, Image: "img:1", Ports: []v1.ContainerPort{{ContainerPort: port, HostPort: port, HostIP: "192.0.2.1"}}}
	}
	seen, err := recordRequests(t, plainPod(func(p *v1.Pod) {
		proxy := init("proxy", 53)
		proxy.RestartPolicy, proxy.Ports[0].Protocol = new(v1.ContainerRestartPolicyAlways), v1.ProtocolUDP
		p.Spec.InitContainers = []v1.Container{init("setup", 81), proxy}
		p.Spec.Containers[0].Ports = []v1.ContainerPort{{ContainerPort: 80, HostPort: 8080}}
	}), podsync.Config{})
	require.NoError(t, err)
	assert.Equal(t, []runtime.PortMapping{
		{ContainerPort: 53, HostPort: 53, HostIP: "192.0.2.1", Protocol: "UDP"},
		{ContainerPort: 80, HostPort: 8080, Protocol: "TCP"},
	}, seen.sandbox.Ports)
}

func TestSandboxRequest_LongName(t *testing.T) {
	seen, err := recordRequests(t, plainPod(func(p *v1.Pod) {
		p.Name = "aaaaaaaaa-aaaaaaaaa-aaaaaaaaa-aaaaaaaaa-aaaaaaaaa-aaaaaaaaa-aa-aaa"
	}), podsync.Config{})
	require.NoError(t, err)
	assert.Equal(t, "aaaaaaaaa-aaaaaaaaa-aaaaaaaaa-aaaaaaaaa-aaaaaaaaa-aaaaaaaaa-aa", seen.sandbox.Hostname)
}

func TestContainerRequest(t *testing.T) {
	seen, err := recordRequests(t, plainPod(func(p *v1.Pod) {
		p.Annotations = map[string]string{"x": "y"}
		c := &p.Spec.Containers[0]
		c.Command, c.Args, c.WorkingDir = []string{"sh"}, []string{"-c", "true"}, "/tmp"
		c.Env = []v1.EnvVar{{Name: "A", Value: "1"}, {Name: "B", Value: "2"}}
		c.Stdin, c.TTY = true, true
		signal := v1.Signal("SIGUSR1")
		c.Lifecycle = &v1.Lifecycle{StopSignal: &signal}
	}), podsync.Config{LogRoot: "/logs"})
	require.NoError(t, err)
	req := seen.container
	assert.Equal(t, "img:1", req.Image)
	assert.NotEmpty(t, req.ImageRef)
	assert.Equal(t, []string{"sh"}, req.Command)
	assert.Equal(t, []string{"-c", "true"}, req.Args)
	assert.Equal(t, []runtime.EnvVar{{Name: "A", Value: "1"}, {Name: "B", Value: "2"}}, req.Env)
	assert.Equal(t, "a", req.Labels[podsync.LabelContainerName])
	assert.NotContains(t, req.Labels, "app", "labels of the pod are the sandbox's")
	assert.Regexp(t, "^v1-[0-9a-f]+$", req.Annotations[podsync.AnnotationSpecHash])
	assert.Equal(t, "0", req.Annotations[podsync.AnnotationRestartCount])
	assert.NotContains(t, req.Annotations, "x", "and so are its annotations, which may be long")
	assert.Equal(t, "a/0.log", req.LogPath)
	assert.Equal(t, "SIGUSR1", req.StopSignal)
	assert.True(t, req.Stdin && req.TTY && !req.StdinOnce)
}

func TestResources(t *testing.T) {
	const gi = 1 << 30
	list := func(pairs ...string) v1.ResourceList {
		l := v1.ResourceList{}
		for i := 0; i < len(pairs); i += 2 {
			l[v1.ResourceName(pairs[i])] = resource.MustParse(pairs[i+1])
		}
		return l
	}
	for name, tc := range map[string]struct {
		requests, limits v1.ResourceList
		want             runtime.Resources
	}{
		"nothing asked": {want: runtime.Resources{CPUShares: 2, OOMScoreAdj: 1000}},
		"request and limit": {
			requests: list("cpu", "250m", "memory", "1Gi"), limits: list("cpu", "500m", "memory", "2Gi"),
			want: runtime.Resources{
				CPUShares: 256, CPUPeriod: 100 * time.Millisecond, CPUQuota: 50 * time.Millisecond,
				MemoryBytes: 2 * gi, OOMScoreAdj: 750,
			},
		},
		"limit only is guaranteed": {
			limits: list("cpu", "2", "memory", "1Gi"),
			want: runtime.Resources{
				CPUShares: 2048, CPUPeriod: 100 * time.Millisecond, CPUQuota: 200 * time.Millisecond,
				MemoryBytes: gi, OOMScoreAdj: -997,
			},
		},
		"tiny": {
			limits: list("cpu", "1m"),
			want:   runtime.Resources{CPUShares: 2, CPUPeriod: 100 * time.Millisecond, CPUQuota: time.Millisecond, OOMScoreAdj: 999},
		},
		"absurd": {
			limits: list("cpu", "9223372036854775807"),
			want: runtime.Resources{
				CPUShares: 262144, CPUPeriod: 100 * time.Millisecond, CPUQuota: podresources.MaxCPUQuota, OOMScoreAdj: 999,
			},
		},
		"half of the memory": {
			requests: list("memory", "2Gi"),
			want:     runtime.Resources{CPUShares: 2, OOMScoreAdj: 500},
		},
		"more memory than there is": {
			requests: list("memory", "8Gi"),
			want:     runtime.Resources{CPUShares: 2, OOMScoreAdj: 3},
		},
		"huge pages": {
			limits: list("hugepages-2Mi", "4Mi"),
			want:   runtime.Resources{CPUShares: 2, OOMScoreAdj: 1000, HugePages: map[string]uint64{"2Mi": 4 << 20}},
		},
	} {
		t.Run(name, func(t *testing.T) {
			seen, err := recordRequests(t, plainPod(func(p *v1.Pod) {
				p.Spec.Containers[0].Resources = v1.ResourceRequirements{Requests: tc.requests, Limits: tc.limits}
			}), podsync.Config{MemoryBytes: 4 * gi})
			require.NoError(t, err)
			assert.Equal(t, tc.want, seen.container.Resources)
		})
	}
}

func TestSecurity_ContainerOverPod(t *testing.T) {
	seen, err := recordRequests(t, plainPod(func(p *v1.Pod) {
		p.Spec.SecurityContext = &v1.PodSecurityContext{
			RunAsUser: new(int64(1)), RunAsGroup: new(int64(2)), SupplementalGroups: []int64{3},
			SeccompProfile: &v1.SeccompProfile{Type: v1.SeccompProfileTypeRuntimeDefault},
			SELinuxOptions: &v1.SELinuxOptions{Level: "s0"},
		}
		p.Spec.Containers[0].SecurityContext = &v1.SecurityContext{
			RunAsUser: new(int64(9)), Privileged: new(true), ReadOnlyRootFilesystem: new(true),
			AllowPrivilegeEscalation: new(false),
			Capabilities:             &v1.Capabilities{Add: []v1.Capability{"NET_ADMIN"}, Drop: []v1.Capability{"ALL"}},
			AppArmorProfile:          &v1.AppArmorProfile{Type: v1.AppArmorProfileTypeLocalhost, LocalhostProfile: new("p")},
		}
	}), podsync.Config{})
	require.NoError(t, err)
	assert.Equal(t, runtime.Security{
		User: new(int64(9)), Group: new(int64(2)), SupplementalGroups: []int64{3}, Privileged: true, ReadOnlyRoot: true,
		NoNewPrivileges: true, AddCapabilities: []string{"NET_ADMIN"}, DropCapabilities: []string{"ALL"},
		Seccomp:  runtime.Profile{Type: "RuntimeDefault"},
		AppArmor: runtime.Profile{Type: "Localhost", Path: "p"},
		SELinux:  &runtime.SELinux{Level: "s0"},
	}, seen.container.Security)
	assert.True(t, seen.sandbox.Security.Privileged, "none is made in a sandbox that is not")
}

// Runtimes hide no kernel files by themselves. The request of an unprivileged container hides the
// memory and keys of the machine, and makes the settings of the kernel read-only. A privileged
// container has no such limits.
func TestSecurity_KernelIsHidden(t *testing.T) {
	asked := func(own *v1.SecurityContext) runtime.Security {
		seen, err := recordRequests(t, plainPod(func(p *v1.Pod) { p.Spec.Containers[0].SecurityContext = own }), podsync.Config{})
		require.NoError(t, err)
		return seen.container.Security
	}
	for name, own := range map[string]*v1.SecurityContext{
		"nothing said": nil, "something": {RunAsUser: new(int64(1))}, "not privileged": {Privileged: new(false)},
	} {
		got := asked(own)
		assert.Subset(t, got.MaskedPaths, []string{"/proc/kcore", "/proc/keys", "/sys/firmware", "/proc/timer_list"}, name)
		assert.Equal(t, []string{"/proc/bus", "/proc/fs", "/proc/irq", "/proc/sys", "/proc/sysrq-trigger"}, got.ReadOnlyPaths, name)
	}
	mighty := asked(&v1.SecurityContext{Privileged: new(true)})
	assert.Empty(t, mighty.MaskedPaths)
	assert.Empty(t, mighty.ReadOnlyPaths)
}

// A profile that a pod names is a file of the node, wherever the runtime was
// started; it is never one beside the others.
func TestSecurity_SeccompProfile(t *testing.T) {
	named := func(name string) *v1.SeccompProfile {
		return &v1.SeccompProfile{Type: v1.SeccompProfileTypeLocalhost, LocalhostProfile: &name}
	}
	ask := func(root, pods, own string) (*tap, error) {
		return recordRequests(t, plainPod(func(p *v1.Pod) {
			p.Spec.SecurityContext = &v1.PodSecurityContext{SeccompProfile: named(pods)}
			p.Spec.Containers[0].SecurityContext = &v1.SecurityContext{SeccompProfile: named(own)}
		}), podsync.Config{SeccompRoot: root})
	}
	seen, err := ask("/profiles", "pod.json", "a/b.json")
	require.NoError(t, err)
	assert.Equal(t, runtime.Profile{Type: "Localhost", Path: "/profiles/pod.json"}, seen.sandbox.Security.Seccomp)
	assert.Equal(t, runtime.Profile{Type: "Localhost", Path: "/profiles/a/b.json"}, seen.container.Security.Seccomp)
	seen, err = ask("", "pod.json", "own.json")
	require.NoError(t, err)
	assert.Equal(t, podsync.DefaultSeccompRoot+"/own.json", seen.container.Security.Seccomp.Path)
	for _, name := range []string{"", "/etc/x", "../x", "a/../../x", ".."} {
		seen, err = ask("/profiles", "pod.json", name)
		require.ErrorIs(t, err, podstatus.ReasonCreateContainerConfigError, name)
		assert.Empty(t, seen.container.Name, "created all the same")
		seen, err = ask("/profiles", name, "own.json")
		require.ErrorContains(t, err, "no path below the directory of profiles", name)
		assert.Empty(t, seen.sandbox.Pod.Name, "made all the same")
	}
	_, err = podsync.New(podsync.Config{SeccompRoot: "profiles"})
	require.ErrorContains(t, err, "SeccompRoot is no absolute path")
}

// KC-7: who must not be root is not started unless it is sure that he is not.
func TestSecurity_KC7_NonRoot(t *testing.T) {
	for name, tc := range map[string]struct {
		user *int64
		want string // part of the error; empty: none
	}{
		"another user": {new(int64(1000)), ""},
		"root":         {new(int64(0)), "is root"},
		"image's":      {nil, "the image runs as root"},
	} {
		t.Run(name, func(t *testing.T) {
			seen, err := recordRequests(t, plainPod(func(p *v1.Pod) {
				p.Spec.SecurityContext = &v1.PodSecurityContext{RunAsNonRoot: new(true), RunAsUser: tc.user}
			}), podsync.Config{})
			if tc.want == "" {
				require.NoError(t, err)
				return
			}
			require.ErrorIs(t, err, podstatus.ReasonCreateContainerConfigError)
			require.ErrorContains(t, err, tc.want)
			assert.Empty(t, seen.container.Name, "created all the same")
		})
	}
}

// secretBytes are Objects with one Secret.
type secretBytes struct{ data map[string][]byte }

func (secretBytes) ConfigMap(context.Context, string, string) (*v1.ConfigMap, error) {
	return nil, runtime.ErrNotFound
}

func (s secretBytes) Secret(context.Context, string, string) (*v1.Secret, error) {
	return &v1.Secret{Data: s.data}, nil
}

// The runtime gets the bytes of a Secret as they are, whether they are UTF-8 or not.
func TestContainerRequest_SecretOfAnyBytes(t *testing.T) {
	pod := plainPod(func(p *v1.Pod) {
		p.Spec.Containers[0].Env = []v1.EnvVar{{Name: "KEY", ValueFrom: &v1.EnvVarSource{SecretKeyRef: &v1.SecretKeySelector{
			LocalObjectReference: v1.LocalObjectReference{Name: "s"}, Key: "key",
		}}}}
		p.Spec.Containers[0].EnvFrom = []v1.EnvFromSource{{SecretRef: &v1.SecretEnvSource{LocalObjectReference: v1.LocalObjectReference{Name: "s"}}}}
	})
	seen, err := recordRequests(t, pod, podsync.Config{Objects: secretBytes{map[string][]byte{"key": {0xff, 0xfe, 'x'}, "other": {0x80}}}})
	require.NoError(t, err)
	assert.Subset(t, seen.container.Env, []runtime.EnvVar{{Name: "KEY", Value: "\xff\xfex"}, {Name: "key", Value: "\xff\xfex"}, {Name: "other", Value: "\x80"}})
}
