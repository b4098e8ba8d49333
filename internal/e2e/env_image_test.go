//go:build linux

package e2e_test

import (
	"slices"
	"strconv"
	"strings"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	v1 "k8s.io/api/core/v1"

	"github.com/podkeel/podkeel/internal/e2e"
)

// Variables come from a file that an init container has written. The agent does not follow a link out of the volume,
// and the status of the pod has the reason why it waits.
func envFile(s *scene) {
	s.writePod("env-file", `
terminationGracePeriodSeconds: 2
volumes: [{name: shared, emptyDir: {}}]
initContainers:
- name: writer
  image: IMAGE
  command: [sh, -c, "mkdir /v/conf; printf '# made\nADDRESS='\\''db one'\\''\nLINES='\\''a\nb'\\''\n' > /v/conf/real.env; ln -s /conf/real.env /v/a.env; ln -s ../../../../../../../etc/passwd /v/out.env"]
  volumeMounts: [{name: shared, mountPath: /v}]
containers:
- name: web
  image: IMAGE
  command: [sh, -c, 'echo "$ADDRESS|$LINES|$(MAYBE)"; sleep 100000']
  env:
  - {name: ADDRESS, valueFrom: {fileKeyRef: {volumeName: shared, path: a.env, key: ADDRESS}}}
  - {name: LINES, valueFrom: {fileKeyRef: {volumeName: shared, path: conf/real.env, key: LINES}}}
  - {name: NONE, valueFrom: {fileKeyRef: {volumeName: shared, path: a.env, key: NONE, optional: true}}}
- name: outside
  image: IMAGE
  command: STAY
  env: [{name: ROOT, valueFrom: {fileKeyRef: {volumeName: shared, path: out.env, key: root}}}]
`)
	s.awaitPod("env-file", "the first container runs and the second waits", func(p *v1.Pod) bool {
		w := statusOf(p, "outside").State.Waiting
		return statusOf(p, "web").State.Running != nil && w != nil && w.Reason == "CreateContainerConfigError"
	})
	assert.Equal(s, "db one|a\nb", s.runScript("env-file", "web", `echo "$ADDRESS|$LINES"`))
	assert.Equal(s, "none", s.runScript("env-file", "web", `echo "${NONE-none}"`))
	p := s.board.listPods()["env-file"]
	assert.Equal(s, "container outside: variable ROOT: the file out.env of volume shared: it cannot be read: file does not exist", statusOf(p, "outside").State.Waiting.Message)
	s.removePod("env-file")
}

// Image volumes are images that are mounted read-only, whole or in part; their image is pulled first.
// Where the runtime cannot mount one the pod does not run.
func imageVolume(s *scene) {
	const repository = "podkeel/data"
	s.writePod("image-volume", `
terminationGracePeriodSeconds: 2
volumes: [{name: data, image: {reference: DATA}}]
containers:
- {name: other, image: IMAGE, command: STAY}
- name: web
  image: IMAGE
  command: STAY
  volumeMounts:
  - {name: data, mountPath: /data}
  - {name: data, mountPath: /part, subPath: etc}
`, "DATA="+s.c.Registry.Reference(repository))
	if s.c.Version == e2e.Containerd16 {
		p := s.awaitPod("image-volume", "rejected", func(p *v1.Pod) bool { return p.Status.Phase == v1.PodFailed })
		assert.Equal(s, "UnsupportedField", p.Status.Reason)
		assert.True(s, strings.HasSuffix(p.Status.Message, "this node can not honour spec.volumes[0].image (the runtime mounts no images)"), p.Status.Message)
		s.removePod("image-volume")
		return
	}
	s.awaitPod("image-volume", "waiting for its image", func(p *v1.Pod) bool {
		w := statusOf(p, "web").State.Waiting
		return statusOf(p, "other").State.Running != nil && w != nil && (w.Reason == "ErrImagePull" || w.Reason == "ImagePullBackOff")
	})
	s.c.Registry.Publish(repository)
	s.awaitReady("image-volume")
	assert.Equal(s, "same", s.runScript("image-volume", "web", "cmp /data/bin/busybox /bin/busybox && echo same"))
	assert.Equal(s, "root:x:0:", s.runScript("image-volume", "web", "head -n 1 /part/group"))
	assert.Equal(s, "refused", s.runScript("image-volume", "web", "touch /data/etc/new 2>/dev/null && echo taken || echo refused"))
	s.writePod("image-no-part", `
terminationGracePeriodSeconds: 2
volumes: [{name: data, image: {reference: DATA, pullPolicy: Never}}]
containers:
- {name: web, image: IMAGE, command: STAY, volumeMounts: [{name: data, mountPath: /part, subPath: none}]}
`, "DATA="+s.c.Registry.Reference(repository))
	s.awaitPod("image-no-part", "a part that the image does not have", func(p *v1.Pod) bool {
		w := statusOf(p, "web").State.Waiting
		return w != nil && w.Reason == "CreateContainerError" && strings.Contains(w.Message, "none")
	})
	s.removePod("image-no-part")
	s.removePod("image-volume")
}

// With the policy Strict processes have the groups that the pod names, and not those that the image has
// for their user. Where the runtime cannot do so the pod does not run. The status has the user and the groups if the
// runtime reports them.
func checkGroups(s *scene) {
	for _, policy := range []string{"Merge", "Strict"} {
		name := "groups-" + strings.ToLower(policy)
		s.writePod(name, `
terminationGracePeriodSeconds: 2
securityContext: {runAsUser: 1234, runAsGroup: 1234, fsGroup: 3000, supplementalGroups: [4000], supplementalGroupsPolicy: POLICY}
containers:
- {name: web, image: IMAGE, command: STAY}
`, "POLICY="+policy)
		if policy == "Strict" && s.c.Version != e2e.Containerd2 {
			p := s.awaitPod(name, "rejected", func(p *v1.Pod) bool { return p.Status.Phase == v1.PodFailed })
			assert.Equal(s, "SupplementalGroupsPolicyNotSupported", p.Status.Reason)
			assert.Contains(s, p.Status.Message, "SupplementalGroupsPolicy=Strict is not supported in this node")
			s.removePod(name)
			continue
		}
		s.awaitReady(name)
		got := strings.Fields(s.runScript(name, "web", "id -G"))
		assert.Subset(s, got, []string{"1234", "3000", "4000"})
		assert.Equal(s, policy == "Merge", slices.Contains(got, "4711"), "%s: %s", policy, got)
		user := statusOf(s.board.listPods()[name], "web").User
		if s.c.Version != e2e.Containerd2 {
			assert.Nil(s, user, "the runtime does not report it")
		} else {
			require.NotNil(s, user)
			assert.Equal(s, []int64{1234, 1234}, []int64{user.Linux.UID, user.Linux.GID})
			var groups []string
			for _, group := range user.Linux.SupplementalGroups {
				groups = append(groups, strconv.FormatInt(group, 10))
			}
			assert.Equal(s, got, groups, "the groups of the process")
		}
		s.removePod(name)
	}
}
