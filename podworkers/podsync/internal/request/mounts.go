package request

import (
	"cmp"
	"path"

	v1 "k8s.io/api/core/v1"
)

// IsMounted reports whether a container mounts something of its own at a path.
func IsMounted(c *v1.Container, at string) bool {
	for i := range c.VolumeMounts {
		if path.Join("/", c.VolumeMounts[i].MountPath) == at {
			return true
		}
	}
	return false
}

// MessagePath is where a container finds the file for its termination message.
func MessagePath(c *v1.Container) string {
	return path.Join("/", cmp.Or(c.TerminationMessagePath, v1.TerminationMessagePathDefault))
}
