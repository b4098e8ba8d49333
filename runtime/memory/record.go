package memory

import (
	"maps"
	"reflect"
	"slices"

	"github.com/podkeel/podkeel/runtime"
)

// Records keep of their requests what somebody may ask for later, and nothing else: in a
// process with many pods the rest would be most of what an idle pod takes.

// containerSpec is what a record keeps of the request for a container beside its identity. Containers
// whose requests are alike share one: it must not be modified.
type containerSpec struct {
	image, imageRef  string
	command, args    []string
	workingDir       string
	env              []runtime.EnvVar
	resources        runtime.Resources
	annotations      map[string]string
	mountedImages    []string
	stdin, stdinOnce bool
}

// shareSpecLocked is that of a request, of which it shares nothing.
func (m *machine) shareSpecLocked(req *runtime.CreateContainerRequest) *containerSpec {
	s := containerSpec{
		image: req.Image, imageRef: req.ImageRef,
		command: req.Command, args: req.Args, workingDir: req.WorkingDir, env: req.Env,
		resources: req.Resources, annotations: req.Annotations,
		stdin: req.Stdin, stdinOnce: req.StdinOnce,
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
	return m.mu.recentSpecs.store(&own)
}

// sharePodRef is a request's reference to its pod: that of an earlier request if it is the same.
func sharePodRef(ref runtime.PodRef, earlier *runtime.PodRef) *runtime.PodRef {
	if earlier != nil && *earlier == ref {
		return earlier
	}
	own := ref
	return &own
}

// recentValues are the last few different values that were kept. Pods that come after each other
// often have the same template, and one that is found here need not be kept twice.
type recentValues[T any] struct {
	values [8]*T
	next   int
}

// findEqual is a kept value that is equal to v, or nil.
func (r *recentValues[T]) findEqual(v *T) *T {
	for _, kept := range r.values {
		if kept != nil && reflect.DeepEqual(kept, v) {
			return kept
		}
	}
	return nil
}

// store keeps v in place of the oldest one, and returns it. It must not be modified any more.
func (r *recentValues[T]) store(v *T) *T {
	r.values[r.next] = v
	r.next = (r.next + 1) % len(r.values)
	return v
}
