package request_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	v1 "k8s.io/api/core/v1"

	"github.com/podkeel/podkeel/podworkers/podsync/internal/request"
	"github.com/podkeel/podkeel/runtime"
)

func localhost(path string) *v1.SeccompProfile {
	return &v1.SeccompProfile{Type: v1.SeccompProfileTypeLocalhost, LocalhostProfile: &path}
}

// secured is the security of a container, without the paths that are hidden from all.
func secured(t *testing.T, whole *v1.PodSecurityContext, own *v1.SecurityContext, user string) runtime.Security {
	pod := named(func(s *v1.PodSpec) { s.SecurityContext = whole })
	got, err := (&request.Node{SeccompRoot: "/profiles"}).ContainerSecurity(pod, &v1.Container{SecurityContext: own}, request.Image{User: user})
	require.NoError(t, err)
	assert.Equal(t, got.Privileged, len(got.MaskedPaths) == 0)
	assert.Equal(t, got.Privileged, len(got.ReadOnlyPaths) == 0)
	got.MaskedPaths, got.ReadOnlyPaths = nil, nil
	return got
}

// Each field of the pod's security context holds for its containers.
func TestSecurity_OfThePod(t *testing.T) {
	for want, whole := range map[*runtime.Security]*v1.PodSecurityContext{
		{}:                           nil,
		{Seccomp: runtime.Profile{}}: {},
		{User: new(int64(1))}:        {RunAsUser: new(int64(1))},
		{User: new(int64(0)), Group: new(int64(2))}:                              {RunAsGroup: new(int64(2))},
		{SupplementalGroups: []int64{4, 3}}:                                      {SupplementalGroups: []int64{3}, FSGroup: new(int64(4))},
		{SupplementalGroups: []int64{5}, StrictGroups: true}:                     {SupplementalGroups: []int64{5}, SupplementalGroupsPolicy: new(v1.SupplementalGroupsPolicyStrict)},
		{SupplementalGroups: []int64{6}}:                                         {SupplementalGroups: []int64{6}, SupplementalGroupsPolicy: new(v1.SupplementalGroupsPolicyMerge)},
		{Seccomp: runtime.Profile{Type: "RuntimeDefault"}}:                       {SeccompProfile: &v1.SeccompProfile{Type: v1.SeccompProfileTypeRuntimeDefault}},
		{Seccomp: runtime.Profile{Type: "Localhost", Path: "/profiles/a/b"}}:     {SeccompProfile: localhost("a/b")},
		{AppArmor: runtime.Profile{Type: "Localhost", Path: "p"}}:                {AppArmorProfile: &v1.AppArmorProfile{Type: v1.AppArmorProfileTypeLocalhost, LocalhostProfile: new("p")}},
		{SELinux: &runtime.SELinux{User: "u", Role: "r", Type: "t", Level: "l"}}: {SELinuxOptions: &v1.SELinuxOptions{User: "u", Role: "r", Type: "t", Level: "l"}},
	} {
		assert.Equal(t, *want, secured(t, whole, nil, ""))
		assert.Equal(t, *want, secured(t, whole, &v1.SecurityContext{}, ""))
	}
}

