package nodetest_test

import (
	"fmt"
	"math/rand/v2"

	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/intstr"

	"github.com/podkeel/podkeel/runtime/memory"
)

// shape makes up pods.
type shape struct {
	*rand.Rand
	pod *v1.Pod
}

// oneIn returns true with a probability of one in so many.
func (s shape) oneIn(in int) bool    { return s.IntN(in) == 0 }
func pick[T any](s shape, of ...T) T { return of[s.IntN(len(of))] }

// randomPod has some of everything that a pod can ask for.
func randomPod(random *rand.Rand, name string) *v1.Pod {
	s := shape{random, &v1.Pod{ObjectMeta: metav1.ObjectMeta{
		Name: name, Namespace: "default", UID: types.UID("uid-" + name), Annotations: map[string]string{},
	}}}
	spec := &s.pod.Spec
	spec.RestartPolicy = pick(s, v1.RestartPolicyAlways, v1.RestartPolicyAlways, v1.RestartPolicyOnFailure, v1.RestartPolicyNever)
	spec.TerminationGracePeriodSeconds = new(int64(pick(s, 0, 1, 5, 20, 40)))
	for i := range s.IntN(4) {
		spec.InitContainers = append(spec.InitContainers, s.initContainer(fmt.Sprintf("i%d", i)))
	}
	for i := range 1 + s.IntN(3) {
		spec.Containers = append(spec.Containers, s.newContainer(fmt.Sprintf("c%d", i)))
	}
	if s.oneIn(8) {
		spec.ActiveDeadlineSeconds = new(int64(10 + s.IntN(120)))
	}
	s.addVolumes()
	s.addEnvironment()
	if s.oneIn(8) {
		addEphemeralContainer(s.pod, s.IntN(2) == 0)
	}
	return s.pod
}

// addEphemeralContainer adds an ephemeral container.
func addEphemeralContainer(p *v1.Pod, ends bool) {
	c := v1.EphemeralContainer{EphemeralContainerCommon: v1.EphemeralContainerCommon{
		Name: fmt.Sprintf("e%d", len(p.Spec.EphemeralContainers)), Image: p.Name + "-debug:1",
	}}
	if p.Annotations == nil {
		p.Annotations = map[string]string{}
	}
	if ends {
		p.Annotations[memory.AnnotationPrefix+c.Name] = "run=3s exit=1"
	}
	p.Spec.EphemeralContainers = append(p.Spec.EphemeralContainers, c)
}

func (s shape) setScript(container, what string) {
	s.pod.Annotations[memory.AnnotationPrefix+container] = what
}

func (s shape) initContainer(name string) v1.Container {
	c := v1.Container{Name: name, Image: s.pod.Name + "-" + name + ":1"}
	if s.oneIn(2) {
		s.setScript(name, pick(s, "run=1s exit=0", "run=0s exit=0", "run=4s exit=0", "run=1s exit=1; run=2s exit=0", "fail=start; run=1s exit=0", "start-delay=2s run=1s exit=0"))
		return c
	}
	c.RestartPolicy = new(v1.ContainerRestartPolicyAlways)
	s.setScript(name, pick(s, "run=forever", "run=forever", "run=forever exit=0", "run=forever ignore-term", "run=20s exit=1; run=forever", "fail=start; run=forever"))
	s.setProbes(&c)
	s.setHooks(&c)
	return c
}

func (s shape) newContainer(name string) v1.Container {
	c := v1.Container{Name: name, Image: s.pod.Name + "-" + name + ":1"}
	s.setScript(name, pick(s, "run=forever", "run=forever", "run=forever", "run=forever exit=0", "run=forever ignore-term", "run=7s exit=0",
		"run=30s exit=0", "run=2s exit=1", "run=3s exit=42; run=forever", "run=5s exit=42; run=9s exit=0", "fail=start; run=forever",
		"fail=create; run=forever", "start-delay=3s run=forever", "fail=image; run=forever"))
	s.setProbes(&c)
	s.setHooks(&c)
	s.setRestartRules(&c)
	return c
}

