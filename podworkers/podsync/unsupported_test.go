package podsync_test

import (
	"testing"

	"github.com/stretchr/testify/assert"
	v1 "k8s.io/api/core/v1"

	"github.com/podkeel/podkeel/podworkers/podsync"
)

func problemFields(problems []podsync.Problem) []string {
	var out []string
	for _, p := range problems {
		out = append(out, p.Field)
	}
	return out
}

func TestUnsupported_PlainPod(t *testing.T) {
	rejected, ignored := podsync.Unsupported(plainPod(func(p *v1.Pod) {
		p.Spec.DNSPolicy = v1.DNSClusterFirst
		p.Spec.ServiceAccountName = "default"
		p.Spec.Containers[0].Command = []string{"sh", "-c", "echo $(date) $HOME ${X} $"}
		p.Spec.Containers[0].TerminationMessagePath = v1.TerminationMessagePathDefault
	}), podsync.Features{})
	assert.Empty(t, rejected)
	assert.Empty(t, ignored)
}

func TestUnsupported_Rejected(t *testing.T) {
	container := func(f func(*v1.Container)) func(*v1.Pod) {
		return func(p *v1.Pod) { f(&p.Spec.Containers[0]) }
	}
	for want, change := range map[string]func(*v1.Pod){
		"spec.volumes":                      func(p *v1.Pod) { p.Spec.Volumes = make([]v1.Volume, 1) },
		"spec.activeDeadlineSeconds":        func(p *v1.Pod) { p.Spec.ActiveDeadlineSeconds = new(int64(1)) },
		"spec.hostUsers":                    func(p *v1.Pod) { p.Spec.HostUsers = new(false) },
		"spec.runtimeClassName":             func(p *v1.Pod) { p.Spec.RuntimeClassName = new("kata") },
		"spec.containers[0].livenessProbe":  container(func(c *v1.Container) { c.LivenessProbe = &v1.Probe{} }),
		"spec.containers[0].readinessProbe": container(func(c *v1.Container) { c.ReadinessProbe = &v1.Probe{} }),
		"spec.containers[0].startupProbe":   container(func(c *v1.Container) { c.StartupProbe = &v1.Probe{} }),
		"spec.containers[0].lifecycle.postStart.exec": container(func(c *v1.Container) {
			c.Lifecycle = &v1.Lifecycle{PostStart: &v1.LifecycleHandler{Exec: &v1.ExecAction{}}}
		}),
		"spec.containers[0].lifecycle.preStop.httpGet": container(func(c *v1.Container) {
			c.Lifecycle = &v1.Lifecycle{PreStop: &v1.LifecycleHandler{HTTPGet: &v1.HTTPGetAction{}}}
		}),
		"spec.containers[0].volumeMounts":     container(func(c *v1.Container) { c.VolumeMounts = make([]v1.VolumeMount, 1) }),
		"spec.containers[0].envFrom[0]":       container(func(c *v1.Container) { c.EnvFrom = make([]v1.EnvFromSource, 1) }),
		"spec.containers[0].env[0].valueFrom": container(func(c *v1.Container) { c.Env = []v1.EnvVar{{Name: "A", ValueFrom: &v1.EnvVarSource{}}} }),
		"spec.containers[0].securityContext.procMount": container(func(c *v1.Container) {
			c.SecurityContext = &v1.SecurityContext{ProcMount: new(v1.UnmaskedProcMount)}
		}),
		"spec.securityContext.supplementalGroupsPolicy": func(p *v1.Pod) {
			p.Spec.SecurityContext = &v1.PodSecurityContext{SupplementalGroupsPolicy: new(v1.SupplementalGroupsPolicyStrict)}
		},
	} {
		t.Run(want, func(t *testing.T) {
			rejected, ignored := podsync.Unsupported(plainPod(change), podsync.Features{})
			assert.Equal(t, []string{want}, problemFields(rejected))
			assert.Empty(t, ignored)
		})
	}
}

func TestUnsupported_Ignored(t *testing.T) {
	rejected, ignored := podsync.Unsupported(plainPod(func(p *v1.Pod) {
		p.Spec.SecurityContext = &v1.PodSecurityContext{FSGroup: new(int64(1))}
		p.Spec.Containers[0].TerminationMessagePolicy = v1.TerminationMessageFallbackToLogsOnError
	}), podsync.Features{})
	assert.Empty(t, rejected)
	assert.Equal(t, []string{
		"spec.securityContext.fsGroup", "spec.containers[0].terminationMessagePolicy",
	}, problemFields(ignored))
}
