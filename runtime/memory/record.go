package memory

import (
	"maps"
	"reflect"
	"slices"

	"github.com/podkeel/podkeel/runtime"
)

// A record stores only those fields of its request that a later call can return. In a process with
// many pods the other fields would be most of the memory of an idle pod.

// containerSpec is the part of a CreateContainerRequest that its record stores. Containers with
// equal requests share one, so it must not be modified.
type containerSpec struct {
	image, imageRef  string
	command, args    []string
	workingDir       string
	env              []runtime.EnvVar
	resources        runtime.Resources
	annotations      map[string]string
	mountedImages    []string
	user             *runtime.LinuxContainerUser // of the request; nil if the request has none
	stdin, stdinOnce bool
}

// internSpecLocked returns a containerSpec with the values of a request. To save memory it returns an equal
// spec that was returned recently; if there is none, it stores and returns a deep copy.
func (m *machine) internSpecLocked(req *runtime.CreateContainerRequest) *containerSpec {
	s := containerSpec{
		image: req.Image, imageRef: req.ImageRef,
		command: req.Command, args: req.Args, workingDir: req.WorkingDir, env: req.Env,
		resources: req.Resources, annotations: req.Annotations,
		user: requestedUser(&req.Security), stdin: req.Stdin, stdinOnce: req.StdinOnce,
	}
	for i := range req.Mounts {
		if image := req.Mounts[i].Image; image != "" {
			s.mountedImages = append(s.mountedImages, image)
		}
	}
	if known := m.mu.recentSpecs.findEqual(&s); known != nil {
		return known
	}
	own := s
	own.command, own.args, own.env = slices.Clone(s.command), slices.Clone(s.args), slices.Clone(s.env)
	own.annotations = maps.Clone(s.annotations)
	own.resources.HugePages = maps.Clone(s.resources.HugePages)
	return m.mu.recentSpecs.storeInPlaceOfOldest(&own)
}

// requestedUser returns the user that a security context requests, as a user that the image does not have: with group 0
// if there is no group, and in no other group of the image. It returns nil if no user ID is requested, because then the
// image decides.
func requestedUser(s *runtime.Security) *runtime.LinuxContainerUser {
	if s.User == nil {
		return nil
	}
	user := &runtime.LinuxContainerUser{UID: *s.User}
	if s.Group != nil {
		user.GID = *s.Group
	}
	for _, group := range append([]int64{user.GID}, s.SupplementalGroups...) {
		if !slices.Contains(user.SupplementalGroups, group) {
			user.SupplementalGroups = append(user.SupplementalGroups, group)
		}
	}
	return user
}

// reusePodRefIfEqual returns earlier if its value equals ref, to save memory. If it differs or is nil,
// reusePodRefIfEqual returns a pointer to a copy of ref.
func reusePodRefIfEqual(ref runtime.PodRef, earlier *runtime.PodRef) *runtime.PodRef {
	if earlier != nil && *earlier == ref {
		return earlier
	}
	own := ref
	return &own
}

// recentValues is a cache of the last few distinct values. Pods that are created one after another
// often have the same template, so that equal values are stored once.
type recentValues[T any] struct {
	values [8]*T
	next   int
}

// findEqual returns a stored value that is equal to v, or nil if there is none.
func (r *recentValues[T]) findEqual(v *T) *T {
	for _, kept := range r.values {
		if kept != nil && reflect.DeepEqual(kept, v) {
			return kept
		}
	}
	return nil
}

// storeInPlaceOfOldest stores v in place of the oldest value and returns v. The caller must not modify v afterwards.
func (r *recentValues[T]) storeInPlaceOfOldest(v *T) *T {
	r.values[r.next] = v
	r.next = (r.next + 1) % len(r.values)
	return v
}
