package syncloop_test

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	v1 "k8s.io/api/core/v1"

	"github.com/podkeel/podkeel/runtime"
	"github.com/podkeel/podkeel/syncloop"
)

func TestAdmitSysctls(t *testing.T) {
	const forbidden = "SysctlForbidden: forbidden sysctl: "
	handler, err := syncloop.AdmitSysctls([]string{"net.core.*", "kernel.msgmax", "net/ipv4/conf/eth0.1/mtu", "user.*"})
	require.NoError(t, err)
	for name, c := range map[string]struct {
		sysctls []string
		change  func(*v1.PodSpec)
		deny    string
	}{
		"none":                  {},
		"safe":                  {sysctls: []string{"kernel.shm_rmid_forced", "net.ipv4.tcp_notsent_lowat", "net/ipv4/tcp_rmem"}},
		"unsafe":                {sysctls: []string{"net.ipv4.tcp_rmem", "net.ipv4.ip_forward"}, deny: forbidden + `"net.ipv4.ip_forward" not allowlisted`},
		"unsafe with slashes":   {sysctls: []string{"kernel/msgmni"}, deny: forbidden + `"kernel.msgmni" not allowlisted`},
		"of no namespace":       {sysctls: []string{"vm.swappiness"}, deny: forbidden + `"vm.swappiness" not allowlisted`},
		"allowed name":          {sysctls: []string{"kernel.msgmax"}},
		"allowed prefix":        {sysctls: []string{"net.core.somaxconn", "net/core/somaxconn"}},
		"allowed with slashes":  {sysctls: []string{"net.ipv4.conf.eth0/1.mtu", "net/ipv4/conf/eth0.1/mtu"}},
		"longer than a name":    {sysctls: []string{"kernel.msgmax2"}, deny: forbidden + `"kernel.msgmax2" not allowlisted`},
		"network of the host":   {sysctls: []string{"net.ipv4.tcp_rmem"}, change: func(s *v1.PodSpec) { s.HostNetwork = true }, deny: forbidden + `"net.ipv4.tcp_rmem" not allowed with host Net enabled`},
		"prefix, host's":        {sysctls: []string{"net.core.a"}, change: func(s *v1.PodSpec) { s.HostNetwork = true }, deny: forbidden + `"net.core.a" not allowed with host Net enabled`},
		"IPC of the host":       {sysctls: []string{"kernel.msgmax"}, change: func(s *v1.PodSpec) { s.HostIPC = true }, deny: forbidden + `"kernel.msgmax" not allowed with host IPC enabled`},
		"other host namespaces": {sysctls: []string{"kernel.msgmax"}, change: func(s *v1.PodSpec) { s.HostNetwork, s.HostPID = true, true }},
		"users of the host":     {sysctls: []string{"user.max_pid_namespaces"}, deny: forbidden + `"user.max_pid_namespaces" not allowed with host User enabled`},
		"own users":             {sysctls: []string{"user.max_pid_namespaces"}, change: func(s *v1.PodSpec) { s.HostUsers = new(false) }},
	} {
		t.Run(name, func(t *testing.T) {
			pod := podOfSource("web", "api")
			if c.sysctls != nil {
				pod.Spec.SecurityContext = &v1.PodSecurityContext{}
			}
			for _, sysctl := range c.sysctls {
				pod.Spec.SecurityContext.Sysctls = append(pod.Spec.SecurityContext.Sysctls, v1.Sysctl{Name: sysctl, Value: "1"})
			}
			if c.change != nil {
				c.change(&pod.Spec)
			}
			assert.Equal(t, c.deny, describeResult(handler.Admit(syncloop.PodAdmitAttributes{Pod: pod})))
		})
	}
	for _, bad := range []string{"", "*", "vm.swappiness", "vm.*", "net", "net.*.a", "net.**"} {
		_, err := syncloop.AdmitSysctls([]string{"net.core.somaxconn", bad})
		assert.ErrorContains(t, err, "belongs to no known namespace of a pod", "%q", bad)
	}
}