// The security context of a container takes precedence over the pod's.
func TestSecurity_OfTheContainer(t *testing.T) {
	whole := &v1.PodSecurityContext{
		RunAsUser: new(int64(1)), RunAsGroup: new(int64(2)), SeccompProfile: localhost("pod"), SELinuxOptions: &v1.SELinuxOptions{Level: "pod"},
		AppArmorProfile: &v1.AppArmorProfile{Type: v1.AppArmorProfileTypeUnconfined}, SupplementalGroups: []int64{3},
	}
	base := runtime.Security{
		User: new(int64(1)), Group: new(int64(2)), SupplementalGroups: []int64{3}, SELinux: &runtime.SELinux{Level: "pod"},
		Seccomp: runtime.Profile{Type: "Localhost", Path: "/profiles/pod"}, AppArmor: runtime.Profile{Type: "Unconfined"},
	}
	for _, c := range []struct {
		own    v1.SecurityContext
		change func(*runtime.Security)
	}{
		{v1.SecurityContext{}, func(*runtime.Security) {}},
		{v1.SecurityContext{RunAsUser: new(int64(9))}, func(s *runtime.Security) { s.User = new(int64(9)) }},
		{v1.SecurityContext{RunAsGroup: new(int64(9))}, func(s *runtime.Security) { s.Group = new(int64(9)) }},
		{v1.SecurityContext{SeccompProfile: localhost("own")}, func(s *runtime.Security) { s.Seccomp.Path = "/profiles/own" }},
		{v1.SecurityContext{AppArmorProfile: &v1.AppArmorProfile{Type: "X"}}, func(s *runtime.Security) { s.AppArmor = runtime.Profile{Type: "X"} }},
		{v1.SecurityContext{SELinuxOptions: &v1.SELinuxOptions{Level: "own"}}, func(s *runtime.Security) { s.SELinux = &runtime.SELinux{Level: "own"} }},
		{v1.SecurityContext{Privileged: new(true)}, func(s *runtime.Security) { s.Privileged = true }},
		{v1.SecurityContext{Privileged: new(false), ReadOnlyRootFilesystem: new(false)}, func(*runtime.Security) {}},
		{v1.SecurityContext{ReadOnlyRootFilesystem: new(true)}, func(s *runtime.Security) { s.ReadOnlyRoot = true }},
		{v1.SecurityContext{AllowPrivilegeEscalation: new(false)}, func(s *runtime.Security) { s.NoNewPrivileges = true }},
		{v1.SecurityContext{AllowPrivilegeEscalation: new(true)}, func(*runtime.Security) {}},
		{v1.SecurityContext{Capabilities: &v1.Capabilities{Add: []v1.Capability{"A", "B"}, Drop: []v1.Capability{"C"}}}, func(s *runtime.Security) {
			s.AddCapabilities, s.DropCapabilities = []string{"A", "B"}, []string{"C"}
		}},
	} {
		want := base
		c.change(&want)
		assert.Equal(t, want, secured(t, whole, &c.own, "7"))
	}
}

// A sandbox has the security context of its pod. It is privileged if one of the containers is. It has
// no group without a user, because its image belongs to the runtime.
func TestSandbox_Security(t *testing.T) {
	privileged := []v1.Container{{Name: "a"}, {Name: "b", SecurityContext: &v1.SecurityContext{Privileged: new(true)}}}
	for _, c := range []struct {
		change func(*v1.PodSpec)
		want   runtime.Security
	}{
		{func(*v1.PodSpec) {}, runtime.Security{}},
		{func(s *v1.PodSpec) { s.SecurityContext = &v1.PodSecurityContext{RunAsGroup: new(int64(2))} }, runtime.Security{}},
		{func(s *v1.PodSpec) {
			s.SecurityContext = &v1.PodSecurityContext{RunAsUser: new(int64(1)), RunAsGroup: new(int64(2))}
		}, runtime.Security{User: new(int64(1)), Group: new(int64(2))}},
		{func(s *v1.PodSpec) { s.InitContainers = privileged }, runtime.Security{Privileged: true}},
		{func(s *v1.PodSpec) { s.Containers = privileged }, runtime.Security{Privileged: true}},
		{func(s *v1.PodSpec) {
			s.Containers = []v1.Container{{SecurityContext: &v1.SecurityContext{Privileged: new(false)}}, {SecurityContext: &v1.SecurityContext{}}}
		}, runtime.Security{}},
	} {
		got, _, err := new(request.Node).SandboxRequest(named(c.change), runtime.PodRef{}, 0, runtime.DNS{})
		require.NoError(t, err)
		assert.Equal(t, c.want, got.Security)
	}
}

// Runtimes accept a group only with a user. Without a user the request has the user of the image.
func TestSecurity_UserOfTheImage(t *testing.T) {
	group := &v1.PodSecurityContext{RunAsGroup: new(int64(2))}
	for user, want := range map[string]runtime.Security{
		"":       {User: new(int64(0))},
		":5":     {User: new(int64(0))},
		"7":      {User: new(int64(7))},
		"7:8":    {User: new(int64(7))},
		"nobody": {Username: "nobody"},
		"www:w":  {Username: "www"},
	} {
		want.Group = new(int64(2))
		assert.Equal(t, want, secured(t, group, nil, user), user)
		assert.Equal(t, runtime.Security{}, secured(t, nil, nil, user), user)
	}
	for _, c := range []struct {
		whole *v1.PodSecurityContext
		own   *v1.SecurityContext
		want  bool
	}{
		{nil, nil, false},
		{group, nil, true},
		{group, &v1.SecurityContext{}, true},
		{group, &v1.SecurityContext{RunAsUser: new(int64(1))}, false},
		{nil, &v1.SecurityContext{RunAsGroup: new(int64(1))}, true},
		{nil, &v1.SecurityContext{RunAsUser: new(int64(1))}, false},
		{&v1.PodSecurityContext{RunAsNonRoot: new(true)}, nil, true},
		{&v1.PodSecurityContext{RunAsNonRoot: new(false)}, nil, false},
	} {
		pod := named(func(s *v1.PodSpec) { s.SecurityContext = c.whole })
		assert.Equal(t, c.want, request.NeedsImageUser(pod, &v1.Container{SecurityContext: c.own}), "%v %v", c.whole, c.own)
	}
}

