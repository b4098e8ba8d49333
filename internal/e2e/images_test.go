//go:build linux

package e2e_test

import (
	"sync"

	"github.com/stretchr/testify/assert"
	v1 "k8s.io/api/core/v1"
)

// An image that is missing is waited for, and a pod runs once it is there.
func imageAppears(s *scene) {
	const repository = "podkeel/late"
	s.writePod("late", `
terminationGracePeriodSeconds: 2
containers:
- {name: web, image: LATE, command: STAY}
`, "LATE="+s.c.Registry.Reference(repository))
	s.awaitPod("late", "waiting for its image", func(p *v1.Pod) bool {
		w := statusOf(p, "web").State.Waiting
		return w != nil && (w.Reason == "ErrImagePull" || w.Reason == "ImagePullBackOff")
	})
	s.c.Registry.Publish(repository)
	p := s.awaitReady("late")
	assert.Zero(s, statusOf(p, "web").RestartCount)
	s.removePod("late")
}

// A pod that is removed while its image is pulled, which takes for ever, goes at
// once.
func removedDuringPull(s *scene) {
	const repository = "podkeel/slow"
	s.c.Registry.Publish(repository)
	asked, enough := make(chan struct{}), make(chan struct{})
	begun, release := sync.OnceFunc(func() { close(asked) }), sync.OnceFunc(func() { close(enough) })
	s.c.Registry.Trouble(func(of string) int {
		if of == repository {
			begun()
			<-enough
		}
		return 0
	})
	s.Cleanup(func() { s.c.Registry.Trouble(nil); release() })
	s.writePod("slow", `
terminationGracePeriodSeconds: 2
containers:
- {name: web, image: SLOW, command: STAY}
`, "SLOW="+s.c.Registry.Reference(repository))
	<-asked
	s.removePod("slow") // Which is given two minutes, while the registry gives no answer.
	release()
	assert.Empty(s, s.listContainers("slow"))
}