func TestAdmitAppArmor(t *testing.T) {
	const without = "AppArmor: Cannot enforce AppArmor: AppArmor is not enabled on the host"
	annotation := v1.DeprecatedAppArmorBetaContainerAnnotationKeyPrefix + "c"
	profile := func(kind v1.AppArmorProfileType) *v1.AppArmorProfile { return &v1.AppArmorProfile{Type: kind} }
	for name, c := range map[string]struct {
		change        func(*v1.Pod)
		without, with string
	}{
		"none": {change: func(*v1.Pod) {}},
		"of the pod": {change: func(p *v1.Pod) {
			p.Spec.SecurityContext = &v1.PodSecurityContext{AppArmorProfile: profile(v1.AppArmorProfileTypeRuntimeDefault)}
		}, without: without},
		"of the pod, no container uses it": {change: func(p *v1.Pod) {
			p.Spec.SecurityContext = &v1.PodSecurityContext{AppArmorProfile: profile(v1.AppArmorProfileTypeRuntimeDefault)}
			p.Spec.Containers[0].SecurityContext = &v1.SecurityContext{AppArmorProfile: profile(v1.AppArmorProfileTypeUnconfined)}
		}, without: without},
		"of the container": {change: func(p *v1.Pod) {
			p.Spec.Containers[0].SecurityContext = &v1.SecurityContext{AppArmorProfile: profile(v1.AppArmorProfileTypeRuntimeDefault)}
		}, without: without},
		"of an init container": {change: func(p *v1.Pod) {
			p.Spec.InitContainers = []v1.Container{{Name: "i", SecurityContext: &v1.SecurityContext{AppArmorProfile: profile(v1.AppArmorProfileTypeRuntimeDefault)}}}
		}, without: without},
		"by annotation": {change: func(p *v1.Pod) { p.Annotations = map[string]string{annotation: "localhost/p"} }, without: without},
		"unconfined": {change: func(p *v1.Pod) {
			p.Spec.SecurityContext = &v1.PodSecurityContext{AppArmorProfile: profile(v1.AppArmorProfileTypeUnconfined)}
		}},
		"unconfined by annotation": {change: func(p *v1.Pod) { p.Annotations = map[string]string{annotation: "unconfined"} }},
		"no name": {change: func(p *v1.Pod) {
			p.Spec.SecurityContext = &v1.PodSecurityContext{AppArmorProfile: &v1.AppArmorProfile{Type: v1.AppArmorProfileTypeLocalhost, LocalhostProfile: new(" ")}}
		}, without: without, with: "AppArmor: Cannot enforce AppArmor: the AppArmor profile of the container c has type Localhost and no name"},
		"runs": {change: func(p *v1.Pod) {
			p.Annotations, p.Status.Phase = map[string]string{annotation: "runtime/default"}, v1.PodRunning
		}},
		"is Pending": {change: func(p *v1.Pod) {
			p.Annotations, p.Status.Phase = map[string]string{annotation: "runtime/default"}, v1.PodPending
		}, without: without},
	} {
		t.Run(name, func(t *testing.T) {
			pod := podOfSource("web", "api")
			pod.Spec.Containers = []v1.Container{{Name: "c"}}
			c.change(pod)
			assert.Equal(t, c.without, describeResult(syncloop.AdmitAppArmor(false).Admit(syncloop.PodAdmitAttributes{Pod: pod})))
			assert.Equal(t, c.with, describeResult(syncloop.AdmitAppArmor(true).Admit(syncloop.PodAdmitAttributes{Pod: pod})))
		})
	}
}

// TestAdmitSupplementalGroupsPolicy_AD12: only the policy Strict needs support of the runtime, which is read at each
// admission.
func TestAdmitSupplementalGroupsPolicy_AD12(t *testing.T) {
	const refused = "SupplementalGroupsPolicyNotSupported: SupplementalGroupsPolicy=Strict is not supported in this node"
	var support runtime.Support
	handler := syncloop.AdmitSupplementalGroupsPolicy(func() runtime.Support { return support })
	for name, c := range map[string]struct {
		context *v1.PodSecurityContext
		support runtime.Support
		deny    string
	}{
		"no context":         {nil, runtime.SupportNone, ""},
		"no policy":          {&v1.PodSecurityContext{}, runtime.SupportNone, ""},
		"Merge":              {&v1.PodSecurityContext{SupplementalGroupsPolicy: new(v1.SupplementalGroupsPolicyMerge)}, runtime.SupportNone, ""},
		"Strict":             {&v1.PodSecurityContext{SupplementalGroupsPolicy: new(v1.SupplementalGroupsPolicyStrict)}, runtime.SupportNone, refused},
		"Strict, supported":  {&v1.PodSecurityContext{SupplementalGroupsPolicy: new(v1.SupplementalGroupsPolicyStrict)}, runtime.SupportFull, ""},
		"Strict, not known":  {&v1.PodSecurityContext{SupplementalGroupsPolicy: new(v1.SupplementalGroupsPolicyStrict)}, runtime.SupportUnknown, ""},
		"Strict, once again": {&v1.PodSecurityContext{SupplementalGroupsPolicy: new(v1.SupplementalGroupsPolicyStrict)}, runtime.SupportNone, refused},
	} {
		pod := podOfSource("web", "api")
		pod.Spec.SecurityContext, support = c.context, c.support
		assert.Equal(t, c.deny, describeResult(handler.Admit(syncloop.PodAdmitAttributes{Pod: pod})), name)
	}
}
