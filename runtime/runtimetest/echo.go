package runtimetest

import (
	"reflect"

	"github.com/podkeel/podkeel/runtime"
)

// echo is a field of a record that repeats a field of the request which made
// the record. The comments in package runtime say the same of these fields, and
// of no others; a test holds the two together.
type echo[Record, Request any] struct {
	field string // as "Sandbox.Attempt"
	of    string // as "RunSandboxRequest.Attempt"
	got   func(*Record) any
	want  func(*Request) any
}

// podEchoes are the fields that tell whose pod it is. Those of a Pod and of a
// PodStatus are the same.
var podEchoes = []echo[runtime.PodStatus, runtime.PodRef]{
	{"UID", "PodRef.UID", func(p *runtime.PodStatus) any { return p.UID }, func(r *runtime.PodRef) any { return r.UID }},
	{"Name", "PodRef.Name", func(p *runtime.PodStatus) any { return p.Name }, func(r *runtime.PodRef) any { return r.Name }},
	{"Namespace", "PodRef.Namespace", func(p *runtime.PodStatus) any { return p.Namespace }, func(r *runtime.PodRef) any { return r.Namespace }},
}

var sandboxEchoes = []echo[runtime.Sandbox, runtime.RunSandboxRequest]{
	{"Sandbox.Attempt", "RunSandboxRequest.Attempt", func(s *runtime.Sandbox) any { return s.Attempt }, func(r *runtime.RunSandboxRequest) any { return r.Attempt }},
	{"Sandbox.Incarnation", "PodRef.Incarnation", func(s *runtime.Sandbox) any { return s.Incarnation }, func(r *runtime.RunSandboxRequest) any { return r.Pod.Incarnation }},
	{"Sandbox.Annotations", "RunSandboxRequest.Annotations", func(s *runtime.Sandbox) any { return s.Annotations }, func(r *runtime.RunSandboxRequest) any { return r.Annotations }},
}

var sandboxStatusEchoes = []echo[runtime.SandboxStatus, runtime.RunSandboxRequest]{
	{"SandboxStatus.HostNetwork", "Namespaces.HostNetwork", func(s *runtime.SandboxStatus) any { return s.HostNetwork }, func(r *runtime.RunSandboxRequest) any { return r.Namespaces.HostNetwork }},
}

var containerEchoes = []echo[runtime.Container, runtime.CreateContainerRequest]{
	{"Container.Name", "CreateContainerRequest.Name", func(c *runtime.Container) any { return c.Name }, func(r *runtime.CreateContainerRequest) any { return r.Name }},
	{"Container.SandboxID", "CreateContainerRequest.SandboxID", func(c *runtime.Container) any { return c.SandboxID }, func(r *runtime.CreateContainerRequest) any { return r.SandboxID }},
	{"Container.Attempt", "CreateContainerRequest.Attempt", func(c *runtime.Container) any { return c.Attempt }, func(r *runtime.CreateContainerRequest) any { return r.Attempt }},
	{"Container.Incarnation", "PodRef.Incarnation", func(c *runtime.Container) any { return c.Incarnation }, func(r *runtime.CreateContainerRequest) any { return r.Pod.Incarnation }},
}

var containerStatusEchoes = []echo[runtime.ContainerStatus, runtime.CreateContainerRequest]{
	{"ContainerStatus.Image", "CreateContainerRequest.Image", func(c *runtime.ContainerStatus) any { return c.Image }, func(r *runtime.CreateContainerRequest) any { return r.Image }},
	{"ContainerStatus.Annotations", "CreateContainerRequest.Annotations", func(c *runtime.ContainerStatus) any { return c.Annotations }, func(r *runtime.CreateContainerRequest) any { return r.Annotations }},
}

// repeats checks that a record repeats its request. Annotations may have others
// beside those of the request.
func repeats[Record, Request any](b *bench, echoes []echo[Record, Request], record *Record, request *Request) {
	b.Helper()
	for _, e := range echoes {
		got, want := e.got(record), e.want(request)
		if annotations, ok := want.(map[string]string); ok {
			given, _ := got.(map[string]string)
			b.Check(contains(given, annotations), "%s is %v, the request's %s is %v", e.field, got, e.of, want)
			continue
		}
		b.Check(reflect.DeepEqual(got, want), "%s is %v, the request's %s is %v", e.field, got, e.of, want)
	}
}