// A container that must not be root does not start unless it is known that it is not.
func TestSecurity_NonRoot(t *testing.T) {
	for _, c := range []struct {
		whole, own *bool
		user       *int64
		image      string
		err        string
	}{
		{nil, nil, nil, "", ""},
		{nil, nil, new(int64(0)), "0", ""},
		{new(true), new(false), nil, "0", ""},
		{new(false), nil, nil, "0", ""},
		{new(true), nil, new(int64(1)), "0", ""},
		{new(true), nil, new(int64(0)), "1", "the user of the container is root and runAsNonRoot is set"},
		{new(false), new(true), new(int64(0)), "1", "the user of the container is root and runAsNonRoot is set"},
		{new(true), nil, nil, "1", ""},
		{new(true), nil, nil, "1:0", ""},
		{nil, new(true), nil, "0", "the image runs as root and runAsNonRoot is set"},
		{nil, new(true), nil, "", "the image runs as root and runAsNonRoot is set"},
		{nil, new(true), nil, ":1", "the image runs as root and runAsNonRoot is set"},
		{nil, new(true), nil, "web", `the image runs as "web" and runAsNonRoot is set: only a numeric user can be checked`},
	} {
		pod := named(func(s *v1.PodSpec) {
			s.SecurityContext = &v1.PodSecurityContext{RunAsNonRoot: c.whole, RunAsUser: c.user}
		})
		_, err := new(request.Node).ContainerSecurity(pod, &v1.Container{SecurityContext: &v1.SecurityContext{RunAsNonRoot: c.own}}, request.Image{User: c.image})
		if c.err == "" {
			assert.NoError(t, err, "%+v", c)
		} else {
			assert.EqualError(t, err, c.err, "%+v", c)
		}
	}
}

// A seccomp profile of the node is a file below its directory of profiles.
func TestSecurity_SeccompPath(t *testing.T) {
	for _, path := range []string{"", "/etc/x", "../x", "a/../../x", ".."} {
		_, err := (&request.Node{SeccompRoot: "/profiles"}).ContainerSecurity(&v1.Pod{}, &v1.Container{SecurityContext: &v1.SecurityContext{SeccompProfile: localhost(path)}}, request.Image{})
		assert.ErrorContains(t, err, "is no path below the directory of profiles", path)
	}
	got := secured(t, nil, &v1.SecurityContext{SeccompProfile: &v1.SeccompProfile{Type: v1.SeccompProfileTypeUnconfined}}, "")
	assert.Equal(t, runtime.Profile{Type: "Unconfined"}, got.Seccomp)
	assert.Equal(t, "/profiles/a..b", secured(t, nil, &v1.SecurityContext{SeccompProfile: localhost("a..b")}, "").Seccomp.Path)
}

// An annotation by which a runtime or a network plugin restricts the pod reaches the sandbox although all
// annotations together are too long: longer ones and shorter ones are left out before it.
func TestSandbox_KeepsAnnotationsThatRestrict(t *testing.T) {
	pod := named(func(s *v1.PodSpec) { s.Containers = []v1.Container{{Name: "c"}} })
	restricting := []string{
		"kubernetes.io/ingress-bandwidth", "kubernetes.io/egress-bandwidth", "container.apparmor.security.beta.kubernetes.io/c",
		"container.seccomp.security.alpha.kubernetes.io/c", "seccomp.security.alpha.kubernetes.io/pod",
	}
	pod.Annotations = map[string]string{"kubernetes.io/config.source": "file"}
	for _, key := range restricting {
		pod.Annotations[key] = strings.Repeat("x", 200)
	}
	for i := range 2000 {
		pod.Annotations[fmt.Sprintf("a%04d", i)] = strings.Repeat("y", i%300)
	}
	n := &request.Node{SeccompRoot: "/profiles"}
	sandbox, _, err := n.SandboxRequest(pod, runtime.PodRef{UID: "u"}, 0, runtime.DNS{})
	require.NoError(t, err)
	total := 0
	for key, value := range sandbox.Annotations {
		total += len(key) + len(value)
	}
	assert.Less(t, total, 17<<10)
	for _, key := range append(restricting, "kubernetes.io/config.source") {
		assert.Equal(t, pod.Annotations[key], sandbox.Annotations[key], key)
	}
}
