package podspec_test

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"

	"github.com/podkeel/podkeel/internal/podspec"
)

// The hash is written into containers that outlive us: its values are part of
// the format.
func TestContainerHash_CoversNameAndImage(t *testing.T) {
	c := v1.Container{Name: "web", Image: "nginx:1"}
	hash := podspec.ContainerHash(&c)
	assert.Equal(t, "v1-28a14e6ad440d8c", hash)
	c.Env, c.Command, c.LivenessProbe = []v1.EnvVar{{Name: "A"}}, []string{"x"}, &v1.Probe{}
	c.Resources.Limits = v1.ResourceList{v1.ResourceCPU: resource.MustParse("1")}
	assert.Equal(t, hash, podspec.ContainerHash(&c), "only name and image count")
	c.Image = "nginx:2"
	assert.NotEqual(t, hash, podspec.ContainerHash(&c))
	assert.NotEqual(t, podspec.ContainerHash(&v1.Container{Name: "a", Image: "bc"}), podspec.ContainerHash(&v1.Container{Name: "ab", Image: "c"}))
}

// The same holds for the hash of a pod, which sandboxes carry.
func TestPodHash(t *testing.T) {
	pod := func(change ...func(*v1.PodSpec)) *v1.Pod {
		p := &v1.Pod{Spec: v1.PodSpec{
			InitContainers: []v1.Container{{Name: "i", Image: "img:1"}},
			Containers:     []v1.Container{{Name: "a", Image: "img:1", Command: []string{"run"}, Args: []string{"-v", "x"}}},
		}}
		for _, f := range change {
			f(&p.Spec)
		}
		return p
	}
	hash := podspec.PodHash(pod())
	assert.Equal(t, "v2-78da85781a196d0d", hash)
	assert.True(t, podspec.MatchesPodHash(pod(), hash))
	assert.True(t, podspec.MatchesPodHash(pod(), "v1-124b24487b0aab1a"), "of a library before restart policies counted")
	assert.False(t, podspec.MatchesPodHash(pod(), "v1-124b24487b0aab1b"))
	assert.Equal(t, hash, podspec.PodHash(pod(func(s *v1.PodSpec) { s.RestartPolicy = v1.RestartPolicyAlways })), "the default")
	assert.Equal(t, hash, podspec.PodHash(pod(func(s *v1.PodSpec) {
		s.Containers[0].Image, s.Containers[0].Env = "img:2", []v1.EnvVar{{Name: "A"}}
	})), "an image can change")
	seen := map[string]string{hash: "nothing"}
	for name, change := range map[string]func(*v1.PodSpec){
		"a name":      func(s *v1.PodSpec) { s.Containers[0].Name = "b" },
		"a word":      func(s *v1.PodSpec) { s.Containers[0].Args[1] = "y" },
		"a word less": func(s *v1.PodSpec) { s.Containers[0].Args = s.Containers[0].Args[:1] },
		"a word in another list": func(s *v1.PodSpec) {
			s.Containers[0].Command, s.Containers[0].Args = []string{"run", "-v"}, []string{"x"}
		},
		"an empty word of a command": func(s *v1.PodSpec) { s.Containers[0].Command, s.Containers[0].Args = []string{""}, nil },
		"an empty word of arguments": func(s *v1.PodSpec) { s.Containers[0].Command, s.Containers[0].Args = nil, []string{""} },
		"the policy of the pod":      func(s *v1.PodSpec) { s.RestartPolicy = v1.RestartPolicyNever },
		"a sidecar":                  func(s *v1.PodSpec) { s.InitContainers[0].RestartPolicy = new(v1.ContainerRestartPolicyAlways) },
		"a container's policy":       func(s *v1.PodSpec) { s.Containers[0].RestartPolicy = new(v1.ContainerRestartPolicyAlways) },
		"a rule": func(s *v1.PodSpec) {
			s.Containers[0].RestartPolicyRules = []v1.ContainerRestartRule{{Action: v1.ContainerRestartRuleActionRestart}}
		},
		"the codes of a rule": func(s *v1.PodSpec) {
			s.Containers[0].RestartPolicyRules = []v1.ContainerRestartRule{{
				Action: v1.ContainerRestartRuleActionRestart, ExitCodes: &v1.ContainerRestartRuleOnExitCodes{Operator: v1.ContainerRestartRuleOnExitCodesOpIn, Values: []int32{4}},
			}}
		},
		"a container less":            func(s *v1.PodSpec) { s.InitContainers = nil },
		"a container in another list": func(s *v1.PodSpec) { s.Containers = append(s.InitContainers, s.Containers...); s.InitContainers = nil },
	} {
		h := podspec.PodHash(pod(change))
		assert.Empty(t, seen[h], name)
		seen[h] = name
	}
}

// A hash that was written differs if any digit does: each one, all of them, or those that are
// missing.
func TestContainerHashChanged_EveryDigit(t *testing.T) {
	c := v1.Container{Name: "web", Image: "nginx:1"}
	const version, digits = "v1-", "28a14e6ad440d8c"
	assert.False(t, podspec.ContainerHashChanged(&c, version+digits))
	other := func(digit byte) string {
		return string("123456789abcdef0"[strings.IndexByte("0123456789abcdef", digit)])
	}
	all := ""
	for i := range digits {
		assert.True(t, podspec.ContainerHashChanged(&c, version+digits[:i]+other(digits[i])+digits[i+1:]), i)
		if i > 0 {
			assert.True(t, podspec.ContainerHashChanged(&c, version+digits[i:]), "without the first %d", i)
			assert.True(t, podspec.ContainerHashChanged(&c, version+digits[:i]), "without what follows %d", i)
		}
		all += other(digits[i])
	}
	assert.True(t, podspec.ContainerHashChanged(&c, version+all))
	assert.False(t, podspec.ContainerHashChanged(&c, version+"0"+digits), "another way to write it")
	assert.False(t, podspec.ContainerHashChanged(&c, version), "no number")
}