func (s shape) setRestartRules(c *v1.Container) {
	if !s.oneIn(3) {
		return
	}
	c.RestartPolicy = new(pick(s, v1.ContainerRestartPolicyAlways, v1.ContainerRestartPolicyOnFailure, v1.ContainerRestartPolicyNever))
	if s.oneIn(2) {
		return
	}
	c.RestartPolicyRules = []v1.ContainerRestartRule{{
		Action: pick(s, v1.ContainerRestartRuleActionRestart, v1.ContainerRestartRuleActionRestartAllContainers),
		ExitCodes: &v1.ContainerRestartRuleOnExitCodes{
			Operator: v1.ContainerRestartRuleOnExitCodesOpIn, Values: []int32{42},
		},
	}}
}

func (s shape) newProbe(name, purpose string, answers ...string) *v1.Probe {
	if !s.oneIn(4) {
		return nil
	}
	s.setScript(name+"."+purpose, pick(s, answers...))
	p := &v1.Probe{PeriodSeconds: int32(1 + s.IntN(5)), FailureThreshold: int32(1 + s.IntN(4)), TimeoutSeconds: 1}
	p.HTTPGet = &v1.HTTPGetAction{Port: intstr.FromInt32(80)}
	if purpose != "readiness" && s.oneIn(2) {
		p.TerminationGracePeriodSeconds = new(int64(1 + s.IntN(8)))
	}
	return p
}

func (s shape) setProbes(c *v1.Container) {
	c.StartupProbe = s.newProbe(c.Name, "startup", "ok", "ok takes=200ms", "fail for=5s; ok", "hang for=4s; ok", "fail for=9s; ok")
	c.LivenessProbe = s.newProbe(c.Name, "liveness", "ok", "ok", "ok for=20s; fail", "ok for=10s; hang for=3s; ok", "ok takes=5s")
	c.ReadinessProbe = s.newProbe(c.Name, "readiness", "ok", "fail for=6s; ok", "hang for=6s; ok", "ok for=5s; fail for=5s; ok")
}

func (s shape) setHooks(c *v1.Container) {
	var l v1.Lifecycle
	exec := &v1.ExecAction{Command: []string{"hook"}}
	if s.oneIn(5) {
		s.setScript(c.Name+".pre-stop", pick(s, "ok", "ok takes=3s", "fail", "hang", "ok takes=100s"))
		l.PreStop = pick(s, &v1.LifecycleHandler{Exec: exec}, &v1.LifecycleHandler{Exec: exec}, &v1.LifecycleHandler{Sleep: &v1.SleepAction{Seconds: min(4, *s.pod.Spec.TerminationGracePeriodSeconds)}})
	}
	if s.oneIn(8) {
		s.setScript(c.Name+".post-start", pick(s, "ok", "ok takes=4s", "fail", "hang"))
		l.PostStart = &v1.LifecycleHandler{Exec: exec}
	}
	if l != (v1.Lifecycle{}) {
		c.Lifecycle = &l
	}
}

func (s shape) addVolumes() {
	spec := &s.pod.Spec
	first := &spec.Containers[0]
	if s.oneIn(4) {
		spec.Volumes = append(spec.Volumes, v1.Volume{Name: "scratch", VolumeSource: v1.VolumeSource{EmptyDir: &v1.EmptyDirVolumeSource{}}})
		first.VolumeMounts = append(first.VolumeMounts, v1.VolumeMount{Name: "scratch", MountPath: "/scratch"})
	}
	if s.oneIn(5) {
		spec.Volumes = append(spec.Volumes, v1.Volume{Name: "settings", VolumeSource: v1.VolumeSource{ConfigMap: &v1.ConfigMapVolumeSource{
			LocalObjectReference: v1.LocalObjectReference{Name: s.pod.Name}, Optional: pick(s, nil, new(true), nil),
		}}})
		first.VolumeMounts = append(first.VolumeMounts, v1.VolumeMount{Name: "settings", MountPath: "/settings", ReadOnly: true})
	}
}

func (s shape) addEnvironment() {
	if !s.oneIn(5) {
		return
	}
	c := &s.pod.Spec.Containers[s.IntN(len(s.pod.Spec.Containers))]
	c.Env = []v1.EnvVar{{Name: "COLOR", ValueFrom: &v1.EnvVarSource{SecretKeyRef: &v1.SecretKeySelector{
		LocalObjectReference: v1.LocalObjectReference{Name: s.pod.Name}, Key: "color", Optional: pick(s, nil, new(true)),
	}}}}
	if s.oneIn(2) {
		c.Env = append(c.Env, v1.EnvVar{Name: "IP", ValueFrom: &v1.EnvVarSource{FieldRef: &v1.ObjectFieldSelector{FieldPath: "status.podIP"}}})
	}
}
